import { caretAtCursor, type Choice, editedAtCursor, readChoices } from "./choices.ts";
import { type Dialog, DIALOGS } from "./dialogs.ts";
import { compactText, type Screen } from "./screen.ts";

/** A rule that Claude Code draws across the screen above every question. */
export const RULE = /^\s*\u2500{10,}\s*$/u;

/**
 * The known dialog on the screen, if any.
 *
 * A dialog is recognised only if its caret is drawn and the cursor is on the caret. So neither an incomplete dialog
 * matches, nor an answer or a command that quotes one. In a choice that accepts text, the cursor is behind the caret. A
 * dialog without a list is recognised by the end of a screen without a list, because a command may quote the dialog's
 * words in the dialog that asks about that command.
 *
 * @param options.when whether the child has reported its status
 */
export function recogniseDialog(
  screen: Screen,
  options: { readonly when: Dialog["when"] },
): Dialog | undefined {
  const caretRow = caretAtCursor(screen);
  const editedRow = editedAtCursor(screen);
  const row = caretRow ?? editedRow ?? screen.lines.length;
  const rule = screen.lines.findLastIndex((line, at) => at < row && RULE.test(line));
  const text = compactText({ ...screen, lines: screen.lines.slice(rule + 1) });
  const choices = readChoices(screen);
  return DIALOGS.find(({ when, words, offers, end, answer }) =>
    when === options.when && words.every((word) => text.includes(word)) &&
    (end === undefined
      ? caretRow !== undefined || (editedRow !== undefined && answer.kind === "decline")
      : choices.length === 0 && text.endsWith(end)) &&
    offers.every((offer) => choices.some((choice) => offer.test(choice.text)))
  );
}

/**
 * The key that moves the caret one step towards the wanted choice, Enter if the caret is there, or the key that answers
 * the dialog at every position of the caret. A choice that accepts text is first opened by Tab and gets the text as a
 * paste.
 *
 * @returns `undefined` if the dialog has no answer, or if the choice or the caret is not on the screen
 */
export function keysFor(dialog: Dialog, choices: readonly Choice[]): string | undefined {
  const { answer } = dialog;
  switch (answer.kind) {
    case "none":
      return undefined;
    case "press":
      return answer.key;
    case "choose":
      return keyTo(answer.choice, choices);
    case "decline": {
      const key = keyTo(DECLINING, choices);
      if (key !== "\r") return key;
      const chosen = choices.find(({ selected }) => selected)?.text;
      if (chosen === "No") return "\t";
      return chosen === WITHOUT_WORDS ? `\x1b[200~${answer.words}\x1b[201~` : key;
    }
    default:
      return answer satisfies never;
  }
}

/** The choice that declines, and its text after Tab has opened it for typing. */
const DECLINING = /^No(?:$|, )/u;
const WITHOUT_WORDS = "No, and tell Claude what to do differently";

/** The arrow key towards a choice, Enter on it; undefined if the choice or the caret is not on the screen. */
function keyTo(choice: RegExp, choices: readonly Choice[]): string | undefined {
  const wanted = choices.findIndex(({ text }) => choice.test(text));
  const caret = choices.findIndex(({ selected }) => selected);
  if (wanted < 0 || caret < 0) return undefined;
  if (wanted === caret) return "\r";
  return wanted > caret ? "\x1b[B" : "\x1b[A";
}

/** The remedy for the dialog of that name; absent for a dialog that this program answers or does not know. */
export function remedyFor(name: string | undefined): string | undefined {
  const { answer, trusting } = DIALOGS.find((dialog) => dialog.name === name) ?? {};
  return answer?.kind === "none" ? answer.remedy : trusting?.remedy;
}
