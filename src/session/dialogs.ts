import { compactText, type Screen } from "./screen.ts";

/** One choice of a dialog as it stands on the screen. */
export interface Choice {
  /** The choice's words without caret, number and frame. */
  readonly text: string;
  /** Whether the caret stands on it. */
  readonly selected: boolean;
}

/** A screen that waits for a choice, and what this program does about it. */
export interface Dialog {
  readonly name: string;
  /** Pieces of its text, white space removed, that must all be on the screen. */
  readonly words: readonly string[];
  /** The choice to take; absent when the dialog has no answer this program may give. */
  readonly choose?: RegExp;
  /** Why taking that choice is safe, or what the user has to do when there is none. */
  readonly because: string;
}

/**
 * The dialogs this program knows, first match wins.
 *
 * The seeded configuration keeps all of them away; they are here for the day it does not. A choice is taken
 * only with the caret seen on it, because the preselected one changes between versions: 2.1.330 preselects
 * "No, exit" where 2.1.168 and 2.1.197 preselect "Yes".
 */
export const DIALOGS: readonly Dialog[] = [
  {
    name: "workspace trust",
    words: ["trustthisfolder"],
    choose: /^yes\b/iu,
    because: "`claude -p` works in the folder without asking",
  },
  {
    name: "workspace trust",
    words: ["Doyoutrustthefiles"],
    choose: /^yes\b/iu,
    because: "`claude -p` works in the folder without asking",
  },
  {
    name: "added directory",
    words: ["Addinganewdirectory", "Yes,addit"],
    choose: /^yes\b/iu,
    because: "the caller named the directory with --add-dir",
  },
  {
    name: "bypass permissions",
    words: ["BypassPermissionsmode", "Yes,Iaccept"],
    choose: /^yes\b/iu,
    because: "the caller asked for it with --dangerously-skip-permissions",
  },
  {
    name: "external includes",
    words: ["AllowexternalCLAUDE.mdfileimports"],
    choose: /^no\b/iu,
    because: "`claude -p` leaves them out",
  },
  {
    name: "settings error",
    words: ["SettingsError", "Continuewithoutthesesettings"],
    choose: /^continue without/iu,
    because: "`claude -p` skips a broken settings file too",
  },
  {
    name: "settings warning",
    words: ["SettingsWarning", "Continue"],
    choose: /^continue\b/iu,
    because: "`claude -p` goes on after a settings warning too",
  },
  {
    name: "login",
    words: ["Selectloginmethod"],
    because: "log in with: claude /login",
  },
];

const CARET = "\u276f";
const FRAME = /^[\s\u2500-\u257f|]+|[\s\u2500-\u257f|]+$/gu;

/**
 * The choices of the list that the caret stands in, top to bottom; empty when there is no such list.
 *
 * A prompt line (`❯ ` with the user's text) is a list of one and no dialog.
 */
export function readChoices(screen: Screen): readonly Choice[] {
  const rows = screen.lines.map((line) => line.replace(FRAME, ""));
  const caretRow = rows.findLastIndex((row) => row.startsWith(CARET));
  if (caretRow < 0) return [];
  let first = caretRow;
  while (first > 0 && rows[first - 1] !== "") first--;
  let last = caretRow;
  while (last + 1 < rows.length && rows[last + 1] !== "") last++;
  // What stands above the list without a gap is a question, not a choice: choices share the caret row's column.
  const column = textColumn(screen.lines[caretRow] ?? "");
  const choices: Choice[] = [];
  for (let row = first; row <= last; row++) {
    if (textColumn(screen.lines[row] ?? "") !== column) continue;
    const text = (rows[row] ?? "").replace(/^\u276f\s*/u, "").replace(/^\d+[.)]\s*/u, "");
    choices.push({ text, selected: row === caretRow });
  }
  return choices.length > 1 ? choices : [];
}

/** The column in which a row's words begin, caret and frame aside. */
function textColumn(line: string): number {
  return line.length - line.replace(/^[\s\u2500-\u257f|]*(?:\u276f\s*)?/u, "").length;
}

/** The known dialog on the screen, if any. */
export function recogniseDialog(screen: Screen): Dialog | undefined {
  const text = compactText(screen);
  return DIALOGS.find(({ words }) => words.every((word) => text.includes(word)));
}

/**
 * The keys that bring the caret one step nearer to the wanted choice, or press Enter when it is there.
 *
 * @returns `undefined` when the choice or the caret is not on the screen
 */
export function keysFor(dialog: Dialog, choices: readonly Choice[]): string | undefined {
  const { choose } = dialog;
  if (choose === undefined) return undefined;
  const wanted = choices.findIndex(({ text }) => choose.test(text));
  const caret = choices.findIndex(({ selected }) => selected);
  if (wanted < 0 || caret < 0) return undefined;
  if (wanted === caret) return "\r";
  return wanted > caret ? "\x1b[B" : "\x1b[A";
}
