import { blankText } from "./blank_text.ts";

/**
 * A text that says nothing any more but what a pattern finds in it.
 *
 * @param kept a global pattern
 * @param keep what becomes of what is found: nothing by default
 */
export function blankBetween(
  text: string,
  kept: RegExp,
  keep: (found: string) => string = (found) => found,
): string {
  let blanked = "";
  let from = 0;
  for (const { 0: found, index } of text.matchAll(kept)) {
    blanked += blankText(text.slice(from, index)) + keep(found);
    from = index + found.length;
  }
  return blanked + blankText(text.slice(from));
}
