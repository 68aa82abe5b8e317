import { type Entry, isPrompt } from "./entry.ts";
import type { JsonObject } from "../../json_object.ts";

/** How a background task ended. Claude Code reports it to the model in a `<task-notification>`. */
export interface TaskNotification {
  readonly taskId: string;
  /** The call that started the task. */
  readonly toolUseId: string | undefined;
  /** `completed`, `failed` or `killed`. */
  readonly status: string;
  readonly outputFile: string | undefined;
  readonly summary: string | undefined;
  /** The report of a subagent. */
  readonly result: string | undefined;
  /** The usage of a subagent. */
  readonly usage:
    | { readonly totalTokens: number; readonly toolUses: number; readonly durationMs: number }
    | undefined;
}

/** Whether a text is a notification about a background task. */
export function isNotification(text: unknown): text is string {
  return typeof text === "string" && text.startsWith("<task-notification>");
}

/** Reads a `<task-notification>` as 2.1.330 writes it; undefined for any other text. */
export function parseTaskNotification(text: unknown): TaskNotification | undefined {
  if (!isNotification(text)) return undefined;
  // The report is a subagent's text, and can contain such tags.
  const [begin, end] = [text.indexOf("<result>"), text.lastIndexOf("</result>")];
  const reported = begin >= 0 && end > begin;
  const result = reported ? text.slice(begin + "<result>".length, end) : undefined;
  const around = reported ? text.slice(0, begin) + text.slice(end) : text;
  const field = (name: string): string | undefined => {
    const start = around.indexOf(`<${name}>`) + name.length + 2;
    const end = around.indexOf(`</${name}>`, start);
    return start < name.length + 2 || end < 0 ? undefined : around.slice(start, end);
  };
  const [taskId, status] = [field("task-id"), field("status")];
  if (taskId === undefined || status === undefined) return undefined;
  return {
    taskId,
    toolUseId: field("tool-use-id"),
    status,
    outputFile: field("output-file"),
    summary: field("summary"),
    result,
    usage: readUsage(field),
  };
}

/** Reads the notification that a line says the child has put into its queue. */
export function readQueuedNotification(
  { type, operation, content }: JsonObject,
): TaskNotification | undefined {
  return type === "queue-operation" && operation === "enqueue"
    ? parseTaskNotification(content)
    : undefined;
}

function readUsage(field: (name: string) => string | undefined): TaskNotification["usage"] {
  const [totalTokens, toolUses, durationMs] = [
    field("subagent_tokens") ?? field("total_tokens"),
    field("tool_uses"),
    field("duration_ms"),
  ].map(Number);
  return Number.isNaN(totalTokens) || totalTokens === undefined
    ? undefined
    : { totalTokens, toolUses: toolUses || 0, durationMs: durationMs || 0 };
}

/** Reads the notification from the prompt of a turn that the end of a task started. */
export function readTaskNotification(entry: Entry): TaskNotification | undefined {
  return isPrompt(entry) ? parseTaskNotification(entry.message.content) : undefined;
}
