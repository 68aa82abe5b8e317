import { assertEquals } from "@std/assert";
import { hasCommand, isCalled, readTasks } from "../../../../src/conversation/terminal/screen.ts";
import { call, COMPLETED, line, userLine } from "../../control/lines.ts";
import { caller, CLOSED, message, request } from "../../control/caller_inputs.ts";
import { exit, IDLE, status, stop } from "../../control/inputs.ts";
import { type Simulation, working } from "../../control/simulation.ts";

const RULE = "─".repeat(80);
const [DOWN, ENTER, STOP, ESCAPE] = ["\x1b[B", "\r", "x", "\x1b"];
/** The input box below which Claude Code offers its list of tasks. */
const BOX = [RULE, "❯ ", RULE, "  2 shells"];
const HINT = "  ↑/↓ to navigate · x to stop · Enter to view · Esc to close";
const DIALOG = [RULE, "  Do you want to proceed?", "❯ 1. Yes", "  2. No", "  Esc to cancel"];

/** The list of tasks with its caret on one of them. */
const list = (caret: string, ...commands: readonly string[]) => [
  RULE,
  ...commands.map((command) => `  ${command === caret ? "❯" : " "} ● ${command}   running`),
  HINT,
];
/** The screen of a task that is alone. */
const alone = (...command: readonly string[]) => [
  ...[RULE, ...command, "  Output:"],
  "  ← to go back · x to stop · Enter/Space to close · Esc to close",
];

/** A screen whose cursor is so many rows above the last one. */
const at = (lines: readonly string[], above = 0) => ({
  lines,
  cursor: { row: lines.length - above, col: 1 },
});
const row = (text: string, selected = false) => ({ text, selected });

Deno.test("readTasks() reads the list of tasks and its caret", () => {
  const quoted = ["❯ An earlier prompt running", RULE, "  Background", "  2 shells", ""];
  const earlier = "Earlier in this session (0)";
  const older = ["    sleep 301 (running)", "  ❯ sleep 300 (running)", ""];
  const oldHint = "  ↑/↓ to select · Enter to view · x to stop · ←/Esc to close";
  const rows = ["    ● sleep 301   running", "  ❯ ● sleep 300   running"];
  const selected = [row("sleep301"), row("sleep300", true)];
  const cases = [
    [[...quoted, ...older, oldHint], selected],
    [[...quoted, ...rows, `      ${earlier}`, "", HINT], selected],
    [
      [RULE, ...rows.slice(0, 1), `  ❯   ${earlier}`, "  ↑/↓ to navigate · Esc to close"],
      [row("sleep301"), row("", true)],
    ],
    [
      [
        ...[RULE, "  3 background tasks", "    Shells", "  ❯ ● sleep 300     running"],
        ...["    Background agents", "    ● Other agent   running · Opus 5.5", HINT],
      ],
      [row("sleep300", true), row("Otheragent")],
    ],
  ] as const;
  for (const [lines, expected] of cases) {
    assertEquals(readTasks(at(lines)), { kind: "list", rows: [...expected] });
  }
});

Deno.test("readTasks() reads subagents below the input box", () => {
  const below = (hint: string, over = "") => [
    ...[RULE, "❯ ", RULE, hint, "  ● main"],
    `❯ ◯ general-purpose  Look  around        ${over}8s`,
    ...["  ◯ general-purpose  Other agent         1m 9s", ""],
  ];
  const cases = [
    [below("  enter to view · x to stop"), "Lookaround"],
    [below("  Enter to view · x to clear"), ""],
    [below("  x to stop", "stopped · "), ""],
  ] as const;
  for (const [lines, text] of cases) {
    const rows = [row(""), row(text, true), row("Otheragent")];
    assertEquals(readTasks(at(lines)), { kind: "list", rows });
  }
});

Deno.test("readTasks() reads a task that is alone, of any length", () => {
  const hints = [
    "  ← to go back · Esc/Enter/Space to close · x to stop",
    "  ← to go back · x to stop · Enter/Space to close · Esc to close",
  ];
  for (const hint of hints) {
    const command = ["  Shell details", "  Command:  sleep 300; echo", "            end"];
    const text = "ShelldetailsCommand:sleep300;echoendOutput:";
    assertEquals(readTasks(at([RULE, ...command, "  Output:", hint])), { kind: "task", text });
  }
});

Deno.test("readTasks() offers the list only from an empty input box", () => {
  assertEquals(readTasks(at(BOX)), { kind: "offered" });
  const others = [at(BOX, 2), at([RULE, "❯ draft", RULE, "  2 shells"]), at(DIALOG), at([])];
  for (const screen of others) assertEquals(readTasks(screen), { kind: "none" });
});

Deno.test("commands are compared with what the screen has room for", () => {
  const rows = [
    ["sleep300", "sleep 300", true],
    ["sleep30", "sleep 300", false],
    ["sleep30…", "sleep 300; echo", true],
    ["sleep31…", "sleep 300; echo", false],
    ["…", "sleep 300", false],
  ] as const;
  for (const [shown, command, expected] of rows) {
    assertEquals(isCalled(shown, command), expected, shown);
  }
  const shown = "ShelldetailsCommand:sleep300Output:";
  const cases = [
    [shown, "sleep 300", true],
    [shown, "sleep 30", false],
    ["Command:sleep300Output:Command:sleep30", "sleep 30", false],
    ["Command:sleep300Output:", "", false],
    [`Command:${"echo".repeat(60)}…Output`, "echo ".repeat(100), true],
  ] as const;
  for (const [text, command, expected] of cases) {
    assertEquals(hasCommand(text, command), expected, text);
  }
});

/** A conversation whose turn is over, with shells in the background: their ids and commands. */
function withShells(shells: Readonly<Record<string, string>>): Simulation {
  const session = working({ caller: caller() }, userLine("go"));
  for (const [id, command] of Object.entries(shells)) {
    const result = [{ type: "tool_result", tool_use_id: id, content: "" }];
    session.receive(call(id, { command }));
    session.receive(userLine(result, { toolUseResult: { backgroundTaskId: id } }));
  }
  const background_tasks = Object.keys(shells).map((id) => ({ id, type: "shell" }));
  session.receive(stop(undefined, { background_tasks }), COMPLETED);
  return session;
}

const stopTask = (task_id: unknown, id = "r") => request("stop_task", { task_id }, id);

/** Shows a screen some times; returns the keys that are typed because of it. */
function typedAt(session: Simulation, lines: readonly string[], times = 1): string {
  const { length } = session.typed;
  session.draw(...lines);
  for (let time = 0; time < times; time++) session.receive({ type: "screen", screen: at(lines) });
  return session.typed.slice(length);
}

/** The stopped tasks, and the ids or the errors of the responses. */
const outcomes = ({ effects }: Simulation) =>
  effects.flatMap((effect) =>
    effect.type === "respond"
      ? ["error" in effect.response ? effect.response.error : effect.response.request_id]
      : effect.type === "stopped"
      ? [`stopped ${effect.task}`]
      : []
  );
const cannot = (reason: string) =>
  `Cannot stop the task b1 on the screen of Claude Code: ${reason}`;

Deno.test("stop_task stops a task and closes the list", () => {
  const session = withShells({ b1: "one", b2: "two", b3: "three" });
  const { length } = session.typed;
  session.receive(stopTask("b2"));
  assertEquals(session.typed.slice(length), DOWN);
  session.receive(message("wait"));
  const all = ["three", "two", "one"];
  assertEquals(typedAt(session, BOX), ENTER);
  assertEquals(typedAt(session, list("three", ...all)), DOWN);
  assertEquals(typedAt(session, list("two", ...all)), STOP);
  assertEquals(typedAt(session, list("two", ...all)), "", "it still runs");
  assertEquals(outcomes(session), []);
  const left = list("one", "three", "one");
  assertEquals(typedAt(session, left), "");
  assertEquals(outcomes(session), ["stopped b2", "r"], "the response does not wait for the list");
  session.receive(status("waiting"));
  assertEquals(typedAt(session, left, 20), "", "the key would stop the turn");
  session.receive(IDLE);
  assertEquals(typedAt(session, left, 8), ESCAPE);
  assertEquals(typedAt(session, left, 7), "", "one key closes the list");
  assertEquals(typedAt(session, left), ESCAPE, "unless it was lost");
  assertEquals(session.delivered, ["go"]);
  assertEquals(typedAt(session, BOX), "");
  assertEquals([session.delivered, outcomes(session)], [["go", "wait"], ["stopped b2", "r"]]);
});

Deno.test("stop_task presses no Escape for a task that is alone", () => {
  const session = withShells({ b1: "one" });
  session.receive(stopTask("b1"), stopTask("b1", "again"));
  typedAt(session, BOX);
  assertEquals(typedAt(session, alone("  Command: one")), STOP);
  assertEquals(typedAt(session, BOX), "", "the second request needs no key");
  assertEquals(outcomes(session).toSorted(), ["again", "r", "stopped b1", "stopped b1"]);
});

Deno.test("stop_task succeeds for ended and unknown tasks", () => {
  const session = withShells({ b1: "one" });
  const { length } = session.typed;
  const content =
    "<task-notification>\n<task-id>b1</task-id>\n<status>completed</status>\n</task-notification>";
  session.receive(line({ type: "queue-operation", operation: "enqueue", content }));
  session.receive(...["b1", "unknown", undefined, 7].map((task) => stopTask(task)));
  assertEquals(session.typed.length, length);
  const error = "stop_task: task_id must be a string";
  assertEquals(outcomes(session), ["r", "r", error, error]);
});

Deno.test("stop_task stops nothing that looks like another task", () => {
  const rows = [
    [list("other", "other", "third"), "does not show it"],
    [list("one", "one", "one"), "calls several so"],
    [alone("  Command: one or two"), "shows another one"],
  ] as const;
  for (const [lines, reason] of rows) {
    const session = withShells({ b1: "one", b2: "one" });
    session.receive(stopTask("b1"));
    typedAt(session, BOX);
    assertEquals(typedAt(session, lines, 9), ESCAPE);
    typedAt(session, BOX);
    assertEquals(outcomes(session), [cannot(`its list of tasks ${reason}`)]);
  }
});

Deno.test("stop_task gives up in time, and closes what it opened", () => {
  const asking = withShells({ b1: "one" });
  asking.receive(status("waiting"));
  const before = asking.typed;
  asking.receive(stopTask("b1"));
  asking.wait(10_000);
  assertEquals(asking.typed, before);
  assertEquals(outcomes(asking), [cannot("it waits for something else")]);
  const stuck = withShells({ b1: "one" });
  stuck.receive(status("waiting"), stopTask("b1"));
  stuck.wait(5000);
  stuck.receive(IDLE);
  stuck.wait(150);
  typedAt(stuck, BOX);
  assertEquals(typedAt(stuck, alone("  Command: one")), STOP);
  const { length } = stuck.typed;
  stuck.wait(7500);
  assertEquals(stuck.typed.slice(length), ESCAPE);
  const opened = withShells({ b1: "one" });
  opened.receive(stopTask("b1"));
  assertEquals(typedAt(opened, DIALOG), "");
  opened.wait(10_000);
  assertEquals(opened.typed, DOWN.repeat(11), "no list was open");
  assertEquals(outcomes(opened), [cannot("its list of tasks does not do as it should")]);
});

Deno.test("stop_task succeeds when the child exits", () => {
  const session = withShells({ b1: "one" });
  session.receive(stopTask("b1"), exit(0));
  assertEquals(outcomes(session), ["r"]);
});

Deno.test("shells run while messages may come, and a while after", () => {
  const session = withShells({ b1: "one" });
  session.wait(3_000_000);
  session.receive(CLOSED);
  session.wait(500_000);
  assertEquals(session.signals, []);
  session.wait(500_000);
  assertEquals(session.signals[0], "SIGTERM tree");
  const stopped = withShells({ b1: "one" });
  stopped.receive(CLOSED, stopTask("b1"));
  for (const lines of [BOX, alone("  Command: one"), BOX]) typedAt(stopped, lines);
  stopped.wait(1);
  assertEquals(stopped.signals[0], "SIGTERM tree", "nothing is left to wait for");
});
