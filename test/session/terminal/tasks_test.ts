import { assertEquals } from "@std/assert";
import { hasCommand, isCalled, readTasks } from "../../../src/session/terminal/tasks.ts";

const RULE = "─".repeat(80);

/** A screen whose cursor is in the last row but so many. */
function screen(lines: readonly string[], { above = 0 }: { readonly above?: number } = {}) {
  return { lines, cursor: { row: lines.length - above, col: 1 } };
}

Deno.test("readTasks() reads the list of tasks, and which of them is selected", () => {
  const rows = {
    "2.1.197": ["    sleep 301 (running)", "  ❯ sleep 300 (running)"],
    "2.1.332": [
      "    ● sleep 301   running",
      "  ❯ ● sleep 300   running",
      "      Earlier in this session (0)",
    ],
  };
  const hints = {
    "2.1.197": "  ↑/↓ to select · Enter to view · x to stop · ←/Esc to close",
    "2.1.332": "  ↑/↓ to navigate · x to stop · Enter to view · Esc to close",
  };
  for (const version of ["2.1.197", "2.1.332"] as const) {
    const lines = [
      "❯ An earlier prompt running",
      RULE,
      "  Background",
      "  2 shells",
      "",
      ...rows[version],
      "",
      hints[version],
    ];
    assertEquals(readTasks(screen(lines)), {
      kind: "list",
      rows: [{ text: "sleep301", selected: false }, { text: "sleep300", selected: true }],
    }, version);
  }
  const below = [
    RULE,
    "  Background",
    "    ● sleep 301   running",
    "  ❯   Earlier in this session (0)",
    "  ↑/↓ to navigate · Esc to close",
  ];
  assertEquals(readTasks(screen(below)), {
    kind: "list",
    rows: [{ text: "sleep301", selected: false }, { text: "", selected: true }],
  });
});

Deno.test("readTasks() reads a task that is alone, however long its command is", () => {
  for (
    const hint of [
      "  ← to go back · Esc/Enter/Space to close · x to stop",
      "  ← to go back · x to stop · Enter/Space to close · Esc to close",
    ]
  ) {
    const lines = [
      RULE,
      "  Shell details",
      "  Command:  sleep 300; echo",
      "            end",
      "  Output:",
      hint,
    ];
    assertEquals(readTasks(screen(lines)), {
      kind: "task",
      text: "ShelldetailsCommand:sleep300;echoendOutput:",
    });
  }
});

Deno.test("readTasks() says that the list is offered only where Enter goes to nothing else", () => {
  const box = [RULE, "❯ ", RULE, "  2 shells"];
  assertEquals(readTasks(screen(box)), { kind: "offered" });
  assertEquals(readTasks(screen(box, { above: 2 })), { kind: "none" });
  assertEquals(readTasks(screen([RULE, "❯ draft", RULE, "  2 shells"])), { kind: "none" });
  const dialog = [RULE, "  Do you want to proceed?", "❯ 1. Yes", "  2. No", "  Esc to cancel"];
  assertEquals(readTasks(screen(dialog)), { kind: "none" });
  assertEquals(readTasks(screen([])), { kind: "none" });
});

Deno.test("isCalled() compares with what the screen has room for", () => {
  assertEquals(isCalled("sleep300", "sleep 300"), true);
  assertEquals(isCalled("sleep30", "sleep 300"), false);
  assertEquals(isCalled("sleep30…", "sleep 300; echo"), true);
  assertEquals(isCalled("sleep31…", "sleep 300; echo"), false);
  assertEquals(isCalled("…", "sleep 300"), false);
});

Deno.test("readTasks() reads what subagents do, in the list of all and below the input box", () => {
  const list = [
    RULE,
    "  3 background tasks",
    "    Shells",
    "  ❯ ● sleep 300     running",
    "    Background agents",
    "    ● Other agent   running · Opus 5.5",
    "  ↑/↓ to navigate · x to stop · Enter to view · Esc to close",
  ];
  assertEquals(readTasks(screen(list)), {
    kind: "list",
    rows: [{ text: "sleep300", selected: true }, { text: "Otheragent", selected: false }],
  });
  const below = (hint: string, over = "") => [
    ...[RULE, "❯ ", RULE, hint],
    "  ● main",
    `❯ ◯ general-purpose  Look  around        ${over}8s`,
    "  ◯ general-purpose  Other agent         1m 9s",
    "",
  ];
  const [main, other] = [{ text: "", selected: false }, { text: "Otheragent", selected: false }];
  const rows = (
    text: string,
  ) => ({ kind: "list", rows: [main, { text, selected: true }, other] } as const);
  assertEquals(readTasks(screen(below("  enter to view · x to stop"))), rows("Lookaround"));
  assertEquals(readTasks(screen(below("  Enter to view · x to clear"))), rows(""));
  assertEquals(readTasks(screen(below("  x to stop", "stopped · "))), rows(""));
});

Deno.test("hasCommand() takes no command for a longer one, and a long one by its beginning", () => {
  assertEquals(hasCommand("ShelldetailsCommand:sleep300Output:", "sleep 300"), true);
  assertEquals(hasCommand("ShelldetailsCommand:sleep300Output:", "sleep 30"), false);
  assertEquals(hasCommand("Command:sleep300Output:Command:sleep30", "sleep 30"), false);
  assertEquals(hasCommand("Command:sleep300Output:", ""), false);
  const long = "echo ".repeat(100);
  assertEquals(hasCommand(`Command:${"echo".repeat(60)}…Output`, long), true);
});
