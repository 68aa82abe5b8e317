import { assert, assertEquals, assertMatch } from "@std/assert";
import xterm from "@xterm/headless";
import { renderScreen, screenOf } from "../../../src/conversation/terminal/headless_terminal.ts";
import { readChoices } from "../../../src/conversation/terminal/choices.ts";
import { type Dialog, DIALOGS } from "../../../src/conversation/terminal/dialogs.ts";
import {
  keysFor,
  recogniseDialog,
  remedyFor,
} from "../../../src/conversation/terminal/recognise_dialog.ts";
import type { Screen } from "../../../src/conversation/terminal/screen.ts";
import { screen as drawn } from "../control/inputs.ts";
import { type DialogRecording, readDialogRecordings } from "./dialog_recording.ts";

const CARET = "❯";
const UP = "\x1b[A";
const DOWN = "\x1b[B";
const ENTER = "\r";
const ESCAPE = "\x1b";

/** One dialog as it stands: its name, its list with the caret, and the key that is pressed, if any. */
type Stage = readonly [name: string, list: readonly string[], key?: string];

/** The stages of a dialog whose caret moves from the first of two choices to the second, or back up to the first. */
function moving(name: string, first: string, second: string, key = DOWN): readonly Stage[] {
  const stages: readonly Stage[] = [
    [name, [`❯ ${first}`, second], key === DOWN ? DOWN : ENTER],
    [name, [first, `❯ ${second}`], key === DOWN ? ENTER : UP],
  ];
  return key === DOWN ? stages : stages.toReversed();
}

const TRUST_STAGES = moving("workspace trust", "No, exit", "Yes, I trust this folder");
const KEY = moving("API key", "Yes", "No (recommended)", UP);
const BYPASS = moving("bypass permissions", "No, exit", "Yes, I accept");
const INCLUDES: Stage = [
  "external includes",
  ["❯ No, disable external imports", "Yes, allow external imports"],
  ENTER,
];
const FIXES = ["Fix with Claude", "Exit and fix manually", "Continue without these settings"];
const BROKEN: readonly Stage[] = FIXES.map((_, at) => [
  "settings error",
  FIXES.map((choice, place) => place === at ? `❯ ${choice}` : choice),
  at < 2 ? DOWN : ENTER,
]);
const REASON = DIALOGS.map(({ answer }) =>
  answer.kind === "decline" ? `\x1b[200~${answer.words}\x1b[201~` : ""
).join("");
const PLAN: Stage = [
  "plan approval",
  ["❯ Yes, and use auto mode", "Yes, manually approve edits", "Tell Claude what to change"],
  ESCAPE,
];
const THEMES = [
  "Light mode",
  "Dark mode (colorblind-friendly)",
  "Light mode (colorblind-friendly)",
  "Dark mode (ANSI colors only)",
  "Light mode (ANSI colors only)",
] as const;

function permission(...list: readonly string[]): Stage {
  return ["permission", list, ESCAPE];
}

const BASH = permission(
  "❯ Yes",
  "Yes, and always allow access to /tmp/project from this project",
  "Yes, and switch to auto mode",
  "No",
);

/** The stages of each recording, between the keys that were typed. A choice may be longer than here. */
const RECORDED: Readonly<Record<string, readonly Stage[]>> = {
  "workspace-trust": TRUST_STAGES,
  "workspace-trust-warnings": TRUST_STAGES,
  "added-directory": moving("added directory", "No, exit", "Yes, add it"),
  "bypass-permissions": BYPASS,
  "api-key": KEY,
  "external-includes": [INCLUDES],
  "settings-error": BROKEN,
  "settings-warning": [
    ["settings warning", ["❯ Continue", "Fix with Claude", "Exit and fix manually"], ENTER],
  ],
  "auto-mode-unchecked": [["auto mode without its check", [], ENTER]],
  "unchecked-action": [
    ["unchecked action", ["❯ No", "Yes"], "\t"],
    ["unchecked action", ["❯ No, and tell Claude what to do differently", "Yes"], REASON],
    ["unchecked action", ["❯ No, Nobody can be asked", "Yes"], ENTER],
  ],
  "permission-bash": [BASH],
  "permission-after-quote": [BASH],
  "permission-bash-long": [
    permission(
      "❯ Yes",
      "Yes, and don't ask again for touch file-1, touch file-2, touch file-3,",
      "Yes, and switch to auto mode",
      "No",
    ),
  ],
  "permission-edit": [
    permission(
      "❯ Yes",
      "Yes, and switch to accept edits (auto-approve file edits and common file",
      "No",
    ),
  ],
  "permission-mcp-tool": [
    permission("❯ Yes", "Yes, and don't ask again for alpha — Shout commands", "No"),
  ],
  "permission-webfetch": [
    permission(
      "❯ Yes",
      "Yes, and don't ask again for example.com",
      "No, and tell Claude what to do differently (esc)",
    ),
  ],
  "plan-approval": [PLAN],
  "plan-exit": [["plan approval", ["❯ Yes, and switch to default", "No"], ESCAPE]],
  "question": [["question", ["❯ Red", "Blue", "Type something."], ESCAPE]],
  "question-several": [["question", ["❯ [ ] Red", "[ ] Blue", "[ ] Type something"], ESCAPE]],
  "theme": [["first start", ["❯ Auto (match terminal)", "Dark mode", ...THEMES]]],
  "login": [["login", [
    "❯ Claude account with subscription",
    "Anthropic Console account",
    "3rd-party platform",
  ]]],
  "mcp-server": [["MCP server approval", [
    "Use this MCP server",
    "Use this and all future MCP servers in this project",
    "❯ Continue without using this MCP server",
  ]]],
  "mcp-servers": [["MCP server approval", [
    "❯ [✔] alpha",
    "[✔] beta",
    "[✔] gamma",
    "[✔] delta",
    "[✔] epsilon",
  ]]],
  "configuration-error": [["configuration error", [
    "❯ Exit and fix manually",
    "Reset to default configuration",
  ]]],
  // 2.1.332 has the text, but a rate limit did not bring it up there: this is the screen of 2.1.197.
  "rate-limit": [["rate limit", ["❯ Stop and wait for limit to reset", "Upgrade your plan"]]],
  "model-switch": [["model switch", ["❯ Yes, switch to Haiku", "No, go back"]]],
  "one-after-the-other": [...TRUST_STAGES, INCLUDES, ...KEY, ...BYPASS, ...BROKEN],
  "answer": [],
  "answer-quoting": [],
  "prompt-quoting": [],
  "spinner": [],
};

/** The dialog on a screen, at the start or later; a screen is never two. */
function dialogOn(screen: Screen): Dialog | undefined {
  const dialogs = (["start", "later"] as const)
    .map((when) => recogniseDialog(screen, { when }))
    .filter((dialog) => dialog !== undefined);
  assert(dialogs.length <= 1, dialogs.map(({ name }) => name).join());
  return dialogs[0];
}

function keyOn(screen: Screen): string | undefined {
  const dialog = dialogOn(screen);
  return dialog && keysFor(dialog, readChoices(screen));
}

/** The escape sequences and characters of an output: the screen changes only between them. */
function symbols(bytes: Uint8Array): readonly string[] {
  // deno-lint-ignore no-control-regex
  const symbol = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[^\[\]])?|[^\x1b]/gsu;
  return new TextDecoder().decode(bytes).match(symbol) ?? [];
}

/** Draws a recording symbol by symbol; returns the keys that a screen in between leads to, unless a stage wants them. */
async function unwantedKeys({ shown, size }: DialogRecording, stages: readonly Stage[]) {
  const terminal = new xterm.Terminal({ ...size, allowProposedApi: true, scrollback: 0 });
  const { active } = terminal.buffer;
  const unwanted: string[] = [];
  for (const [index, bytes] of shown.entries()) {
    // A key is typed while its dialog still stands.
    const expected = [stages[index - 1], stages[index]];
    for (const symbol of symbols(bytes)) {
      terminal.write(symbol, () => {
        const row = active.getLine(active.baseY + active.cursorY);
        // Without the cursor on a caret nothing is a dialog, as a test below shows.
        if (row?.getCell(active.cursorX)?.getChars() !== CARET) return;
        const screen = screenOf(terminal);
        const [name, key] = [dialogOn(screen)?.name, keyOn(screen)];
        if (key === undefined) return;
        if (expected.some((each) => each?.[0] === name && each?.[2] === key)) return;
        unwanted.push(`${JSON.stringify(key)} on\n${screen.lines.join("\n")}`);
      });
    }
  }
  await new Promise<void>((done) => terminal.write("", done));
  terminal.dispose();
  return unwanted;
}

for (const [name, stages] of Object.entries(RECORDED)) {
  Deno.test(`recorded screens lead to the right keys: ${name}`, async () => {
    for (const recording of readDialogRecordings(name)) {
      const { shown, size, typed, version } = recording;
      for (const index of shown.keys()) {
        const screen = await renderScreen(shown.slice(0, index + 1), size);
        const where = `${version} at ${size.cols} columns, screen ${index + 1}`;
        const [dialog, list = [], key] = stages[index] ?? [];
        assertEquals(dialogOn(screen)?.name, dialog, where);
        assertEquals(keyOn(screen), key, where);
        const choices = readChoices(screen)
          .map(({ text, selected }) => selected ? `${CARET} ${text}` : text);
        assertEquals(choices.map((text, at) => text.slice(0, list[at]?.length)), list, where);
      }
      for (const [index, key] of typed.entries()) assertEquals(key, stages[index]?.[2]);
      // The order of drawing depends on no width.
      if (size.cols === 80) assertEquals(await unwantedKeys(recording, stages), []);
    }
  });
}

Deno.test("recorded screen is the same however its bytes are cut", async () => {
  for (const { shown, size } of readDialogRecordings("one-after-the-other").slice(0, 1)) {
    const cut = shown.flatMap((bytes) => Array.from(bytes, (byte) => Uint8Array.of(byte)));
    assertEquals(await renderScreen(cut, size), await renderScreen(shown, size));
  }
});

Deno.test("readChoices() reads rows of any length", () => {
  const lines = [`${" ".repeat(500_000)}x`, "❯ 1. Yes", `  2. No ${"─".repeat(500_000)}x`];
  const choices = readChoices({ lines, cursor: { row: 2, col: 1 } });
  assertEquals(choices.map(({ text }) => text.slice(0, 3)), ["Yes", "No "]);
});

Deno.test("each dialog has a recording, each recording is tested", () => {
  const recorded = new Set(Object.values(RECORDED).flat().map(([name]) => name));
  assertEquals([...recorded].sort(), [...new Set(DIALOGS.map(({ name }) => name))].sort());
  const folder = new URL("../../../fixtures/recordings/dialogs", import.meta.url);
  const files = [...Deno.readDirSync(folder)].map((file) => file.name.replace(/\.jsonl$/u, ""));
  assertEquals(files.sort(), Object.keys(RECORDED).sort());
  for (const name of files) {
    const seen = readDialogRecordings(name).map(({ size }) => size.cols);
    // Only the smallest screen cannot hold a long command.
    const wanted = [80, 120, 220].slice(0, name === "permission-bash-long" ? 1 : 3);
    assertEquals(seen, wanted, name);
  }
});

const TRUST = [
  " Quick safety check: Is this a project you created or one you trust?",
  "",
  " Security guide",
  "",
] as const;

Deno.test("dialog has the cursor on its caret", () => {
  const lines = [...TRUST, " ❯ Yes, I trust this folder", "   No, exit"];
  assertEquals(keyOn(drawn(lines)), ENTER);
  for (const [row, line] of lines.entries()) {
    for (let col = 0; col <= line.length; col++) {
      if (line[col] === CARET) continue;
      assertEquals(dialogOn(drawn(lines, { row: row + 1, col: col + 1 })), undefined);
    }
  }
});

Deno.test("list with two carets is still being drawn", () => {
  const lines = [...TRUST, " ❯ Yes, I trust this folder", " ❯ No, exit"];
  for (const row of [TRUST.length + 1, TRUST.length + 2]) {
    const screen = drawn(lines, { row, col: 2 });
    assertEquals(readChoices(screen), []);
    assertEquals(keyOn(screen), undefined);
  }
});

Deno.test("words above the rule do not name the dialog", () => {
  const prompt = [" Do you want to proceed?", " ❯ 1. Yes", "   2. No (recommended)"];
  const words = "Do you want to use this API key?";
  const rule = "─".repeat(80);
  assertEquals(dialogOn(drawn([words, rule, ...prompt])), undefined);
  assertEquals(dialogOn(drawn([rule, words, "", ...prompt]))?.name, "API key");
});

Deno.test("choice must match to its end", () => {
  const screen = drawn([
    ...TRUST,
    " ❯ Yes, I trust this folder and all others",
    "   Yes, I trust this folder",
    "   No, exit",
  ]);
  assertEquals(keyOn(screen), DOWN);
  const only = drawn([...TRUST, " ❯ Yes, I trust this folder and all others", "   No, exit"]);
  assertEquals(dialogOn(only), undefined);
});

Deno.test("caret above another caret is text", () => {
  const quoted = [...TRUST, " ❯ Yes, I trust this folder", "   No, exit"];
  const cursor = { row: TRUST.length + 1, col: 2 };
  assertEquals(keyOn(drawn(quoted, cursor)), ENTER);
  assertEquals(keyOn(drawn([...quoted, "", "❯ "], cursor)), undefined);
});

Deno.test("after the start Enter answers only dialogs of one call", () => {
  const screen = drawn([...TRUST, " ❯ Yes, I trust this folder", "   No, exit"]);
  assertEquals(recogniseDialog(screen, { when: "later" }), undefined);
  for (const { name, when, answer, alone } of DIALOGS) {
    const enters = answer.kind === "decline" || (answer.kind === "press" && answer.key === ENTER);
    if (when === "later") assert(answer.kind !== "choose" && (!enters || alone), name);
  }
});

Deno.test("input box is no dialog", () => {
  const box = drawn(["────", "❯ hello", "────", "  ? for shortcuts"]);
  assertEquals(readChoices(box), []);
  assertEquals(dialogOn(box), undefined);
});

Deno.test("readChoices() reads an unknown list, wherever the cursor is", () => {
  const lines = ["Something new?", "", "   Maybe", " ❯ Sure", "   Never", "", "Enter to confirm"];
  for (const cursor of [undefined, { row: 1, col: 1 }]) {
    assertEquals(readChoices(drawn(lines, cursor)), [
      { text: "Maybe", selected: false },
      { text: "Sure", selected: true },
      { text: "Never", selected: false },
    ]);
  }
});

Deno.test("readChoices() skips rows between the choices", () => {
  const screen = drawn([
    " Which one?",
    " ❯ 1. The first of them, whose words are many and go on",
    "      in the next row",
    "   Its description",
    "   2. The second",
    " ↑ 12 more lines",
  ]);
  assertEquals(readChoices(screen).map(({ text }) => text), [
    "The first of them, whose words are many and go on",
    "The second",
  ]);
});

Deno.test("readChoices() reads framed and scrolling lists", () => {
  const framed = drawn(["╭────────╮", "│ ❯ Yes  │", "│   No   │", "╰────────╯"]);
  assertEquals(readChoices(framed).map(({ text }) => text), ["Yes", "No"]);
  const scrolled = drawn([" ↑ [✔] b", "   [✔] c", " ❯ [✔] d", " ↓ [✔] e"]);
  assertEquals(readChoices(scrolled).map(({ text }) => text), ["[✔] b", "[✔] c", "[✔] d", "[✔] e"]);
});

Deno.test("each dialog has an answer or a remedy", () => {
  for (const { name, answer, offers, words, end, trusting } of DIALOGS) {
    assert(words.length > 0 && (offers.length > 0 || end !== undefined), name);
    for (const word of words) assertEquals(word, word.replace(/\s/gu, ""));
    // Of two choices that begin alike only the one that is meant may be taken.
    for (const { source } of offers) assertMatch(source, /^\^/u);
    if (answer.kind === "choose") assertMatch(answer.choice.source, /^\^.*\$$/u);
    const remedy = answer.kind === "none" ? answer.remedy : trusting?.remedy;
    if (remedy !== undefined) assertMatch(remedy, /^[A-Z][^\n]*[^.\n]$/u);
    assertEquals(remedyFor(name), remedy);
  }
  assertEquals(remedyFor(undefined), undefined);
});
