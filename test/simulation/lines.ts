import type { JsonObject } from "../../src/json_object.ts";
import { type Entry, readEntry } from "../../src/claude/transcript/entry.ts";

/** The version that is simulated. */
export const VERSION = "2.1.332";

/** When a simulated child starts, in milliseconds since the epoch. */
export const EPOCH = Date.UTC(2026, 10, 1);

/** The session that is simulated. */
export const SESSION = "5f2b4a52-8d0c-4f0e-9a43-8a6d1f0e7b11";

/** What a simulated model is called. */
export const MODEL = "claude-opus-5-5";

/** Makes the lines of one transcript, which name each other and have the time in them. */
export class LineMaker {
  #made = 0;
  #parent: string | null = null;
  readonly #prefix: string;

  /** @param prefix what the ids of its lines begin with */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** The id of the last line that is a part of the conversation. */
  get last(): string | null {
    return this.#parent;
  }

  /** A line that is a part of the conversation. */
  line(clock: number, fields: JsonObject): Entry {
    const uuid = `${this.#prefix}${`${++this.#made}`.padStart(11, "0")}`;
    const parentUuid = this.#parent;
    this.#parent = uuid;
    return this.note({
      ...{ parentUuid, isSidechain: false, uuid, timestamp: timeOf(clock) },
      ...{ sessionId: SESSION, version: VERSION, cwd: "/w", entrypoint: "cli" },
      ...fields,
    });
  }

  /** A line about the session. */
  note(fields: JsonObject): Entry {
    return readEntry(fields) ?? { type: "other", line: fields };
  }
}

/** What the machine's clock says, in milliseconds since the epoch, as lines have it. */
export function timeOf(clock: number): string {
  return new Date(clock).toISOString();
}

/** The fields of a prompt's line. */
export function promptFields(content: string, origin = "human"): JsonObject {
  return { type: "user", message: { role: "user", content }, origin: { kind: origin } };
}

/** The fields of a line with one block of an answer. */
export function answerFields(
  id: string,
  block: JsonObject,
  stopReason: string | null,
  model = MODEL,
): JsonObject {
  const usage = { input_tokens: 3, output_tokens: 5 };
  const message = { id, type: "message", role: "assistant", model, content: [block] };
  return {
    type: "assistant",
    message: { ...message, stop_reason: stopReason, stop_sequence: null, usage },
    requestId: `req-${id}`,
  };
}

/** The fields of a line with the result of a call. */
export function resultFields(
  id: string,
  content: unknown,
  { isError = false, ...more }: JsonObject = {},
): JsonObject {
  const block = { type: "tool_result", tool_use_id: id, content, is_error: isError };
  return { type: "user", message: { role: "user", content: [block] }, ...more };
}

/** The fields of the line that says that a turn was interrupted. */
export function interruptedFields(isForTool: boolean): JsonObject {
  const text = `[Request interrupted by user${isForTool ? " for tool use" : ""}]`;
  return { type: "user", message: { role: "user", content: [{ type: "text", text }] } };
}

/** The fields of a line about the queue. */
export function queueFields(operation: string, clock: number, content?: string): JsonObject {
  return {
    ...{ type: "queue-operation", operation, timestamp: timeOf(clock), sessionId: SESSION },
    ...(content === undefined ? {} : { content }),
  };
}

/** What the model is told of the end of a task, with the words of a subagent. */
export function taskNotification(task: string, call: string, result?: string): string {
  const said = result === undefined ? "" : `<result>${result}</result>\n`;
  return `<task-notification>\n<task-id>${task}</task-id>\n<tool-use-id>${call}</tool-use-id>\n` +
    `<status>completed</status>\n<summary>Done</summary>\n${said}</task-notification>`;
}

/** What a line notes of a subagent whose end was waited for. */
export function agentFields(agentId: string, text: string): JsonObject {
  return {
    ...{ status: "completed", prompt: "Look.", agentId, agentType: "general-purpose" },
    ...{ content: [{ type: "text", text }], totalDurationMs: 1, totalTokens: 8 },
    ...{ totalToolUseCount: 0, usage: { input_tokens: 3, output_tokens: 5 } },
  };
}
