import { assertEquals } from "@std/assert";
import { readEntry } from "../../../../src/transcript/entry.ts";
import { simulate, type Simulation } from "../../simulation.ts";

const RULE = "─".repeat(80);
const BOX = ["❯ ", RULE, "  2 shells"];
const HINT = "  ↑/↓ to navigate · x to stop · Enter to view · Esc to close";
const [DOWN, ENTER, STOP, ESCAPE] = ["\x1b[B", "\r", "x", "\x1b"];

const caller = { callbacks: [], idPrefix: "i" } as const;

/** A conversation whose turn is over, with shells in the background: their ids, and what they were called with. */
function withShells(shells: Readonly<Record<string, string>>): Simulation {
  const session = simulate({ conversation: true, version: "2.1.332", caller });
  session.receive({ type: "reachable" });
  session.receive({ type: "status", status: "idle" });
  session.receive({ type: "message", message: { text: "Go", way: "rendezvous" } });
  session.receive({ type: "hook", event: "UserPromptSubmit", payload: { prompt: "Go" } });
  write(session, { type: "user", message: { role: "user", content: "Go" } });
  for (const [id, command] of Object.entries(shells)) {
    write(session, {
      type: "assistant",
      message: {
        id,
        model: "m",
        content: [{ type: "tool_use", id, name: "Bash", input: { command } }],
      },
    });
    write(session, {
      type: "user",
      toolUseResult: { backgroundTaskId: id },
      message: { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "" }] },
    });
  }
  const tasks = Object.keys(shells).map((id) => ({ id, type: "shell" }));
  session.receive({ type: "hook", event: "Stop", payload: { background_tasks: tasks } });
  write(session, { type: "system", subtype: "turn_duration", version: "2.1.332" });
  return session;
}

function write(session: Simulation, line: object): void {
  const entry = readEntry(line);
  if (entry !== undefined) session.receive({ type: "transcript", entry });
}

function stop(session: Simulation, task: unknown, id = "r"): void {
  session.receive({
    type: "control",
    request: { id, subtype: "stop_task", body: { task_id: task } },
  });
}

/** Shows a screen, the cursor in its last row, and says what is pressed because of it. */
function shown(session: Simulation, lines: readonly string[]): string {
  const before = session.typed;
  session.draw(...lines);
  session.receive({ type: "screen", screen: { lines, cursor: { row: lines.length, col: 1 } } });
  return session.typed.slice(before.length);
}

const list = (caret: string, ...commands: readonly string[]) => [
  RULE,
  ...commands.map((command) => `  ${command === caret ? "❯" : " "} ● ${command}   running`),
  HINT,
];

const answers = ({ effects }: Simulation) =>
  effects.flatMap((effect) =>
    effect.type === "respond"
      ? ["error" in effect.response ? effect.response.error : effect.response.request_id]
      : effect.type === "stopped"
      ? [`stopped ${effect.task}`]
      : []
  );

Deno.test("stop_task finds a task in the list, stops it and closes the list", () => {
  const session = withShells({ b1: "one", b2: "two", b3: "three" });
  const before = session.typed;
  stop(session, "b2");
  assertEquals(session.typed.slice(before.length), DOWN);
  session.receive({ type: "message", message: { text: "wait", way: "rendezvous" } });
  assertEquals(shown(session, BOX), ENTER);
  assertEquals(shown(session, list("three", "three", "two", "one")), DOWN);
  assertEquals(shown(session, list("two", "three", "two", "one")), STOP);
  assertEquals(shown(session, list("two", "three", "two", "one")), "", "it is not stopped yet");
  assertEquals(answers(session), []);
  const left = list("one", "three", "one");
  assertEquals(shown(session, left), "");
  assertEquals(answers(session), ["stopped b2", "r"], "whoever asked does not wait for the list");
  const closing = (times = 8) => Array.from({ length: times }, () => shown(session, left)).join("");
  session.receive({ type: "status", status: "waiting" });
  assertEquals(closing(20), "", "the key would stop the turn");
  session.receive({ type: "status", status: "idle" });
  assertEquals(closing(), ESCAPE);
  assertEquals(closing(7), "", "one key closes it");
  assertEquals(closing(1), ESCAPE, "unless it was lost");
  assertEquals(session.effects.filter(({ type }) => type === "deliver").length, 1);
  assertEquals(shown(session, BOX), "");
  assertEquals(answers(session), ["stopped b2", "r"]);
  const delivered = session.effects.filter(({ type }) => type === "deliver").length;
  assertEquals(delivered, 2, "the message that had to wait");
});

Deno.test("stop_task stops a task that is alone, and presses no Escape then: it would stop the turn", () => {
  const session = withShells({ b1: "one" });
  stop(session, "b1");
  stop(session, "b1", "again");
  shown(session, BOX);
  const task = [
    RULE,
    "  Command: one",
    "  Output:",
    "  ← to go back · x to stop · Enter/Space to close · Esc to close",
  ];
  assertEquals(shown(session, task), STOP);
  assertEquals(shown(session, BOX), "", "the next one needs nothing more");
  assertEquals(answers(session).toSorted(), ["again", "r", "stopped b1", "stopped b1"]);
});

Deno.test("stop_task has nothing to do for a task that has ended, or that nobody knows", () => {
  const session = withShells({ b1: "one" });
  const before = session.typed;
  const notification =
    "<task-notification>\n<task-id>b1</task-id>\n<status>completed</status>\n</task-notification>";
  write(session, { type: "queue-operation", operation: "enqueue", content: notification });
  for (const task of ["b1", "nobody", undefined, 7]) stop(session, task);
  assertEquals(session.typed, before);
  const error = "stop_task: task_id must be a string";
  assertEquals(answers(session), ["r", "r", error, error]);
});

Deno.test("stop_task stops nothing that it cannot tell from another, and closes what it has opened", () => {
  const cannot = "Cannot stop the task b1 on the screen of Claude Code: its list of tasks";
  const cases = [
    [list("other", "other", "third"), "does not show it"],
    [list("one", "one", "one"), "calls several so"],
    [
      [RULE, "  Command: one or two", "  Output:", "  ← to go back · x to stop · Esc to close"],
      "shows another one",
    ],
  ] as const;
  for (const [lines, failure] of cases) {
    const session = withShells({ b1: "one", b2: "one" });
    stop(session, "b1");
    shown(session, BOX);
    const closing = Array.from({ length: 9 }, () => shown(session, lines)).join("");
    assertEquals(closing, ESCAPE);
    shown(session, BOX);
    assertEquals(answers(session), [`${cannot} ${failure}`]);
  }
});

Deno.test("stop_task presses no key where the screen asks something, and gives up in time", () => {
  const session = withShells({ b1: "one" });
  session.receive({ type: "status", status: "waiting" });
  const before = session.typed;
  stop(session, "b1");
  session.wait(5000);
  assertEquals(session.typed, before);
  session.wait(5000);
  assertEquals(answers(session), [
    "Cannot stop the task b1 on the screen of Claude Code: it waits for something else",
  ]);
  const stuck = withShells({ b1: "one" });
  stop(stuck, "b1");
  shown(stuck, BOX);
  const task = [RULE, "  Command: one", "  Output:", "  ← to go back · x to stop · Esc to close"];
  assertEquals(shown(stuck, task), STOP);
  const typed = stuck.typed;
  stuck.wait(7500);
  assertEquals(stuck.typed.slice(typed.length), ESCAPE, "nothing that was opened stays so");
  const opened = withShells({ b1: "one" });
  stop(opened, "b1");
  const dialog = [RULE, "  Do you want to proceed?", "❯ 1. Yes", "  2. No"];
  assertEquals(shown(opened, dialog), "");
  opened.wait(10_000);
  assertEquals(answers(opened), [
    "Cannot stop the task b1 on the screen of Claude Code: its list of tasks does not do as it should",
  ]);
});

Deno.test("stop_task of a child that goes is answered: its tasks go with it", () => {
  const session = withShells({ b1: "one" });
  stop(session, "b1");
  session.receive({ type: "exit", exit: { kind: "exited", code: 0 } });
  assertEquals(answers(session), ["r"]);
});

Deno.test("what runs in the background runs as long as there may be messages, and a while after", () => {
  const session = withShells({ b1: "one" });
  session.wait(3_000_000);
  assertEquals(session.signals, []);
  session.receive({ type: "closed" });
  session.wait(500_000);
  assertEquals(session.signals, []);
  session.wait(500_000);
  assertEquals(session.signals[0], "SIGTERM tree");
  const stopped = withShells({ b1: "one" });
  stopped.receive({ type: "closed" });
  stop(stopped, "b1");
  shown(stopped, BOX);
  shown(stopped, [
    RULE,
    "  Command: one",
    "  Output:",
    "  ← to go back · x to stop · Esc to close",
  ]);
  shown(stopped, BOX);
  stopped.wait(1);
  assertEquals(stopped.signals[0], "SIGTERM tree", "there is nothing left to wait for");
});
