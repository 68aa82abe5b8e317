import { assert, assertEquals } from "@std/assert";
import { isJsonObject, type JsonObject } from "../../../../src/json_object.ts";
import type { Answer } from "../../../../src/conversation/control/effect.ts";
import { answer, call, INTERRUPTED, line, PROMPT } from "../../control/lines.ts";
import {
  callback,
  callbackHook,
  caller,
  CLOSED,
  fromServer,
  message,
  reply,
  request,
} from "../../control/caller_inputs.ts";
import { exit, type Given, hook, IDLE, READ, signal, stop, submit } from "../../control/inputs.ts";
import { type Simulation, working } from "../../control/simulation.ts";

const SERVER = "calc";
const REQUESTED = line({ type: "api-request", querySource: "repl_main_thread" });
const CALL = { tool_name: "Bash", tool_input: {}, tool_use_id: "toolu_1", cwd: "/w" };

/** What the child asks by a question of each kind. */
const QUESTIONS = {
  "PreToolUse hook": (id) => callbackHook("PreToolUse", CALL, id),
  "PreSkillShellCommand hook": (id) => callbackHook("PreSkillShellCommand", CALL, id, 1),
  "permission": (id) => hook("PermissionRequest", CALL, id),
  "prompt tool": (id) => hook("PermissionRequest", CALL, id),
  "MCP call": (id) => {
    const _meta = { "claudecode/toolUseId": "toolu_1" };
    const params = { name: "add", _meta };
    return fromServer(SERVER, { jsonrpc: "2.0", id, method: "tools/call", params });
  },
} satisfies Readonly<Record<string, (id: string) => Given>>;
type Kind = keyof typeof QUESTIONS;
const KINDS = Object.keys(QUESTIONS) as readonly Kind[];

/** A turn whose call of a tool waits for the caller, who was asked or is about to be. */
function unanswered(kind: Kind, isAsked: boolean): Simulation {
  const hasTool = kind !== "permission";
  const promptTool = { name: `mcp__${SERVER}__ask`, tool: "ask", ownServer: SERVER };
  const session = working({
    timeoutMs: 20_000,
    caller: caller({
      permissions: true,
      servers: [SERVER],
      callbacks: [callback("PreToolUse"), callback("PreSkillShellCommand")],
      ...(hasTool ? { promptTool } : {}),
    }),
  });
  session.receive(PROMPT);
  if (hasTool) {
    session.receive(fromServer(SERVER, { jsonrpc: "2.0", id: 0, method: "tools/list" }));
    session.receive(reply({ mcp_response: { result: { tools: [{ name: "ask" }] } } }));
  }
  if (isAsked) session.receive(call("toolu_1", {}), READ);
  session.receive(QUESTIONS[kind]("5"));
  return session;
}

const control = (subtype: string) => request(subtype, { subtype });

/** Every way in which a question ends without an answer. A server that stops sends its runs SIGTERM. */
const WAYS: Readonly<Record<string, readonly Given[] | number>> = {
  "an interrupt": [control("interrupt")],
  "two interrupts": [control("interrupt"), control("interrupt")],
  "end_session": [control("end_session")],
  "the end of input": [CLOSED],
  "input that cannot be read": [{ type: "unreadable", reason: "no" }],
  "an urgent message": [message("now", { priority: "now" })],
  "SIGINT": [signal("SIGINT")],
  "SIGTERM": [signal("SIGTERM")],
  "SIGHUP": [signal("SIGHUP")],
  "two signals": [signal("SIGTERM"), signal("SIGTERM")],
  "the timeout": 20_000,
  "a full private folder": [{ type: "unheard" }],
  "the end of the turn": [hook("StopFailure", { error: "unknown" }), IDLE],
  "the end of the child": [exit(1)],
};

/** Whether an answer to a hook lets no call run. */
function forbids({ reply, veto }: Answer): boolean {
  if (veto || reply?.["decision"] === "block") return true;
  const output = reply?.["hookSpecificOutput"];
  if (!isJsonObject(output)) return false;
  const { permissionDecision, decision } = output as JsonObject;
  return permissionDecision === "deny" ||
    (isJsonObject(decision) && decision["behavior"] === "deny");
}

Deno.test("nothing unanswered runs after its question ended", async (test) => {
  for (const [way, end] of Object.entries(WAYS)) {
    await test.step(way, () => {
      for (const kind of KINDS) {
        for (const isAsked of [true, false]) {
          const session = unanswered(kind, isAsked);
          const { length } = session.effects;
          if (typeof end === "number") session.wait(end);
          else session.receive(...end);
          // A question that the child asks before it reads of the end is unanswered too.
          session.receive(QUESTIONS[kind]("6"));
          session.wait(120_000);
          session.receive(IDLE);
          session.wait(120_000);
          for (const effect of session.effects.slice(length)) {
            const where = `${kind}, asked: ${isAsked}`;
            if (effect.type === "answer") assert(forbids(effect), where);
            if (effect.type === "mcp-message") assert("error" in effect.message, where);
          }
        }
      }
    });
  }
});

Deno.test("interrupt presses Escape and vetoes after the turn", () => {
  for (const kind of KINDS.filter((each) => each !== "MCP call")) {
    const session = unanswered(kind, true);
    const { length } = session.of("answer");
    session.receive(control("interrupt"));
    session.wait(900);
    assertEquals([session.typed, session.of("answer").length], [".\x1b", length], kind);
    // A prompt tool gets no message of the control protocol.
    assertEquals(session.withdrawals, kind === "prompt tool" ? 0 : 1, kind);
    session.receive(INTERRUPTED, IDLE);
    session.wait(5000);
    assertEquals(session.of("answer").at(-1), { type: "answer", id: "5", veto: true }, kind);
  }
});

Deno.test("caller is still asked about the next turn's prompt", () => {
  const rows = [
    ["answered, unrecorded", [answer("go!"), stop("go!")]],
    ["aborted, unrecorded", [control("interrupt")]],
  ] as const;
  for (const [turn, end] of rows) {
    const session = working({ caller: caller({ callbacks: [callback("UserPromptSubmit")] }) });
    session.receive(REQUESTED, PROMPT, message("two"), ...end);
    session.receive(callbackHook("UserPromptSubmit", { prompt: "two" }), submit("two"));
    assertEquals([session.turns, session.answered], [[turn], []]);
    session.receive(reply({}));
    assertEquals(session.replies, [{}]);
  }
});

Deno.test("caller is not asked about a turn that is being stopped", () => {
  for (const kind of KINDS.filter((each) => each !== "MCP call")) {
    const session = unanswered(kind, true);
    const { length } = session.asked;
    session.receive(control("interrupt"), QUESTIONS[kind]("6"));
    assertEquals(session.asked.length, length, kind);
  }
});

Deno.test("hook that outlives Escape gets a veto", () => {
  const session = unanswered("PreToolUse hook", true);
  session.receive(control("interrupt"));
  // A child that draws has read the key.
  session.show("A");
  session.wait(3000);
  assertEquals(session.of("answer").at(-1), { type: "answer", id: "5", veto: true });
  assertEquals(session.typed, ".\x1b.\x1b");
});
