import type { Redactor } from "./redact.ts";

/** A picture that needs the variation selector after it to be drawn as one. That selector is harmless. */
const SELECTED_PICTURE = String.raw`(?<=\p{Extended_Pictographic})\ufe0f`;

/**
 * Characters that are invisible or look like a blank. They can make two different texts look equal, or one text look
 * different: controls, format characters such as direction marks, fillers, selectors, tags, unusual blanks, lone
 * surrogates and noncharacters.
 */
const INVISIBLE = String.raw`(?! |${SELECTED_PICTURE})` +
  String.raw`[\p{Cc}\p{Cf}\p{Cs}\p{Z}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}` +
  // Blanks of Braille and musical notation, a filler, and the object replacement character.
  String.raw`\u2800\u{1d159}\u{16fe4}\ufffc]`;

let expression: RegExp | undefined;

/** Matches each invisible character. Compiled on first use, because V8 takes 0.6 ms for it. */
export function invisibleCharacters(): RegExp {
  return expression ??= new RegExp(INVISIBLE, "gu");
}

/** Combining marks after the eighth. No script uses more, and longer stacks cover the rows above and below. */
const MARKS = /(\p{M}{8})(\p{M}+)/gu;

/**
 * Writes invisible characters as `<U+001B>`, so that a text cannot control a terminal or hide anything. Stacks of
 * combining marks are cut.
 *
 * @param options.keep characters that are not replaced
 */
export function escapeInvisible(
  text: string,
  { keep = "" }: { readonly keep?: string } = {},
): string {
  return text.replace(
    invisibleCharacters(),
    (character) => keep.includes(character) ? character : escapeCharacter(character),
  )
    .replace(MARKS, (_, kept: string, more: string) => `${kept}<${Array.from(more).length} marks>`);
}

function escapeCharacter(character: string): string {
  const code = character.codePointAt(0) as number;
  return `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
}

/** Characters that fill a cell of a screen and show nothing. */
const BLANKS = /[\p{Zs}\u115f\u2800\u3164\uffa0]/gu;

/**
 * Returns a screen that is safe to show: without control characters, empty rows and secrets. The child's output must
 * reach another terminal only as visible text.
 */
export function visibleScreen(
  screen: readonly string[],
  { text }: Pick<Redactor, "text">,
): readonly string[] {
  const shown = screen.map((line) => line.replace(BLANKS, " ").replace(invisibleCharacters(), ""))
    .filter((line) => line.trim() !== "").join("\n");
  return shown === "" ? [] : text(shown).split("\n");
}
