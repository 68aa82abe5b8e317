import { assertEquals } from "@std/assert";
import { isAnswered, tellActivity, withActivity } from "../../src/frames/session_states.ts";
import { startFrames } from "../../src/frames/telling/frames_state.ts";
import type { Question } from "../../src/session/control/questions/question.ts";
import { startSession } from "../../src/session/session_state.ts";
import type { Frame } from "../../src/wire/frame.ts";
import { conversationOptions } from "./conversation_options.ts";

const { frames, report, session } = conversationOptions();

const begun = (version: string) => startFrames({ ...frames, version, activity: true }, report);

const INIT = { type: "system", subtype: "init", session_id: "s" } as Frame;
const RESULT = { type: "result", subtype: "success", session_id: "s" } as unknown as Frame;
const ASKS = { type: "control_request", request: { subtype: "can_use_tool" } } as unknown as Frame;
const HOOK = { type: "control_request", request: { subtype: "hook_callback" } } as unknown as Frame;

const shown = (told: readonly Frame[]) =>
  told.map((frame) => frame["subtype"] === "session_state_changed" ? frame["state"] : frame.type);

Deno.test("what a session is at is told before a turn, before a question and after a result", () => {
  const first = withActivity(begun("2.1.330"), [INIT, HOOK, ASKS, ASKS]);
  assertEquals(shown(first.frames), [
    ...["running", "system", "control_request", "requires_action"],
    ...["control_request", "control_request"],
  ]);
  const decided = tellActivity(first.state, "running");
  assertEquals(shown(decided.frames), ["running"]);
  const last = withActivity(decided.state, [RESULT, RESULT, INIT]);
  assertEquals(shown(last.frames), ["result", "idle", "result", "running", "system"]);
  const [told] = last.frames.slice(1);
  assertEquals<unknown>({ ...told, uuid: "" }, {
    type: "system",
    subtype: "session_state_changed",
    state: "idle",
    sdk_host_only: true,
    uuid: "",
    session_id: "s",
  });
  const shownToo = startFrames({ ...frames, version: "2.1.330", activity: "shown" }, report);
  const [seen] = tellActivity(shownToo, "running").frames;
  assertEquals(seen !== undefined && "sdk_host_only" in seen, false);
});

Deno.test("a session is not idle while messages wait, and says nothing of it before 2.1.330", () => {
  const waiting = { ...begun("2.1.330"), awaited: [{ text: "a", way: "rendezvous" } as const] };
  assertEquals(shown(withActivity(waiting, [INIT, RESULT]).frames), [
    "running",
    "system",
    "result",
  ]);
  assertEquals(shown(withActivity(begun("2.1.197"), [INIT, ASKS, RESULT]).frames), [
    ...["system", "control_request", "result"],
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
