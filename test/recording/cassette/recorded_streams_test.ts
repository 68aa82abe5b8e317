import fc from "fast-check";
import { framesOn } from "../../../src/recording/cassette/cassette_format.ts";
import { readProgram } from "../../../src/recording/cassette/program/read_program.ts";
import {
  type ConversationOptions,
  framesOf,
} from "../../../src/conversation/output/conversation.ts";
import { fold } from "../../../src/conversation/output/advance.ts";
import type { HookPayload, Input } from "../../../src/conversation/control/input.ts";
import { isPrompt } from "../../../src/claude/transcript/entry.ts";
import type { AnyFrame } from "../../../src/claude/wire/any_frame.ts";
import { assertStreamGrammar } from "../../conversation/output/live/stream_grammar.ts";
import { castInputs, RECORDED_RUNS } from "./recorded_runs.ts";

const SDKS = new URL("../../../fixtures/recordings/sdk/", import.meta.url).pathname;

/** Where `withDisplays` places each hook: as early as possible, or as late. */
const [EARLIEST, LATEST] = [0, 59];

for (const { name, cassette } of RECORDED_RUNS) {
  const stops = !/^2\.1\.(168|197)\//u.test(name);
  Deno.test(`${name} keeps the API's grammar whenever its hooks arrive`, () => {
    assertStreamGrammar(framesOn(cassette.tape).map(({ frame }) => frame), { stops });
    const options = cassette.cast.header.claude_print.conversation;
    if (options.frames.partial === "exact") return;
    const inputs = castInputs(cassette.cast);
    const assertWith = (draw: () => number) =>
      assertStreamGrammar(streamed(options, withDisplays(inputs, draw)), { stops });
    assertWith(() => EARLIEST);
    assertWith(() => LATEST);
    fc.assert(
      fc.property(
        fc.infiniteStream(fc.nat({ max: 99 })),
        (numbers) => assertWith(() => numbers.next().value ?? 0),
      ),
      { numRuns: 1, seed: 1 },
    );
  });
}

Deno.test("frames for SDK callers keep the API's grammar", () => {
  for (const sdk of ["python", "typescript"]) {
    const { tape } = readProgram(`${SDKS}${sdk}/partial-messages/1.jsonl`);
    assertStreamGrammar(framesOn(tape).map(({ frame }) => frame));
  }
});

/** The frames of a run for a caller that asks for partial messages. */
function streamed(
  options: ConversationOptions,
  inputs: readonly Input[],
): readonly AnyFrame[] {
  const frames: AnyFrame[] = [];
  fold({ ...options, frames: { ...options.frames, partial: true } }, inputs, {
    onEffect: (effect) => frames.push(...framesOf(effect)),
  });
  return frames;
}

/**
 * A run with MessageDisplay hooks that give the texts of each answer in two pieces, before or after its lines and those of
 * the calls before it. The PostToolBatch hook of those calls comes before, because Claude Code waits for it.
 */
function withDisplays(inputs: readonly Input[], draw: () => number): readonly Input[] {
  const heard: { readonly at: number; readonly input: Input }[] = inputs
    .filter((input) => input.type !== "hook" || input.event !== "MessageDisplay")
    .map((input, at) => ({ at, input }));
  // Nothing is received after the child's exit.
  const exit = heard.findIndex(({ input }) => input.type === "exit");
  const last = exit < 0 ? Infinity : exit - 1;
  const hear = (at: number, event: string, payload: HookPayload) =>
    heard.push({ at: Math.min(at, last) + 0.5, input: { type: "hook", event, payload, at: 0 } });
  let turn = 0;
  /** The position of the model's last input. */
  let asked = 0;
  let calls: readonly string[] = [];
  /** The number of pieces so far, by message: the pieces of all texts of a message are counted together. */
  const pieces = new Map<string, number>();
  for (const { at, input } of [...heard]) {
    if (input.type !== "transcript") continue;
    const { entry } = input;
    if (isPrompt(entry)) {
      turn++;
      asked = at;
      calls = [];
    }
    if (entry.type !== "assistant") continue;
    const { id, content } = entry.message;
    const text = content.map(({ text }) => text ?? "").join("");
    if (text !== "") {
      const soon = Math.max(asked, at + draw() % 20 - 15);
      if (calls.length > 0) {
        hear(Math.min(soon, at - 1), "PostToolBatch", {
          tool_calls: calls.map((id) => ({ tool_use_id: id })),
        });
      }
      const cut = draw() % (text.length + 1);
      for (const delta of [text.slice(0, cut), text.slice(cut)]) {
        const place = soon + draw() % 6;
        const index = pieces.get(id) ?? 0;
        pieces.set(id, index + 1);
        hear(place, "MessageDisplay", { message_id: id, turn_id: `${turn}`, index, delta });
      }
      asked = soon;
      calls = [];
    }
    const called = content.filter(({ type }) => type === "tool_use");
    calls = [...calls, ...called.map(({ id }) => `${id}`)];
  }
  return heard.sort((one, other) => one.at - other.at).map(({ input }) => input);
}
