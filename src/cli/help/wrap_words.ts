const WIDTH = 80;

/** Words in lines of at most 80 columns, each behind a margin of `indent` spaces. */
export function wrapWords(
  words: readonly string[],
  { indent }: { readonly indent: number },
): string {
  const margin = " ".repeat(indent);
  return words
    .reduce<readonly string[]>((lines, word) => {
      const line = lines.at(-1);
      return line !== undefined && line.length + 1 + word.length <= WIDTH
        ? [...lines.slice(0, -1), `${line} ${word}`]
        : [...lines, margin + word];
    }, [])
    .join("\n");
}
