import { caretAtCursor, type Choice, readChoices } from "./choices.ts";
import { type Dialog, DIALOGS } from "./dialogs.ts";
import { compactText, type Screen } from "./screen.ts";

/** A rule as Claude Code draws it across the screen above everything that asks. */
export const RULE = /^\s*\u2500{10,}\s*$/u;

/**
 * The known dialog on the screen, if any.
 *
 * Only one that is drawn as far as its caret, with the cursor on it, is recognised: so neither a dialog that is still
 * being drawn nor an answer or a command that quotes one is taken for it.
 *
 * @param options.when whether the child has told its status yet
 */
export function recogniseDialog(
  screen: Screen,
  options: { readonly when: Dialog["when"] },
): Dialog | undefined {
  const caretRow = caretAtCursor(screen);
  if (caretRow === undefined) return undefined;
  const rule = screen.lines.findLastIndex((line, row) => row < caretRow && RULE.test(line));
  const text = compactText({ ...screen, lines: screen.lines.slice(rule + 1) });
  const choices = readChoices(screen);
  return DIALOGS.find(({ when, words, offers }) =>
    when === options.when && words.every((word) => text.includes(word)) &&
    offers.every((offer) => choices.some((choice) => offer.test(choice.text)))
  );
}

/**
 * The key that brings the caret one step nearer to the wanted choice, Enter when it is there, or the one key that
 * answers the dialog wherever the caret stands.
 *
 * @returns `undefined` when the dialog has no answer, or when the choice or the caret is not on the screen
 */
export function keysFor(dialog: Dialog, choices: readonly Choice[]): string | undefined {
  const { answer } = dialog;
  switch (answer.kind) {
    case "none":
      return undefined;
    case "press":
      return answer.key;
    case "choose": {
      const wanted = choices.findIndex(({ text }) => answer.choice.test(text));
      const caret = choices.findIndex(({ selected }) => selected);
      if (wanted < 0 || caret < 0) return undefined;
      if (wanted === caret) return "\r";
      return wanted > caret ? "\x1b[B" : "\x1b[A";
    }
    default:
      return answer satisfies never;
  }
}

/** What the user can do about the dialog of that name; absent for one that this program answers or does not know. */
export function remedyFor(name: string | undefined): string | undefined {
  const { answer, trusting } = DIALOGS.find((dialog) => dialog.name === name) ?? {};
  return answer?.kind === "none" ? answer.remedy : trusting?.remedy;
}
