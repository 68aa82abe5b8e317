import fc from "fast-check";
import { framesOn } from "../../src/cassette/cassette.ts";
import { readProgram } from "../../src/cassette/program/read_program.ts";
import type { ConversationOptions } from "../../src/frames/conversation.ts";
import { framesOf } from "../../src/frames/conversation_step.ts";
import { fold } from "../../src/frames/advance.ts";
import type { Input } from "../../src/session/input.ts";
import { isPrompt } from "../../src/transcript/entry.ts";
import type { AnyFrame } from "../../src/wire/any_frame.ts";
import { assertStreamGrammar } from "../frames/live/stream_grammar.ts";
import { castInputs } from "./cast_inputs.ts";
import { RECORDED_RUNS } from "./recorded_runs.ts";

const SDKS = new URL("../../fixtures/recordings/sdk/", import.meta.url).pathname;

for (const { name, cassette } of RECORDED_RUNS) {
  const stops = !/^2\.1\.(168|197)\//u.test(name);
  Deno.test(`${name} keeps the API's grammar whenever its hooks arrive`, () => {
    assertStreamGrammar(framesOn(cassette.tape).map(({ frame }) => frame), { stops });
    const options = cassette.cast.header.claude_print.conversation;
    if (options.frames.partial === "exact") return;
    const inputs = castInputs(cassette.cast);
    fc.assert(
      fc.property(fc.infiniteStream(fc.nat({ max: 99 })), (numbers) => {
        const heard = withDisplays(inputs, () => numbers.next().value ?? 0);
        assertStreamGrammar(streamed(options, heard), { stops });
      }),
      { numRuns: 5 },
    );
  });
}

Deno.test("what callers of the SDKs read keeps the API's grammar", () => {
  for (const sdk of ["python", "typescript"]) {
    const { tape } = readProgram(`${SDKS}${sdk}/partial-messages/1.jsonl`);
    assertStreamGrammar(framesOn(tape).map(({ frame }) => frame));
  }
});

/** The frames of a run as a caller reads them that asks for partial messages. */
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

/** A run with MessageDisplay hooks that give the texts of each answer in two pieces, before or after its lines. */
function withDisplays(inputs: readonly Input[], draw: () => number): readonly Input[] {
  const heard: { readonly at: number; readonly input: Input }[] = inputs
    .filter((input) => input.type !== "hook" || input.event !== "MessageDisplay")
    .map((input, at) => ({ at, input }));
  let turn = 0;
  /** The last line that the model was given. */
  let asked = 0;
  for (const { at, input } of [...heard]) {
    if (input.type !== "transcript") continue;
    const { entry } = input;
    if (isPrompt(entry)) turn++;
    if (entry.type === "user") asked = at;
    if (entry.type !== "assistant") continue;
    const text = entry.message.content.map(({ text }) => text ?? "").join("");
    if (text === "") continue;
    const cut = draw() % (text.length + 1);
    for (const [index, delta] of [text.slice(0, cut), text.slice(cut)].entries()) {
      const payload = {
        message_id: entry.message.id,
        turn_id: `${turn}`,
        index,
        delta,
        final: index === 1,
      };
      heard.push({
        at: Math.max(asked, at + draw() % 20 - 15) + 0.5,
        input: { type: "hook", event: "MessageDisplay", payload, at: input.at },
      });
    }
  }
  return heard.sort((one, other) => one.at - other.at).map(({ input }) => input);
}
