import { type Entry, readEntry } from "../../../src/claude/transcript/entry.ts";

/** A line of a transcript, or a block of its content. */
export type Line = Readonly<Record<string, unknown>>;

const START = Date.UTC(2026, 0, 1);

/** The time of a line, in milliseconds after the start of 2026. */
export const at = (ms: number) => ({ timestamp: new Date(START + ms).toISOString() });

/** The entry of a line. */
export const entryOf = (line: Line): Entry => readEntry(line) ?? { type: "other", line };

/** A line of the user: a prompt, unless its fields say otherwise. */
export const prompt = (content: unknown = "Hi", more: Line = {}) => ({
  type: "user",
  uuid: "p",
  message: { role: "user", content },
  ...more,
});

/** A line of an answer. */
export const answer = (content: readonly Line[], id = "m", more: Line = {}) => ({
  type: "assistant",
  message: { id, model: "m", content },
  ...more,
});

/** An answer of one text, whose id is the text. */
export const text = (text: string, more: Line = {}) => answer([{ type: "text", text }], text, more);

/** The call of a tool. */
export const call = (id: string, name = "Bash", input: Line = { command: "x" }, more: Line = {}) =>
  answer([{ type: "tool_use", id, name, input }], `m-${id}`, more);

/** What a call gave: the block for the model, and what else Claude Code notes. */
export const result = (id: string, toolUseResult?: unknown, block: Line = {}) => ({
  type: "user",
  ...(toolUseResult === undefined ? {} : { toolUseResult }),
  message: {
    role: "user",
    content: [{ type: "tool_result", tool_use_id: id, content: "done", ...block }],
  },
});

/** Something that Claude Code attaches. */
export const attached = (type: string, attachment: Line = {}, more: Line = {}) => ({
  type: "attachment",
  attachment: { type, ...attachment },
  ...more,
});

/** The first request of the session, which is the last line that describes it. */
export const REQUEST = { type: "api-request", querySource: "repl_main_thread", shapeHash: "h" };

/** The line with which a turn ends. */
export const OVER = { type: "system", subtype: "turn_duration" };

/** The end of a task, as the model is told of it. */
export const notification = (task: string, status = "completed", more = "") =>
  `<task-notification>\n<task-id>${task}</task-id>\n<status>${status}</status>\n${more}</task-notification>`;

/** The end of a task, as Claude Code notes it. */
export const notice = (task: string, status = "completed", more = "") => ({
  type: "queue-operation",
  operation: "enqueue",
  content: notification(task, status, more),
});
