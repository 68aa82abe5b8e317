import { assertEquals } from "@std/assert";
import { DIALOGS, keysFor, readChoices, recogniseDialog } from "../../src/session/dialogs.ts";
import type { Screen } from "../../src/session/screen.ts";

const screen = (...lines: readonly string[]): Screen => ({ lines, cursor: { row: 1, col: 1 } });

const TRUST = [
  " Accessing workspace:",
  "",
  " /home/user/w",
  "",
  " Quick safety check: Is this a project you created or one you trust?",
  "",
];

const keysOn = (shown: Screen): string | undefined => {
  const dialog = recogniseDialog(shown);
  return dialog && keysFor(dialog, readChoices(shown));
};

Deno.test("the trust dialog is left with Yes whatever is preselected", () => {
  const yesFirst = screen(...TRUST, " ❯ 1. Yes, I trust this folder", "   2. No, exit", "");
  const noChosen = screen(...TRUST, "   1. Yes, I trust this folder", " ❯ 2. No, exit", "");
  const noFirst = screen(...TRUST, " ❯ No, exit", "   Yes, I trust this folder", "");
  assertEquals(keysOn(yesFirst), "\r");
  assertEquals(keysOn(noChosen), "\x1b[A");
  assertEquals(keysOn(noFirst), "\x1b[B");
});

Deno.test("the trust dialog in its oldest wording and a frame is recognised", () => {
  const shown = screen(
    "╭──────────────────────────────────────────╮",
    "│ Do you trust the files in this folder?   │",
    "│                                          │",
    "│ ❯ 1. Yes, proceed                        │",
    "│   2. No, exit                            │",
    "╰──────────────────────────────────────────╯",
  );
  assertEquals(keysOn(shown), "\r");
});

Deno.test("no key is pressed while the caret is not on the screen", () => {
  assertEquals(
    keysOn(screen(...TRUST, "   1. Yes, I trust this folder", "   2. No, exit")),
    undefined,
  );
});

Deno.test("a login menu has no answer", () => {
  const shown = screen("Select login method:", "", " ❯ 1. Claude account", "   2. Console account");
  assertEquals(recogniseDialog(shown)?.name, "login");
  assertEquals(keysOn(shown), undefined);
});

Deno.test("the input box is no dialog", () => {
  assertEquals(readChoices(screen("────", "❯ hello", "────", "  ? for shortcuts")), []);
  assertEquals(recogniseDialog(screen("────", "❯ hello", "────")), undefined);
});

Deno.test("readChoices() reads an unknown dialog's choices", () => {
  const shown = screen(
    "Something new?",
    "",
    "   Maybe",
    " ❯ Sure",
    "   Never",
    "",
    "Enter to confirm",
  );
  assertEquals(readChoices(shown), [
    { text: "Maybe", selected: false },
    { text: "Sure", selected: true },
    { text: "Never", selected: false },
  ]);
});

Deno.test("every dialog of the table says why", () => {
  for (const { because, words } of DIALOGS) {
    assertEquals(because.length > 0 && words.length > 0, true);
    for (const word of words) assertEquals(word, word.replace(/\s/gu, ""));
  }
});
