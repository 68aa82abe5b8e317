/** A value as JSON on one line, without the two separators that some readers of lines take for the end of one. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}
