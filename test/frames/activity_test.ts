import { assertEquals } from "@std/assert";
import { isAnswered, tellActivity, withActivity } from "../../src/frames/activity.ts";
import { fold } from "../../src/frames/advance.ts";
import type { Task } from "../../src/frames/single/task.ts";
import { type FramesState, startFrames } from "../../src/frames/telling/frames_state.ts";
import { toldBy } from "../../src/frames/turns/told_by.ts";
import type { Question } from "../../src/session/control/questions/question.ts";
import type { Input, Untimed } from "../../src/session/input.ts";
import { isJsonObject } from "../../src/json_object.ts";
import { startSession } from "../../src/session/session_state.ts";
import type { Frame } from "../../src/wire/frame.ts";
import { answer, line } from "../transcript/lines.ts";
import { conversationOptions } from "./conversation_options.ts";

const { frames, report, session } = conversationOptions();

const told = (state: FramesState, frames: readonly Frame[]) => {
  const { state: next, around } = withActivity(state, frames);
  return { state: next, frames: around.flat() };
};

const begun = () => startFrames({ ...frames, version: "2.1.332", activity: true }, report);

const INIT = { type: "system", subtype: "init", session_id: "s" } as Frame;
const RESULT = { type: "result", subtype: "success", session_id: "s" } as unknown as Frame;
const ASKS = { type: "control_request", request: { subtype: "can_use_tool" } } as unknown as Frame;
const HOOK = { type: "control_request", request: { subtype: "hook_callback" } } as unknown as Frame;

const shown = (told: readonly Frame[]) =>
  told.map((frame) => frame["subtype"] === "session_state_changed" ? frame["state"] : frame.type);

Deno.test("what a session is at is told before a turn, before a question and after a result", () => {
  const first = told(begun(), [INIT, HOOK, ASKS, ASKS]);
  assertEquals(shown(first.frames), [
    ...["running", "system", "control_request", "requires_action"],
    ...["control_request", "control_request"],
  ]);
  const decided = tellActivity(first.state, "running");
  assertEquals(shown(decided.frames), ["running"]);
  const last = told(decided.state, [RESULT, RESULT, INIT]);
  assertEquals(shown(last.frames), ["result", "result", "idle", "running", "system"]);
  const [idle] = last.frames.slice(2);
  assertEquals<unknown>({ ...idle, uuid: "" }, {
    type: "system",
    subtype: "session_state_changed",
    state: "idle",
    sdk_host_only: true,
    uuid: "",
    session_id: "s",
  });
  const shownToo = startFrames({ ...frames, version: "2.1.332", activity: "shown" }, report);
  const [seen] = tellActivity(shownToo, "running").frames;
  assertEquals(seen !== undefined && "sdk_host_only" in seen, false);
});

Deno.test("a session works again when the model is woken, and until then where nobody says more", () => {
  const started = {
    type: "command_lifecycle",
    state: "started",
    wakeup_source: "loop_wakeup",
  } as unknown as Frame;
  const first = told({ ...begun(), wakeupAt: 1 }, [INIT, RESULT]);
  assertEquals(shown(first.frames), ["running", "system", "result", "idle"]);
  const woken = told(first.state, [started, INIT]);
  assertEquals(shown(woken.frames), ["running", "command_lifecycle", "system"]);
  const closed = told({ ...begun(), wakeupAt: 1, heardOut: true }, [INIT, RESULT]);
  assertEquals(shown(closed.frames), ["running", "system", "result"]);
  const over = told({ ...closed.state, wakeupAt: undefined }, [started, INIT, RESULT]);
  assertEquals(shown(over.frames), ["command_lifecycle", "system", "result", "idle"]);
});

Deno.test("a session works from the first that is told of a message on, until that was answered", () => {
  const life = (state: string) => ({ type: "command_lifecycle", state }) as unknown as Frame;
  const prompted = {
    type: "control_request",
    request: { subtype: "hook_callback", input: { hook_event_name: "UserPromptSubmit" } },
  } as unknown as Frame;
  const step = (state: FramesState, ...frames: readonly Frame[]) => {
    const said = told(state, frames);
    const words = said.frames.map(({ type, subtype, state }) => state ?? subtype ?? type);
    return { state: said.state, words };
  };
  const queued = step(begun(), life("queued"));
  assertEquals(queued.words, ["running", "queued"]);
  const asked = step(queued.state, life("started"), prompted, INIT);
  assertEquals(asked.words, ["started", "control_request", "init"]);
  const over = step({ ...asked.state, begun: true }, RESULT, life("completed"));
  assertEquals(over.words, ["success", "completed", "idle"]);
  assertEquals(step(over.state, prompted, INIT).words, ["running", "control_request", "init"]);
  assertEquals(step({ ...over.state, begun: true }, life("queued"), life("cancelled")).words, [
    ...["running", "queued", "cancelled"],
  ]);
  const taken = { ...over.state, rested: true };
  assertEquals(step(taken, life("queued"), life("cancelled")).words, [
    ...["running", "queued", "cancelled", "idle"],
  ]);
  // The next child does not tell it again.
  const next = {
    ...frames,
    version: "2.1.332",
    activity: true,
    before: toldBy(queued.state, []),
  } as const;
  assertEquals(step(startFrames(next, report), life("started"), INIT).words, ["started", "init"]);
});

Deno.test("a session works as long as a subagent in the background does, but not a shell", () => {
  const task = (type: Task["type"]) => {
    const one = { id: "a", toolUseId: "t", type, description: "", background: true };
    return { ...begun(), rested: true, tasks: new Map([["a", one]]) };
  };
  const step = (state: FramesState, ...frames: readonly Frame[]) =>
    shown(told(state, frames).frames);
  assertEquals(step(task("local_bash"), INIT, RESULT), ["running", "system", "result", "idle"]);
  assertEquals(step(task("local_agent"), INIT, RESULT), ["running", "system", "result"]);
  const stop = {
    type: "system",
    subtype: "task_notification",
    status: "stopped",
  } as unknown as Frame;
  const working = { ...task("local_agent"), activity: "running" } as const;
  assertEquals(step(working, stop), ["system"]);
  assertEquals(step({ ...working, tasks: new Map() }, stop), ["system", "idle"]);
});

Deno.test("a session is not idle while messages wait", () => {
  const waiting = { ...begun(), awaited: [{ text: "a", way: "rendezvous" } as const] };
  assertEquals(shown(told(waiting, [INIT, RESULT]).frames), [
    "running",
    "system",
    "result",
  ]);
});

Deno.test("a session goes on once its last permission is decided", () => {
  const rest = startSession(session);
  const permission = { kind: "permission" } as Question;
  const asking = (...questions: readonly Question[]) => ({
    ...rest,
    asked: new Map(questions.map((question, id) => [`${id}`, question])),
  });
  assertEquals(isAnswered(asking(permission), asking({ kind: "server", server: "s" })), true);
  assertEquals(isAnswered(asking(permission, permission), asking(permission)), false);
  assertEquals(isAnswered(asking({ kind: "server", server: "s" }), asking()), false);
});

/** What a caller hears who gives messages ids and initializes, and whom messages are named to. */
function heard(...inputs: readonly Untimed<Input>[]) {
  const caller = { idPrefix: "q", callbacks: [], initialized: { id: "i" } };
  const options = conversationOptions({ conversation: true, version: "2.1.332", caller });
  const words: unknown[] = [];
  fold(
    {
      ...options,
      frames: {
        ...frames,
        conversation: true,
        version: "2.1.332",
        partial: true,
        activity: true,
      },
    },
    inputs.map((input, at) => ({ ...input, at }) as Input),
    {
      onEffect: (effect) => {
        if (effect.type !== "frame") return;
        const { type, subtype, state, event, user_message_uuids: ids } = effect.frame;
        const kind = isJsonObject(event) ? event["type"] : state ?? subtype ?? type;
        words.push(ids === undefined ? kind : `${kind} to ${ids}`);
      },
    },
  );
  return words;
}

Deno.test("what becomes of a message is told behind the initialization, and the first of each kind names it", () => {
  const uuid = "11111111-1111-4111-8111-111111111111";
  const initialize = { id: "i", subtype: "initialize", body: {} };
  const answered = { type: "consulted", id: "i", said: { response: {} } } as const;
  const message = { text: "One", way: "rendezvous", uuid } as const;
  const before: readonly Untimed<Input>[] = [
    { type: "control", request: initialize },
    { type: "message", message },
  ];
  assertEquals(heard(...before), []);
  const begun = ["control_response", "running", "queued"];
  assertEquals(heard(...before, answered), begun);
  const entry = (fields: object) => line({ version: "2.1.332", sessionId: "s", ...fields });
  const call = { type: "tool_use", id: "t", name: "Bash", input: {} };
  const written = [
    entry({ type: "user", uuid: "p", message: { content: "One" } }),
    entry({ type: "api-request", querySource: "repl_main_thread" }),
    entry({ type: "assistant", uuid: "a", message: { id: "a", model: "m", content: [call] } }),
    entry({
      type: "user",
      uuid: "r",
      message: { content: [{ type: "tool_result", tool_use_id: "t", content: "done" }] },
    }),
    answer("Second"),
  ];
  const told = heard(...before, answered, { type: "spawned" }, ...written, { type: "read" });
  const to = ` to ${uuid}`;
  const events = (...more: readonly string[]) => told.filter((each) => more.includes(`${each}`));
  assertEquals(told.slice(0, 7), [
    ...begun,
    "started",
    `init${to}`,
    `status${to}`,
    `message_start${to}`,
  ]);
  assertEquals(events(`assistant${to}`, "assistant"), [`assistant${to}`, "assistant"]);
  assertEquals(events(`message_start${to}`, "message_start"), [
    `message_start${to}`,
    "message_start",
  ]);
  assertEquals(events(`status${to}`, "status"), [`status${to}`, `status${to}`]);
});
