import { assert, assertEquals } from "@std/assert";
import { inputSchema } from "../../../src/recording/cassette/read/input_schema.ts";
import {
  fromRecordedInput,
  toRecordedInput,
} from "../../../src/recording/cassette/recorded_input.ts";
import { advance, fold, startConversation } from "../../../src/conversation/output/advance.ts";
import type {
  ConversationEffect,
  ConversationState,
} from "../../../src/conversation/output/conversation.ts";
import type { DeadlineName, Input } from "../../../src/conversation/control/input.ts";
import type { LateTerms } from "../../../src/conversation/control/session_options.ts";
import { conversationOptions } from "../output/conversation_options.ts";
import { EXIT } from "./inputs.ts";
import { onlyMessage } from "./only_message.ts";
import { readRecording } from "./recording.ts";

/** A conversation so far, all its effects, and the deadlines that are armed. */
interface Played {
  readonly state: ConversationState;
  readonly effects: readonly ConversationEffect[];
  readonly armed: ReadonlySet<DeadlineName>;
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

Deno.test("recorded session can be interrupted at each input", () => {
  const inputs = readRecording("2.1.332/answer");
  const state = startConversation(conversationOptions());
  const text = "Greet me. [[think hm]] [[say Hello there.]]";
  let played = play({ state, effects: [], armed: new Set() }, onlyMessage({ text }));
  for (const [index, input] of inputs.slice(0, -1).entries()) {
    played = play(played, [input]);
    const at = inputs[index + 1]?.at ?? 0;
    let stopped = play(played, [{ at, type: "signal", signal: "SIGTERM" }]);
    for (const next of ["interrupt", "exit", "record"] as const) {
      if (next === "exit") stopped = play(stopped, [{ ...EXIT, at }]);
      else if (stopped.armed.has(next)) {
        stopped = play(stopped, [{ at, type: "deadline", name: next }]);
      }
    }
    const end = stopped.effects.find(({ type }) => type === "end");
    const ending = end?.type === "end" && end.ending.kind;
    assert(ending === "interrupted" || ending === "answered", `after ${index + 1} inputs`);
    assertEquals(stopped.effects.filter(({ type }) => type === "kill").length, 1);
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
    const text = JSON.stringify(toRecordedInput(input));
    return fromRecordedInput(inputSchema.parse(JSON.parse(text)), input.at);
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
  assertEquals([state.session.consultedRequests.size, state.session.earlyInitialization], [
    0,
    undefined,
  ]);
  const failed = playRecorded(
    INPUTS.map((input) =>
      input.type === "consulted" ? { ...input, said: { failure: "gone" } } : input
    ),
  );
  assertEquals([...failed.state.session.consultedRequests.keys()], ["theirs"], "it is asked again");
  assertEquals(failed.responses, []);
});
