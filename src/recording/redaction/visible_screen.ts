import { unseen } from "./name_unseen.ts";
import type { Redactor } from "./redact.ts";

/** Characters that take a cell of a screen and show nothing in it. */
const BLANKS = /[\p{Zs}\u115f\u2800\u3164\uffa0]/gu;

/**
 * A screen as it can be shown to somebody: what the child drew must not reach another terminal as anything but visible
 * text, and tells no keys or tokens.
 */
export function visibleScreen(
  screen: readonly string[],
  { text }: Pick<Redactor, "text">,
): readonly string[] {
  const shown = screen.map((line) => line.replace(BLANKS, " ").replace(unseen(), ""))
    .filter((line) => line.trim() !== "").join("\n");
  return shown === "" ? [] : text(shown).split("\n");
}
