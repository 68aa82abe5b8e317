import { assert, assertEquals } from "@std/assert";
import { isDeepStrictEqual } from "node:util";
import { inputSchema } from "../../src/cassette/read/input_schema.ts";
import { playedInput, recordedInput } from "../../src/cassette/recorded_input.ts";
import { advance, fold, startConversation } from "../../src/frames/advance.ts";
import type { ConversationEffect, ConversationState } from "../../src/frames/conversation.ts";
import type { DeadlineName } from "../../src/session/deadline_names.ts";
import type { Input } from "../../src/session/input.ts";
import type { LateTerms } from "../../src/session/late_terms.ts";
import type { Prompt } from "../../src/session/message.ts";
import { conversationOptions } from "../frames/conversation_options.ts";
import { onlyMessage } from "./only_message.ts";
import { readRecording } from "./recording.ts";

const NEWEST = "2.1.332";
const DA1_ANSWER = "\x1b[?6c";
const STDIN = { text: "Greet me. [[think hm]] [[say Hello there.]]", way: "stdin" } as const;
const PASTE = { text: "Greet me. [[say Hello there.]]", way: "paste" } as const;

/** A conversation so far, all its effects, and the deadlines that are armed. */
interface Played {
  readonly state: ConversationState;
  readonly effects: readonly ConversationEffect[];
  readonly armed: ReadonlySet<DeadlineName>;
}

function begin(message: Partial<Prompt>): Played {
  const state = startConversation(conversationOptions());
  return play({ state, effects: [], armed: new Set() }, onlyMessage(message));
}

/** Plays inputs; a recorded deadline has to be armed. */
function play(before: Played, inputs: readonly Input[]): Played {
  let { state } = before;
  const effects = [...before.effects];
  const armed = new Set(before.armed);
  for (const input of inputs) {
    if (input.type === "deadline") assert(armed.delete(input.name), `${input.name} is not armed`);
    const next = advance(state, input);
    state = next.state;
    effects.push(...next.effects);
    for (const effect of next.effects) {
      if (effect.type !== "deadline") continue;
      if (effect.afterMs === undefined) armed.delete(effect.name);
      else armed.add(effect.name);
    }
  }
  return { state, effects, armed };
}

/** What was typed, and how the run ended. */
function outcomeOf({ effects }: Played) {
  const typed = effects.filter((effect) => effect.type === "write")
    .map((effect) => new TextDecoder().decode(effect.bytes)).join("");
  const end = effects.find((effect) => effect.type === "end");
  const kills = effects.filter((effect) => effect.type === "kill").map(({ signal }) => signal);
  const keys = typed.replaceAll(DA1_ANSWER, "");
  return { keys, isProbed: typed !== keys, ending: end?.ending.kind, exit: end?.exit, kills };
}

/**
 * The outcomes with one chunk of the terminal cut in two, at every place. Only a cut that changes the state or the
 * effects is played to its end.
 */
function* everySplit(inputs: readonly Input[], message: Partial<Prompt>) {
  let before = begin(message);
  for (const [index, input] of inputs.entries()) {
    const after = play({ ...before, effects: [] }, [input]);
    for (let at = 1; input.type === "terminal" && at < input.bytes.length; at++) {
      const cut = play({ ...before, effects: [] }, [
        { ...input, bytes: input.bytes.subarray(0, at) },
        { ...input, bytes: input.bytes.subarray(at) },
      ]);
      const isSame = isDeepStrictEqual(cut.state, after.state) &&
        isDeepStrictEqual(outcomeOf(cut), outcomeOf(after));
      if (isSame) continue;
      const effects = [...before.effects, ...cut.effects];
      yield outcomeOf(play({ ...cut, effects }, inputs.slice(index + 1)));
    }
    before = { ...after, effects: [...before.effects, ...after.effects] };
  }
}

for (const version of ["2.1.285", NEWEST]) {
  const rows = [
    ["answer", STDIN, ""],
    ["paste", PASTE, `\x1b[200~${PASTE.text}\x1b[201~\r`],
  ] as const;
  for (const [name, message, keys] of rows) {
    Deno.test(`recorded session ends with its answer: ${version}/${name}`, () => {
      const inputs = readRecording(`${version}/${name}`);
      const outcome = outcomeOf(play(begin(message), inputs));
      const { exit, ...rest } = outcome;
      assertEquals(rest, { keys, isProbed: true, ending: "answered", kills: ["SIGTERM"] });
      assertEquals(exit, { kind: "exited", code: 143 });
      // test/cassette/recorded_runs_test.ts cuts the sequences of other versions.
      if (version !== NEWEST) return;
      for (const split of everySplit(inputs, message)) assertEquals(split, outcome);
    });
  }
}

Deno.test("recorded session can be interrupted at each input", () => {
  const inputs = readRecording(`${NEWEST}/answer`);
  let played = begin(STDIN);
  for (const [index, input] of inputs.slice(0, -1).entries()) {
    played = play(played, [input]);
    const at = inputs[index + 1]?.at ?? 0;
    let stopped = play(played, [{ at, type: "signal", signal: "SIGTERM" }]);
    for (const next of ["interrupt", "exit", "record"] as const) {
      if (next === "exit") {
        stopped = play(stopped, [{ at, type: "exit", exit: { kind: "exited", code: 143 } }]);
      } else if (stopped.armed.has(next)) {
        stopped = play(stopped, [{ at, type: "deadline", name: next }]);
      }
    }
    const { ending, kills } = outcomeOf(stopped);
    assert(ending === "interrupted" || ending === "answered", `after ${index + 1} inputs`);
    assertEquals(kills.length, 1);
  }
});

const TERMS: LateTerms = {
  timeoutMs: 1000,
  startTimeoutMs: 2000,
  deliveryTimeoutMs: 3000,
  idleTimeoutMs: 400,
  drainTimeoutMs: 500,
  exitTimeoutMs: 600,
  replayMessages: true,
  hookEvents: false,
  trace: false,
  initializedBy: "theirs",
};

const EARLY = { id: "ahead", subtype: "initialize", body: { title: "t" }, ahead: true } as const;
const INPUTS: readonly Input[] = [
  { at: 0, type: "control", request: EARLY },
  { at: 0, type: "spawned" },
  { at: 1, type: "consulted", id: "ahead", said: { response: { models: ["m"] } } },
  { at: 2, type: "terms", terms: TERMS },
  { at: 3, type: "control", request: { ...EARLY, id: "theirs" } },
];

/** Plays inputs as a recording writes and reads them. */
function playRecorded(inputs: readonly Input[]) {
  const read = inputs.map((input) => {
    if (input.type === "terminal") throw new Error("Terminal output has its own event");
    const text = JSON.stringify(recordedInput(input));
    return playedInput(inputSchema.parse(JSON.parse(text)), input.at);
  });
  assertEquals(read, inputs);
  const effects: ConversationEffect[] = [];
  const options = conversationOptions({
    conversation: true,
    caller: { idPrefix: "p", callbacks: [], initialized: { id: "ahead" } },
  });
  const state = fold(options, read, { onEffect: (effect) => void effects.push(effect) });
  const responses = effects.filter(({ type, ...rest }) =>
    type === "frame" && JSON.stringify(rest).includes("control_response")
  );
  return { state, effects, responses };
}

Deno.test("terms that arrive after the child set limits and output", () => {
  const { state: { session, frames }, effects, responses } = playRecorded(INPUTS.slice(0, 4));
  const { timeoutMs, startTimeoutMs, idleTimeoutMs } = session.options;
  assertEquals([timeoutMs, startTimeoutMs, idleTimeoutMs], [1000, 2000, 400]);
  assertEquals(frames.reporting.limits.exitTimeoutMs, 600);
  assertEquals([frames.options.replay, frames.options.hookEvents], [true, undefined]);
  assertEquals(effects.at(-1), { type: "deadline", name: "silence", afterMs: 400 });
  assertEquals(responses, [], "no caller has asked yet");
});

Deno.test("early initialization answers the caller's, once", () => {
  const { state, responses } = playRecorded(INPUTS);
  const response = {
    ...{ subtype: "success", request_id: "theirs", response: { models: ["m"] } },
    ...{ pending_permission_requests: [], pending_user_dialog_requests: [] },
  };
  assertEquals<unknown>(responses, [
    { type: "frame", frame: { type: "control_response", response } },
  ]);
  assertEquals([state.session.consulted.size, state.session.foretold], [0, undefined]);
  const failed = playRecorded(
    INPUTS.map((input) =>
      input.type === "consulted" ? { ...input, said: { failure: "gone" } } : input
    ),
  );
  assertEquals([...failed.state.session.consulted.keys()], ["theirs"], "it is asked again");
  assertEquals(failed.responses, []);
});
