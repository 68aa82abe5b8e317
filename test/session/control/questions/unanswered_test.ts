import { assert, assertEquals } from "@std/assert";
import type { Answer } from "../../../../src/session/effect.ts";
import type { Message } from "../../../../src/session/message.ts";
import { readEntry } from "../../../../src/transcript/entry.ts";
import { isJsonObject, type JsonObject } from "../../../../src/json_object.ts";
import { PROMPT } from "../../../transcript/lines.ts";
import { simulate, type Simulation } from "../../simulation.ts";

const SERVER = "calc";
const INPUT = { command: "touch a" };

type Kind =
  | "PreToolUse hook"
  | "PreSkillShellCommand hook"
  | "permission"
  | "prompt tool"
  | "MCP call";

const KINDS: readonly Kind[] = [
  "PreToolUse hook",
  "PreSkillShellCommand hook",
  "permission",
  "prompt tool",
  "MCP call",
];

/** A turn whose call of a tool waits for the caller, who was asked or is about to be. */
function unanswered(kind: Kind, isAsked: boolean): Simulation {
  const session = simulate({
    conversation: true,
    version: "2.1.332",
    timeoutMs: 20_000,
    caller: {
      idPrefix: "q",
      permissions: true,
      servers: [SERVER],
      callbacks: [{ event: eventOf(kind), id: "hook_0" }],
      ...(kind === "prompt tool"
        ? { promptTool: { name: `mcp__${SERVER}__ask`, tool: "ask", ownServer: SERVER } }
        : {}),
    },
  });
  session.receive({ type: "reachable" });
  session.receive({ type: "status", status: "idle" });
  session.receive({ type: "message", message: { text: "go", way: "rendezvous" } as Message });
  session.receive({ type: "hook", event: "UserPromptSubmit", payload: { prompt: "go" } });
  session.receive({ type: "status", status: "busy" });
  session.receive(PROMPT);
  if (kind === "prompt tool") {
    const message = { jsonrpc: "2.0", id: 0, method: "tools/list" };
    session.receive({ type: "mcp-message", server: SERVER, message });
    const response = { mcp_response: { result: { tools: [{ name: "ask" }] } } };
    session.receive({ type: "answer", answer: { id: "q-1", response } });
  }
  const tell = () => {
    const entry = readEntry({
      type: "assistant",
      message: {
        id: "m",
        model: "m",
        content: [{ type: "tool_use", id: "toolu_1", name: "Bash", input: INPUT }],
      },
    });
    if (entry !== undefined) session.receive({ type: "transcript", entry });
    session.receive({ type: "read" });
  };
  if (isAsked) tell();
  wait(session, kind);
  return session;
}

const eventOf = (kind: Kind) =>
  kind === "PreSkillShellCommand hook" ? "PreSkillShellCommand" : "PreToolUse";

/** The child waits for the caller. */
function wait(session: Simulation, kind: Kind, id = "5"): void {
  const payload = { tool_name: "Bash", tool_input: INPUT, tool_use_id: "toolu_1", cwd: "/w" };
  if (kind === "MCP call") {
    const _meta = { "claudecode/toolUseId": "toolu_1" };
    const message = { jsonrpc: "2.0", id, method: "tools/call", params: { name: "add", _meta } };
    session.receive({ type: "mcp-message", server: SERVER, message });
  } else if (kind === "permission" || kind === "prompt tool") {
    session.receive({ type: "hook", event: "PermissionRequest", payload, id });
  } else {
    session.receive({ type: "hook", event: eventOf(kind), payload, id, callback: 0 });
  }
}

const control = (subtype: string, body: JsonObject = {}) => (session: Simulation) =>
  session.receive({ type: "control", request: { id: "r", subtype, body: { subtype, ...body } } });
const signal = (name: "SIGINT" | "SIGTERM" | "SIGHUP") => (session: Simulation) =>
  session.receive({ type: "signal", signal: name });

/** Every way in which a question ends without an answer. A server that stops sends its runs SIGTERM. */
const WAYS: Readonly<Record<string, (session: Simulation) => void>> = {
  "an interrupt": control("interrupt"),
  "an interrupt, twice": (session) => {
    control("interrupt")(session);
    control("interrupt")(session);
  },
  "end_session": control("end_session"),
  "the end of input": (session) => session.receive({ type: "closed" }),
  "input that cannot be read": (session) => session.receive({ type: "unreadable", reason: "no" }),
  "an urgent message": (session) =>
    session.receive({
      type: "message",
      message: { text: "now", way: "rendezvous", priority: "now" } as Message,
    }),
  "SIGINT": signal("SIGINT"),
  "SIGTERM": signal("SIGTERM"),
  "SIGHUP": signal("SIGHUP"),
  "the timeout": (session) => session.wait(20_000),
  "a full private folder": (session) => session.receive({ type: "unheard" }),
  "a child that is told to go": (session) => {
    signal("SIGTERM")(session);
    signal("SIGTERM")(session);
  },
  "the end of the turn": (session) => {
    session.receive({ type: "hook", event: "StopFailure", payload: { error: "unknown" } });
    session.receive({ type: "status", status: "idle" });
  },
  "the end of the child": (session) =>
    session.receive({ type: "exit", exit: { kind: "exited", code: 1 } }),
};

/** Whether an answer to a hook lets no call run. */
function forbids({ reply, veto }: Answer): boolean {
  if (veto) return true;
  if (reply === undefined) return false;
  const { hookSpecificOutput: output, decision } = reply;
  if (decision === "block") return true;
  if (!isJsonObject(output)) return false;
  const { permissionDecision, decision: permission } = output;
  return permissionDecision === "deny" ||
    (isJsonObject(permission) && permission["behavior"] === "deny");
}

for (const [way, end] of Object.entries(WAYS)) {
  Deno.test(`nothing unanswered may run after ${way}`, () => {
    for (const kind of KINDS) {
      for (const isAsked of [true, false]) {
        const session = unanswered(kind, isAsked);
        const before = session.effects.length;
        end(session);
        // What the child asks before it has read of the end is as unanswered.
        wait(session, kind, "6");
        session.wait(120_000);
        session.receive({ type: "status", status: "idle" });
        session.wait(120_000);
        const since = session.effects.slice(before);
        const about = `${kind}, asked: ${isAsked}`;
        for (const effect of since) {
          if (effect.type === "answer") assert(forbids(effect), about);
          if (effect.type === "mcp-message") assert("error" in effect.message, about);
        }
      }
    }
  });
}

Deno.test("an interrupt presses Escape, and vetoes once the turn is over", () => {
  for (const kind of KINDS.filter((each) => each !== "MCP call")) {
    const session = unanswered(kind, true);
    const answersSince = session.effects.length;
    const answers = () =>
      session.effects.slice(answersSince).filter(({ type }) => type === "answer");
    control("interrupt")(session);
    session.wait(900);
    const [typed, early] = [session.typed, answers()];
    assertEquals([typed, early], [".\x1b", []], kind);
    const content = [{ type: "text", text: "[Request interrupted by user for tool use]" }];
    const entry = readEntry({ type: "user", message: { role: "user", content } });
    if (entry !== undefined) session.receive({ type: "transcript", entry });
    session.receive({ type: "status", status: "idle" });
    session.wait(5000);
    assertEquals(answers().at(-1), { type: "answer", id: "5", veto: true }, kind);
  }
});

Deno.test("a hook that outlives Escape goes on with a veto", () => {
  const session = unanswered("PreToolUse hook", true);
  control("interrupt")(session);
  // The child draws, and so has read the key, but does not rest.
  session.receive({ type: "terminal", bytes: new Uint8Array([65]) });
  session.wait(3000);
  assertEquals(session.effects.filter(({ type }) => type === "answer").at(-1), {
    type: "answer",
    id: "5",
    veto: true,
  });
  assertEquals(session.typed, ".\x1b.\x1b");
});
