/** Letters and digits, which a blanked text has others for. */
const WRITTEN = /[\p{L}\p{N}]/gu;
/** Letters that take two cells of a terminal. */
const WIDE = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\uff01-\uff60]/u;

/**
 * A text that says nothing any more and takes as much room, in characters, UTF-16 units and cells of a terminal: letters
 * and digits are an x; blanks, punctuation and lines are where they were.
 *
 * It makes of each part of a text what it makes of it in the whole, however the text is cut.
 */
export function blankText(text: string): string {
  return text.replace(
    WRITTEN,
    (letter) => letter.length > 1 ? "xx" : WIDE.test(letter) ? "\uff58" : "x",
  );
}
