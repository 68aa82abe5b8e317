import type { Redactor } from "./redact.ts";

/** A picture that is only drawn as one with the selector behind it: there that is no secret. */
const SELECTED_PICTURE = String.raw`(?<=\p{Extended_Pictographic})\ufe0f`;

/**
 * Characters that nobody sees, or that look like a blank, and of which two texts may differ though they look alike, or
 * look otherwise than they are: controls, format characters with the marks that turn the direction of text, fillers,
 * selectors, tags, blanks that are none, halves of surrogate pairs, and what is no character.
 */
const INVISIBLE = String.raw`(?! |${SELECTED_PICTURE})` +
  String.raw`[\p{Cc}\p{Cf}\p{Cs}\p{Z}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}` +
  // A blank of Braille and of music, a filler, and what stands for an object that a text cannot hold.
  String.raw`\u2800\u{1d159}\u{16fe4}\ufffc]`;

let expression: RegExp | undefined;

/** Finds each of them: made once somebody looks for some, because V8 takes 0.6 ms for it. */
export function invisibleCharacters(): RegExp {
  return expression ??= new RegExp(INVISIBLE, "gu");
}

/** Marks that one character bears in any script; a row of more would be drawn over the rows around it. */
const MARKS = /(\p{M}{8})(\p{M}+)/gu;

/**
 * A text in which all that nobody sees is named, as `<U+001B>`, so that it can neither drive a terminal nor hide, and
 * in which marks do not pile up.
 *
 * @param options.keep characters that stay as they are nonetheless
 */
export function escapeInvisible(
  text: string,
  { keep = "" }: { readonly keep?: string } = {},
): string {
  return text.replace(
    invisibleCharacters(),
    (character) => keep.includes(character) ? character : nameOf(character),
  )
    .replace(MARKS, (_, kept: string, more: string) => `${kept}<${Array.from(more).length} marks>`);
}

function nameOf(character: string): string {
  const code = character.codePointAt(0) as number;
  return `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
}

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
  const shown = screen.map((line) => line.replace(BLANKS, " ").replace(invisibleCharacters(), ""))
    .filter((line) => line.trim() !== "").join("\n");
  return shown === "" ? [] : text(shown).split("\n");
}
