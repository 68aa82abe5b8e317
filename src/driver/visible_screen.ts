import type { Redactor } from "./redact.ts";

/**
 * A screen as it can be shown to somebody: what the child drew must not reach another terminal as anything but visible
 * text, and tells no keys or tokens.
 */
export function visibleScreen(
  screen: readonly string[],
  { text }: Pick<Redactor, "text">,
): readonly string[] {
  const shown = screen.map((line) => line.replace(/[\p{Cc}\p{Cf}]/gu, ""))
    .filter((line) => line.trim() !== "").join("\n");
  return shown === "" ? [] : text(shown).split("\n");
}
