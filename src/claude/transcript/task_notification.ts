import { type Entry, isPrompt } from "./entry.ts";
import type { JsonObject } from "../../json_object.ts";

/** How a task in the background ended, as Claude Code tells the model in a `<task-notification>`. */
export interface TaskNotification {
  readonly taskId: string;
  /** The call that started the task. */
  readonly toolUseId: string | undefined;
  /** `completed`, `failed` or `killed`. */
  readonly status: string;
  readonly outputFile: string | undefined;
  readonly summary: string | undefined;
  /** A subagent's report. */
  readonly result: string | undefined;
  /** What a subagent used. */
  readonly usage:
    | { readonly totalTokens: number; readonly toolUses: number; readonly durationMs: number }
    | undefined;
}

/** Whether a text tells the model of something that happened in the background. */
export function isNotification(text: unknown): text is string {
  return typeof text === "string" && text.startsWith("<task-notification>");
}

/** Reads a `<task-notification>`; undefined for any other text. Written by 2.1.330. */
export function parseTaskNotification(text: unknown): TaskNotification | undefined {
  if (!isNotification(text)) return undefined;
  // The report is a subagent's own text, and may hold such tags itself.
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
    usage: usageOf(field),
  };
}

/** The `<task-notification>` in a line that says that the child puts one into its queue. */
export function enqueuedNotification(
  { type, operation, content }: JsonObject,
): TaskNotification | undefined {
  return type === "queue-operation" && operation === "enqueue"
    ? parseTaskNotification(content)
    : undefined;
}

function usageOf(field: (name: string) => string | undefined): TaskNotification["usage"] {
  const [totalTokens, toolUses, durationMs] = [
    field("subagent_tokens") ?? field("total_tokens"),
    field("tool_uses"),
    field("duration_ms"),
  ].map(Number);
  return Number.isNaN(totalTokens) || totalTokens === undefined
    ? undefined
    : { totalTokens, toolUses: toolUses || 0, durationMs: durationMs || 0 };
}

/** What the prompt of a turn says that the end of a task started. */
export function notificationIn(entry: Entry): TaskNotification | undefined {
  return isPrompt(entry) ? parseTaskNotification(entry.message.content) : undefined;
}
