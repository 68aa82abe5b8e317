import { assertEquals } from "@std/assert";
import { inputSchema } from "../../../src/cassette/read/input_schema.ts";
import { playedInput, recordedInput } from "../../../src/cassette/recorded_input.ts";
import { fold } from "../../../src/frames/advance.ts";
import type { ConversationEffect } from "../../../src/frames/conversation.ts";
import type { Input } from "../../../src/session/input.ts";
import type { LateTerms } from "../../../src/session/late_terms.ts";
import { conversationOptions } from "../../frames/conversation_options.ts";

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
function play(inputs: readonly Input[]) {
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
  const { state: { session, frames }, effects, responses } = play(INPUTS.slice(0, 4));
  const { timeoutMs, startTimeoutMs, idleTimeoutMs } = session.options;
  assertEquals([timeoutMs, startTimeoutMs, idleTimeoutMs], [1000, 2000, 400]);
  assertEquals(frames.reporting.limits.exitTimeoutMs, 600);
  assertEquals([frames.options.replay, frames.options.hookEvents], [true, undefined]);
  assertEquals(effects.at(-1), { type: "deadline", name: "silence", afterMs: 400 });
  assertEquals(responses, [], "no caller has asked yet");
});

Deno.test("early initialization answers the caller's, once", () => {
  const { state, responses } = play(INPUTS);
  const response = {
    ...{ subtype: "success", request_id: "theirs", response: { models: ["m"] } },
    ...{ pending_permission_requests: [], pending_user_dialog_requests: [] },
  };
  assertEquals<unknown>(responses, [
    { type: "frame", frame: { type: "control_response", response } },
  ]);
  assertEquals([state.session.consulted.size, state.session.foretold], [0, undefined]);
  const failed = play(
    INPUTS.map((input) =>
      input.type === "consulted" ? { ...input, said: { failure: "gone" } } : input
    ),
  );
  assertEquals([...failed.state.session.consulted.keys()], ["theirs"], "it is asked again");
  assertEquals(failed.responses, []);
});
