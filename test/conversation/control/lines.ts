import { type Entry, readEntry } from "../../../src/claude/transcript/entry.ts";

/** A line of a transcript, as an input of a session. */
export interface HeardLine {
  readonly type: "transcript";
  readonly entry: Entry;
}

/** A line of which a test gives what matters. */
export function line(fields: Readonly<Record<string, unknown>>): HeardLine {
  return { type: "transcript", entry: readEntry(fields) ?? { type: "other", line: fields } };
}

/** A prompt. */
export const PROMPT: HeardLine = line({ type: "user", message: { content: "hello there" } });

/** The mark of a turn that was stopped. */
export const INTERRUPTED: HeardLine = line({
  type: "user",
  message: { content: "[Request interrupted by user]" },
});

/** The line with which a turn ends. */
export const COMPLETED: HeardLine = line({ type: "system", subtype: "turn_duration" });

/** An answer of one message. */
export function answer(
  content: string | readonly Readonly<Record<string, unknown>>[],
  { id = "m", tokens }: { readonly id?: string; readonly tokens?: number } = {},
): HeardLine {
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
  const usage = tokens === undefined ? {} : { usage: { output_tokens: tokens } };
  return line({ type: "assistant", message: { id, model: "m", content: blocks, ...usage } });
}

/** The calls of some tools. */
export function called(...ids: readonly string[]): HeardLine {
  return answer(ids.map((id) => ({ type: "tool_use", id, name: "Bash", input: {} })));
}

/** The results of some calls. */
export function returned(...ids: readonly string[]): HeardLine {
  const content = ids.map((id) => ({ type: "tool_result", tool_use_id: id }));
  return line({ type: "user", message: { content } });
}

/** A line with the user's words. */
export function userLine(
  content: unknown,
  more: Readonly<Record<string, unknown>> = {},
): HeardLine {
  return line({ type: "user", message: { content }, ...more });
}

/** A line with one call of a tool. */
export function call(id: string, input: unknown, name = "Bash"): HeardLine {
  return answer([{ type: "tool_use", id, name, input }]);
}
