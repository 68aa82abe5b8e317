import { assertEquals } from "@std/assert";
import {
  emitActivity,
  framesWithActivity,
  isAnswered,
} from "../../../src/conversation/output/activity.ts";
import { type OutputState, startOutput } from "../../../src/conversation/output/output_state.ts";
import { leftForNextChild } from "../../../src/conversation/output/turns/conversation_cost.ts";
import { isJsonObject } from "../../../src/json_object.ts";
import type { Question } from "../../../src/conversation/protocol/questions/question.ts";
import { startSession } from "../../../src/conversation/control/session_state.ts";
import type { Frame } from "../../../src/claude/wire/frame.ts";
import { consulted, message, request, settledMessage } from "../control/caller_inputs.ts";
import { hook, IDLE } from "../control/inputs.ts";
import { conversationOptions } from "./conversation_options.ts";
import { call, prompt, REQUEST, result, text } from "./lines.ts";
import { kinds } from "./outlines.ts";
import { ConversationRun, runStep, VERSION } from "./runs.ts";

const { frames, report, session } = conversationOptions();
const OPTIONS = { ...frames, version: VERSION, activity: true } as const;
const BEGUN = startOutput(OPTIONS, report);

/** Frames by the names that the rows use. */
const FRAMES: Readonly<Record<string, object>> = {
  init: { type: "system", subtype: "init" },
  result: { type: "result" },
  asks: { type: "control_request", request: { subtype: "can_use_tool" } },
  hook: { type: "control_request", request: { subtype: "hook_callback" } },
  prompted: {
    type: "control_request",
    request: { subtype: "hook_callback", input: { hook_event_name: "UserPromptSubmit" } },
  },
  stopped: { type: "system", subtype: "task_notification", status: "stopped" },
  woken: { type: "command_lifecycle", state: "started", wakeup_source: "loop_wakeup" },
  ...Object.fromEntries(
    ["queued", "started", "completed", "cancelled"].map((state) => [
      state,
      { type: "command_lifecycle", state },
    ]),
  ),
};

/** Adds the session's states, in capitals, to frames. */
function withStates(state: OutputState, names: string) {
  const given = names.split(" ").map((name) => ({ name, ...FRAMES[name] }));
  let around: readonly (readonly Frame[])[] = [];
  const { state: next } = runStep(state, (step) => {
    around = framesWithActivity(step, given as unknown as readonly Frame[]);
  });
  const told = around.flat().map((frame) => {
    const { name, state } = frame as Readonly<Record<string, unknown>>;
    return name ?? `${state}`.toUpperCase();
  }).join(" ");
  return { state: next, told };
}

const task = (type: "local_bash" | "local_agent") =>
  new Map([["a", { id: "a", toolUseId: "t", type, description: "", background: true }]]);
const AWAITED = { awaited: [{ text: "a", way: "rendezvous" } as const] };
const RUNNING = { activity: "running" } as const;
const REST = { ...RUNNING, isBetweenTurns: true };

Deno.test("a session's state is printed around its frames", () => {
  const rows: readonly (readonly [state: Partial<OutputState>, expected: string])[] = [
    [{}, "RUNNING init hook REQUIRES_ACTION asks asks"],
    [RUNNING, "result result IDLE RUNNING init"],
    [AWAITED, "RUNNING init result"],
    // A message is queued, taken and answered.
    [{}, "RUNNING queued started prompted init"],
    [{ ...RUNNING, hasInit: true }, "result completed IDLE"],
    [{}, "RUNNING prompted init"],
    [{ hasInit: true }, "RUNNING queued cancelled"],
    [{ isBetweenTurns: true }, "RUNNING queued cancelled IDLE"],
    // A wake-up is awaited only once the caller says no more.
    [{ wakeupAt: 1 }, "RUNNING init result IDLE"],
    [{}, "RUNNING woken init"],
    [{ wakeupAt: 1, inputClosed: true }, "RUNNING init result"],
    [{ ...RUNNING, inputClosed: true }, "woken init result IDLE"],
    // Subagents keep a session at work, and shells do not.
    [{ isBetweenTurns: true, tasks: task("local_bash") }, "RUNNING init result IDLE"],
    [{ isBetweenTurns: true, tasks: task("local_agent") }, "RUNNING init result"],
    [{ ...REST, tasks: task("local_agent") }, "stopped"],
    [REST, "stopped IDLE"],
  ];
  for (const [state, expected] of rows) {
    const given = expected.split(" ").filter((name) => name in FRAMES).join(" ");
    assertEquals(withStates({ ...BEGUN, ...state }, given).told, expected);
  }
});

Deno.test("the next child does not repeat the session's state", () => {
  const { state } = withStates(BEGUN, "queued");
  const next = startOutput({ ...OPTIONS, before: leftForNextChild(state, []) }, report);
  assertEquals(withStates(next, "started init").told, "started init");
});

Deno.test("the state is for Agent SDKs, unless it is shown", () => {
  const [state] = runStep(BEGUN, (step) => emitActivity(step, "running")).frames;
  assertEquals<unknown>({ ...state, uuid: "" }, {
    type: "system",
    subtype: "session_state_changed",
    state: "running",
    sdk_host_only: true,
    uuid: "",
    session_id: "s",
  });
  const shown = startOutput({ ...OPTIONS, activity: "shown" }, report);
  const { frames } = runStep(shown, (step) => emitActivity(step, "running"));
  assertEquals(frames.map((frame) => "sdk_host_only" in frame), [false]);
});

Deno.test("a session goes on once its last permission is decided", () => {
  const permission = { kind: "permission" } as Question;
  const server: Question = { kind: "server", server: "s" };
  const asking = (...questions: readonly Question[]) => ({
    ...startSession(session),
    openQuestions: new Map(questions.map((question, id) => [`${id}`, question])),
  });
  assertEquals(isAnswered(asking(permission), asking(server)), true);
  assertEquals(isAnswered(asking(permission, permission), asking(permission)), false);
  assertEquals(isAnswered(asking(server), asking()), false);
});

const INITIALIZED = {
  session: {
    conversation: true,
    version: VERSION,
    caller: { idPrefix: "q", callbacks: [], initialized: { id: "i" } },
  },
  frames: { conversation: true, version: VERSION, partial: true, activity: true },
} as const;

Deno.test("a message is queued before its turn, after initialization", () => {
  const run = new ConversationRun(INITIALIZED);
  const settled = { kind: "local", text: "Said", version: VERSION };
  run.give(request("initialize", {}, "i"), settledMessage("/say", settled, { uuid: "u" }));
  run.give(request("interrupt"), { type: "spawned" }, IDLE, hook("SessionStart"));
  assertEquals(kinds(run.frames), "");
  run.give(consulted("i"));
  const order = run.frames.map(({ type, subtype, state }) => state ?? subtype ?? type);
  assertEquals(order.slice(0, 5), [
    ...["control_response", "running", "queued", "started", "init"],
  ]);
});

Deno.test("the first frame of each kind names its message", () => {
  const uuid = "11111111-1111-4111-8111-111111111111";
  const run = new ConversationRun(INITIALIZED);
  const told = () =>
    run.frames.map(({ type, subtype, state, event, user_message_uuids: ids }) => {
      const kind = isJsonObject(event) ? event["type"] : state ?? subtype ?? type;
      return `${kind}${ids === undefined ? "" : " of it"}`;
    });
  run.give(request("initialize", {}, "i"), message("One", { uuid }));
  assertEquals(told(), []);
  run.give(consulted("i"));
  assertEquals(told(), ["control_response", "running", "queued"]);
  run.give({ type: "spawned" });
  run.push(prompt("One"), REQUEST, call("t"), result("t"), text("Second"));
  assertEquals(told().slice(3, 7), [
    ...["started", "init of it", "status of it", "message_start of it"],
  ]);
  const ofKind = (kind: string) => told().filter((each) => each.startsWith(kind));
  assertEquals(ofKind("assistant"), ["assistant of it", "assistant"]);
  assertEquals(ofKind("message_start"), ["message_start of it", "message_start"]);
  assertEquals(ofKind("status"), ["status of it", "status of it"]);
});
