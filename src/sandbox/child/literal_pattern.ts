/**
 * A path as it stands in a pattern of Claude Code's rules. What is special in one stands for any one character there: a
 * backslash before it was seen to make Claude Code refuse every file.
 */
export function literalPattern(path: string): string {
  return path.replace(/[\\*?[\]]/gu, "?").replace(/[()]/gu, "\\$&");
}
