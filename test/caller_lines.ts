/** Flags of a run that prints its result as JSON. */
export const JSON_FORMAT: readonly string[] = ["--output-format", "json"];

/** Flags of a run that prints frames. */
export const STREAM_FORMAT: readonly string[] = ["--output-format", "stream-json", "--verbose"];

/** Flags of a conversation on stdin and stdout. */
export const CONVERSATION: readonly string[] = [
  ...["--input-format", "stream-json", ...STREAM_FORMAT],
];

/** A message of the caller, as `claude -p` reads it from stdin. */
export function userMessage(
  content: unknown,
  more: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  return { type: "user", message: { role: "user", content }, ...more };
}

/** The text of objects on stdin, one a line. */
export function callerLines(lines: readonly unknown[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}
