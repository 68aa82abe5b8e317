/** A Markdown file without its fenced blocks, in which nothing is a heading or a link. */
export function withoutBlocks(text: string): string {
  return text.replaceAll(/^ *```.*?^ *```$/gmsu, "");
}
