import { hasCapability } from "../../../claude/versions/profiles.ts";
import type { TaskNotification } from "../../../claude/transcript/task_notification.ts";
import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import type { SystemFrame } from "../../../claude/wire/system_frames.ts";
import { systemFrame } from "./system_frame.ts";
import {
  AMBIENT,
  startingCall,
  type Task,
  type TaskContext,
  type Tasks,
  type TaskStep,
} from "./task.ts";
import { listFrames } from "./task_list.ts";

/** The end of the run stops what still runs in the background. */
export function stopTasks(tasks: Tasks, endedAt: string, context: TaskContext): TaskStep {
  let step: TaskStep = { tasks, frames: [] };
  for (const task of tasks.values()) {
    if (!task.background) continue;
    const { tasks: rest, frames } = tellStop(step.tasks, task, { endedAt, context });
    step = { tasks: rest, frames: [...step.frames, ...frames] };
  }
  return step;
}

/** Emits that a task was stopped, at a time in ISO 8601. */
export function tellStop(
  tasks: Tasks,
  task: Pick<Task, "id" | "type" | "description"> & { readonly toolUseId: string | undefined },
  { endedAt, context }: { readonly endedAt: unknown; readonly context: TaskContext },
): TaskStep {
  const rest = new Map(tasks);
  rest.delete(task.id);
  return {
    tasks: rest,
    frames: [
      updateFrame(task.id, { status: "killed", endedAt }, context),
      systemFrame("task_notification", {
        task_id: task.id,
        tool_use_id: task.toolUseId,
        status: "stopped",
        output_file: "",
        summary: task.description,
      }, context),
      ...listFrames(rest, context),
    ],
  };
}

/** The end of a skill for which the turn has waited. */
export function endSkill(
  tasks: Tasks,
  task: Task,
  { failed, context }: { readonly failed: boolean; readonly context: TaskContext },
): TaskStep {
  const rest = new Map(tasks);
  rest.delete(task.id);
  const frame = systemFrame("task_notification", {
    task_id: task.id,
    tool_use_id: startingCall(task),
    status: failed || task.failed === true ? "failed" : "completed",
    output_file: "",
    summary: task.description,
    ...AMBIENT,
  }, context);
  return { tasks: rest, frames: [frame] };
}

/** What came of a call, as its result says, or a hook that is called before that. */
export interface CallEnd {
  readonly toolUseId: string;
  readonly failed: boolean;
  /** Why it has failed. */
  readonly error?: string;
  readonly outcome: JsonObject;
  /** In ISO 8601. */
  readonly endedAt: string | undefined;
}

/** The result of a call has come, and with it the end of the task for which it has waited. */
export function endWaited(
  tasks: Tasks,
  task: Task,
  { call, context }: { readonly call: CallEnd; readonly context: TaskContext },
): TaskStep {
  const { toolUseId, failed, outcome, endedAt } = call;
  if (task.skill !== undefined) return endSkill(tasks, task, { failed, context });
  const rest = new Map(tasks);
  rest.delete(task.id);
  const status = failed ? "failed" : "completed";
  const error = failed && task.type === "local_agent" ? call.error : undefined;
  return {
    tasks: rest,
    frames: [
      ...task.type === "local_agent"
        ? [updateFrame(task.id, { status, endedAt, error }, context)]
        : [],
      systemFrame("task_notification", {
        task_id: task.id,
        tool_use_id: toolUseId,
        status,
        output_file: "",
        summary: error ?? reportOf(outcome) ?? task.description,
        usage: usageOf(outcome),
      }, context),
    ],
  };
}

/** A subagent's last words, which `claude -p` prints in the place of its description. */
function reportOf(outcome: JsonObject): string | undefined {
  const { content } = outcome;
  if (!Array.isArray(content)) return undefined;
  const last: unknown = content.at(-1);
  return isJsonObject(last) && typeof last.text === "string" ? last.text : undefined;
}

function usageOf(outcome: JsonObject): JsonObject | undefined {
  const { totalTokens, totalToolUseCount, totalDurationMs } = outcome;
  return typeof totalTokens === "number"
    ? { total_tokens: totalTokens, tool_uses: totalToolUseCount, duration_ms: totalDurationMs }
    : undefined;
}

/** A task in the background has ended; whether a turn follows is told later. */
export function notified(
  tasks: Tasks,
  { notification, endedAt, context }: {
    readonly notification: TaskNotification;
    readonly endedAt: unknown;
    readonly context: TaskContext;
  },
): TaskStep {
  const { taskId, status } = notification;
  if (status === "killed") {
    const task = tasks.get(taskId) ?? {
      id: taskId,
      toolUseId: notification.toolUseId,
      type: "local_bash",
      description: notification.summary ?? "",
    };
    return tellStop(tasks, task, { endedAt, context });
  }
  const task = tasks.get(taskId);
  // A subagent that is over leaves what it was to hear of others to the session, which is told of it once more.
  if (task === undefined && context.toldTasks.has(taskId)) return { tasks, frames: [] };
  const rest = new Map(tasks);
  rest.delete(taskId);
  const error = failureOf(task, notification);
  const told = error === undefined ? notification : { ...notification, summary: error };
  const ends = [
    updateFrame(taskId, { status, endedAt, error }, context),
    notificationFrame(told, context),
  ];
  const list = listFrames(rest, context);
  return {
    tasks: rest,
    frames: hasCapability(context.version, "listsSubagentTypes")
      ? [...ends, ...list]
      : [...list, ...ends],
  };
}

/** Why a subagent has failed, without the words that only the model is told. */
function failureOf(
  task: Task | undefined,
  { status, summary = "" }: TaskNotification,
): string | undefined {
  const start = `Agent "${task?.description}" failed: `;
  return status === "failed" && task?.type === "local_agent" && summary.startsWith(start)
    ? summary.slice(start.length)
    : undefined;
}

function updateFrame(
  taskId: string,
  { status, endedAt, error }: {
    readonly status: string;
    readonly endedAt: unknown;
    readonly error?: string | undefined;
  },
  context: TaskContext,
): SystemFrame {
  const time = typeof endedAt === "string" ? Date.parse(endedAt) : NaN;
  return systemFrame("task_updated", {
    task_id: taskId,
    patch: {
      status,
      ...(Number.isNaN(time) ? {} : { end_time: time }),
      ...(error === undefined ? {} : { error }),
    },
  }, context);
}

/** The frame of what a task in the background had to tell as it ended. */
function notificationFrame(
  notification: TaskNotification,
  context: TaskContext,
): SystemFrame {
  const { usage, result: report } = notification;
  return systemFrame("task_notification", {
    task_id: notification.taskId,
    tool_use_id: notification.toolUseId,
    status: notification.status === "killed" ? "stopped" : notification.status,
    output_file: notification.outputFile ?? "",
    summary: report ?? notification.summary,
    summary_is_report: report !== undefined && hasCapability(context.version, "marksReports")
      ? true
      : undefined,
    usage: usage && {
      total_tokens: usage.totalTokens,
      tool_uses: usage.toolUses,
      duration_ms: usage.durationMs,
    },
  }, context);
}
