import { assertEquals } from "@std/assert";
import { findAllowedOnScreen } from "../../../../src/conversation/protocol/questions/allowed_calls.ts";
import type { ToolCall } from "../../../../src/conversation/protocol/questions/question.ts";
import type { SessionState } from "../../../../src/conversation/control/session_state.ts";
import type { Screen } from "../../../../src/conversation/terminal/screen.ts";
import { renderScreen } from "../../../../src/conversation/terminal/headless_terminal.ts";
import { readDialogRecordings } from "../../terminal/dialog_recording.ts";

/** The calls of the recorded dialogs. */
const CALLS: Readonly<Record<string, Pick<ToolCall, "name" | "input">>> = {
  "permission-bash": {
    name: "Bash",
    input: { command: "touch one.txt", description: "Run a command" },
  },
  "permission-edit": {
    name: "Edit",
    input: { file_path: "/tmp/project/a.txt", old_string: "one", new_string: "three" },
  },
  "permission-mcp-tool": { name: "mcp__alpha__shout", input: { text: "hi" } },
};

const TOUCH: ToolCall = { id: "1", name: "Bash", input: { command: "touch one" }, allowed: true };
const RULE = "─".repeat(80);

function screenOf(...lines: readonly string[]): Screen {
  const all = [...lines, " Do you want to proceed?", " ❯ 1. Yes", "   2. No"];
  return { lines: all, cursor: { row: all.length - 1, col: 2 } };
}

function pick(screen: Screen, ...calls: readonly ToolCall[]): string | undefined {
  return findAllowedOnScreen({ printedCalls: calls } as unknown as SessionState, screen)?.id;
}

for (const [name, call] of Object.entries(CALLS)) {
  Deno.test(`recorded dialog is matched with its call only: ${name}`, async () => {
    for (const { version, size, shown } of readDialogRecordings(name)) {
      const screen = await renderScreen(shown, size);
      const where = `${version} ${size.cols}x${size.rows}`;
      const allowed = { ...call, id: "1", allowed: true } as const;
      assertEquals(pick(screen, allowed), "1", where);
      assertEquals(pick(screen, { ...call, id: "1" }), undefined, where);
      const other = { ...(call.input as object), text: "ho", command: "touch two.txt" };
      assertEquals(pick(screen, { ...allowed, input: other }), undefined, where);
    }
  });
}

Deno.test("call is matched by its whole input", () => {
  const command = 'touch "a │ b"\ncat <<E\n  x\nE';
  const screen = screenOf(
    RULE,
    " Bash command",
    ' │ touch "a │',
    ' │ b"',
    " │ cat <<E",
    " │   x",
    " │ E",
  );
  assertEquals(pick(screen, { ...TOUCH, input: { command } }), "1");
  assertEquals(pick(screen, { ...TOUCH, input: { command: `${command}\nrm one` } }), undefined);
  const nested = { command, edits: [{ text: "rm one" }] };
  assertEquals(pick(screen, { ...TOUCH, input: nested }), undefined);
  const asked = { ...TOUCH, askedWith: JSON.stringify({ command: "touch other" }) };
  assertEquals(pick(screen, { ...asked, input: { command } }), undefined);
});

Deno.test("call of a server's tool is matched by both names", () => {
  const screen = screenOf(RULE, " Tool use", '   alpha - Shout(text: "hi") (MCP)');
  const rows = [["alpha__shout", "1"], ["beta__shout", undefined], ["alpha__say", undefined]];
  for (const [tool, id] of rows) {
    assertEquals(pick(screen, { ...TOUCH, name: `mcp__${tool}`, input: { text: "hi" } }), id);
  }
});

Deno.test("dialog that may be about an undecided call matches nothing", () => {
  const screen = screenOf(RULE, " Bash command", "   rm two # touch one");
  const { allowed: _, ...other } = { ...TOUCH, id: "2", input: { command: "rm two # touch one" } };
  assertEquals(pick(screen, TOUCH, other), undefined);
  assertEquals(pick(screen, TOUCH, { ...other, allowed: true }), "1");
  assertEquals(pick(screen, { ...TOUCH, returned: true }), undefined);
});

Deno.test("call shown in part or altered may match", () => {
  const { allowed: _, ...undecided } = { ...TOUCH, id: "2" };
  const rows = [
    ["rm two # touch one", "rm two\u200b # touch one"],
    ["rm two # touch one", "r\u200bm\u200b two\x1b[0m # touch one"],
    ["rm \u00e9 # touch one", "rm e\u0301 # touch one"],
    ["rm two; touch one …", `rm two; touch one\n${"rm three\n".repeat(99)}`],
    ["\u5220; touch one", "\u5220\ufe00; touch one"],
  ] as const;
  for (const [shown, command] of rows) {
    const screen = screenOf(RULE, " Bash command", `   ${shown}`);
    const other = { ...undecided, input: { command } };
    assertEquals(pick(screen, TOUCH, other), undefined, JSON.stringify(command));
    const asked = { ...TOUCH, askedWith: JSON.stringify({ command }) };
    const allowed = { ...asked, allowedWith: JSON.stringify({ command: "touch one" }) };
    assertEquals(pick(screen, allowed), undefined, JSON.stringify(command));
  }
  const unread = { ...undecided, input: { command: "\u5220\ufe00" } };
  assertEquals(pick(screenOf(RULE, " Bash command", "   touch one"), TOUCH, unread), undefined);
  // A subagent whose prompt quotes the command runs at the same time.
  const screen = screenOf(RULE, " Bash command", "   touch one");
  const beside = [
    { ...undecided, input: { command: "sleep 9" } },
    { ...TOUCH, id: "3", input: { command: "sleep 9 # touch" } },
    { ...undecided, name: "Agent", input: { prompt: "Do this:\ntouch one" } },
  ];
  assertEquals(pick(screen, TOUCH, ...beside), "1");
});

Deno.test("call allowed with another input matches that input only", () => {
  const allowedAs = (asked: string, allowed: string): ToolCall => ({
    ...TOUCH,
    askedWith: JSON.stringify({ command: asked, description: "Run it" }),
    allowedWith: JSON.stringify({ command: allowed, description: "Run it" }),
  });
  const shows = (command: string) => screenOf(RULE, " Bash command", `   ${command}`, "   Run it");
  const rows = [
    ["touch one", "touch two"],
    ["touch one; rm one", "touch one"],
    ["touch one", "touch one --no-create"],
  ] as const;
  for (const [asked, allowed] of rows) {
    const call = allowedAs(asked, allowed);
    assertEquals(pick(shows(allowed), call), "1", allowed);
    assertEquals(pick(shows(asked), call), undefined, `${asked}, which is not allowed`);
    assertEquals(pick(shows("touch three"), call), undefined);
  }
  // The allowed input is a part of the one that was asked about.
  const call = allowedAs("rm y", "y");
  assertEquals(pick(shows("rm y"), call), undefined);
  const { allowed: _, allowedWith: __, ...undecided } = allowedAs("touch two", "");
  const other = { ...undecided, id: "2" };
  assertEquals(pick(shows("touch two"), allowedAs("touch one", "touch two"), other), undefined);
});

Deno.test("call without words may be any dialog's", () => {
  const screen = screenOf(RULE, " Bash command", "   touch one");
  const { allowed: _, ...other } = { ...TOUCH, id: "2", name: "Other", input: { deep: [1] } };
  assertEquals(pick(screen, { ...other, allowed: true }), undefined);
  assertEquals(pick(screen, other, TOUCH), undefined);
});

Deno.test("dialog without its beginning matches nothing", () => {
  assertEquals(pick(screenOf(" Bash command", "   touch one"), TOUCH), undefined);
  // The output of a command is indented.
  const forged = screenOf(" Bash command", "   rm two", `   ${RULE}`, "   touch one");
  assertEquals(pick(forged, TOUCH), undefined);
  assertEquals(pick(screenOf("● Bash(touch one)", RULE, " Bash command"), TOUCH), undefined);
});
