import { assertEquals } from "@std/assert";
import { inputSchema } from "../../../src/cassette/read/input_schema.ts";
import { playedInput, recordedInput } from "../../../src/cassette/recorded_input.ts";
import { fold } from "../../../src/frames/advance.ts";
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

const AHEAD = { id: "ahead", subtype: "initialize", body: { title: "t" }, ahead: true } as const;
const SAID: readonly Input[] = [
  { at: 0, type: "control", request: AHEAD },
  { at: 0, type: "spawned" },
  { at: 1, type: "consulted", id: "ahead", said: { response: { models: ["m"] } } },
  { at: 2, type: "terms", terms: TERMS },
  { at: 3, type: "control", request: { ...AHEAD, id: "theirs" } },
];

/** What is done of a recording's inputs, which are read as they were written down. */
function done(inputs: readonly Input[]) {
  const read = inputs.map((input) => {
    if (input.type === "terminal") throw new Error("It is no input of its own");
    const text = JSON.stringify(recordedInput(input));
    return playedInput(inputSchema.parse(JSON.parse(text)), input.at);
  });
  assertEquals(read, inputs);
  const effects: unknown[] = [];
  const options = conversationOptions({
    conversation: true,
    caller: { idPrefix: "p", callbacks: [], initialized: { id: "ahead" } },
  });
  const state = fold(options, read, { onEffect: (effect) => void effects.push(effect) });
  return { state, effects };
}

Deno.test("terms that come after the child are an input: limits and what is told go by them, also when it is replayed", () => {
  const { state: { session, frames }, effects } = done(SAID.slice(0, 4));
  const { timeoutMs, startTimeoutMs, idleTimeoutMs } = session.options;
  assertEquals([timeoutMs, startTimeoutMs, idleTimeoutMs], [1000, 2000, 400]);
  assertEquals(frames.reporting.limits.exitTimeoutMs, 600);
  assertEquals([frames.options.replay, frames.options.hookEvents], [true, undefined]);
  assertEquals(effects.at(-1), { type: "deadline", name: "silence", afterMs: 400 });
});

Deno.test("what was asked ahead is answered to who asks, once, and to nobody before", () => {
  const isSaid = (effect: unknown) => JSON.stringify(effect).includes("control_response");
  assertEquals(done(SAID.slice(0, 4)).effects.filter(isSaid), []);
  const { state, effects } = done(SAID);
  const answer = {
    subtype: "success",
    request_id: "theirs",
    response: { models: ["m"] },
    pending_permission_requests: [],
    pending_user_dialog_requests: [],
  };
  assertEquals(effects.filter(isSaid), [{
    type: "frame",
    frame: { type: "control_response", response: answer },
  }]);
  assertEquals([state.session.consulted.size, state.session.foretold], [0, undefined]);
  // Where nobody could say anything, it is asked for once more.
  const failed = SAID.map((input) =>
    input.type === "consulted" ? { ...input, said: { failure: "gone" } } : input
  );
  const again = done(failed);
  assertEquals([...again.state.session.consulted.keys()], ["theirs"]);
  assertEquals(again.effects.filter(isSaid), []);
});
