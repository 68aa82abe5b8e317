/**
 * A path as a pattern of Claude Code's rules. Each special character becomes a `?`: a backslash before it made 2.1.197
 * refuse every file.
 */
export function literalPattern(path: string): string {
  return path.replace(/[\\*?[\]]/gu, "?").replace(/[()]/gu, "\\$&");
}
