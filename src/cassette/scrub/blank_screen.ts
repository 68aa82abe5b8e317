import { blankText } from "../../redaction/traces/blank_text.ts";
import { caretAtCursor } from "../../session/terminal/choices.ts";
import { RULE } from "../../session/terminal/recognise_dialog.ts";
import type { Screen } from "../../session/terminal/screen.ts";

/** The rows of a screen without a letter, but for a dialog: a program has to know which it is. */
export function blankScreen(screen: Screen): readonly string[] {
  const caret = caretAtCursor(screen);
  const rule = screen.lines.findLastIndex((line, row) =>
    caret !== undefined && row < caret && RULE.test(line)
  );
  const from = caret === undefined ? Infinity : rule;
  return screen.lines.map((line, row) => row < from ? blankText(line) : line);
}
