import { assertEquals } from "@std/assert";
import type { Message } from "../../../../src/session/message.ts";
import { readEntry } from "../../../../src/transcript/entry.ts";
import { simulate, type Simulation } from "../../simulation.ts";

const SCHEMA = { type: "object", properties: { name: { type: "string" } } };
const ASKED = { mcp_server_name: "my el", message: "Your name?", mode: "form" };

/** A session in a turn that calls a tool of an MCP server, whose caller speaks the protocol or does not. */
function working({ initialized = true } = {}): Simulation {
  const session = simulate({
    conversation: true,
    version: "2.1.332",
    caller: {
      idPrefix: "q",
      callbacks: [],
      ...(initialized ? { initialized: { id: "i" } } : {}),
    },
  });
  session.receive({ type: "reachable" });
  session.receive({ type: "status", status: "idle" });
  session.receive({ type: "message", message: { text: "go", way: "rendezvous" } as Message });
  session.receive({ type: "hook", event: "UserPromptSubmit", payload: { prompt: "go" } });
  session.receive({ type: "status", status: "busy" });
  return session;
}

function elicit(session: Simulation, id = "7"): void {
  const payload = { ...ASKED, cwd: "/w", requested_schema: SCHEMA };
  session.receive({ type: "hook", event: "Elicitation", payload, id });
}

function call(session: Simulation): void {
  const content = [{ type: "tool_use", id: "toolu_1", name: "mcp__my_el__ask", input: {} }];
  const entry = readEntry({ type: "assistant", message: { id: "m", model: "m", content } });
  if (entry !== undefined) session.receive({ type: "transcript", entry });
  session.receive({ type: "read" });
}

const asked = ({ effects }: Simulation) =>
  effects.flatMap((effect) => effect.type === "ask" ? [effect.question] : []);
const answers = ({ effects }: Simulation) =>
  effects.flatMap((effect) =>
    effect.type === "answer" ? [[effect.id, effect.reply?.["hookSpecificOutput"]]] : []
  );
const told = (decision: object) => ["7", { hookEventName: "Elicitation", ...decision }];
const CANCELLED = told({ action: "cancel" });

Deno.test("what an MCP server asks the user a caller is asked, once the call has been told", () => {
  const session = working();
  elicit(session);
  assertEquals([asked(session), answers(session)], [[], []]);
  call(session);
  assertEquals(asked(session), [{
    subtype: "elicitation",
    ...ASKED,
    requested_schema: SCHEMA,
  }]);
  const response = { action: "accept", content: { name: "Bob" } };
  session.receive({ type: "answer", answer: { id: "q-1", response } });
  assertEquals(answers(session), [told(response)]);
});

Deno.test("an answer to what an MCP server asks that cannot be understood is none", () => {
  for (const response of [{ action: "decline", content: 7 }, { action: "yes" }, null, "accept"]) {
    const session = working();
    call(session);
    elicit(session);
    session.receive({ type: "answer", answer: { id: "q-1", response } });
    const isDeclined = JSON.stringify(response).includes("decline");
    assertEquals(answers(session), [isDeclined ? told({ action: "decline" }) : CANCELLED]);
  }
  const failing = working();
  call(failing);
  elicit(failing);
  failing.receive({ type: "answer", answer: { id: "q-1", error: "the caller broke" } });
  assertEquals(answers(failing), [CANCELLED]);
});

Deno.test("an MCP server that asks is told that nobody answers, where nobody can or will", () => {
  const silent = working({ initialized: false });
  elicit(silent);
  assertEquals([asked(silent), answers(silent)], [[], [CANCELLED]]);
  const run = simulate({ prompt: "go" });
  elicit(run);
  assertEquals(answers(run), [CANCELLED]);
  for (const isTold of [true, false]) {
    const gone = working();
    if (isTold) call(gone);
    elicit(gone);
    gone.receive({ type: "closed" });
    assertEquals(answers(gone), [CANCELLED], `told: ${isTold}`);
    const stopped = working();
    if (isTold) call(stopped);
    elicit(stopped);
    stopped.receive({ type: "control", request: { id: "s", subtype: "interrupt", body: {} } });
    assertEquals(answers(stopped), [], `told: ${isTold}`);
  }
});
