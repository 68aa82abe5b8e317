/**
 * A text in which nothing but line ends and tabs can move a cursor, colour, reorder or hide anything: other control and
 * format characters are named, as `<U+001B>`.
 */
export function visible(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => character === "\n" || character === "\t" ? character : `<${nameOf(character)}>`,
  );
}

function nameOf(character: string): string {
  const code = character.codePointAt(0) as number;
  return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}
