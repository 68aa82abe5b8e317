import { hasCapability } from "../../../claude/versions/profiles.ts";
import {
  readQueuedNotification,
  type TaskNotification,
} from "../../../claude/transcript/task_notification.ts";
import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import type { SystemFrame } from "../../../claude/wire/system_frames.ts";
import { systemFrame } from "./frame_context.ts";
import {
  AMBIENT,
  listFrame,
  startingCall,
  startTask,
  type Task,
  type TaskContext,
  type Tasks,
  type TaskStep,
} from "./tasks.ts";
import type { Entry, UserEntry } from "../../../claude/transcript/entry.ts";
import { resultText } from "../../../claude/transcript/kept_entry.ts";
import type { ToolUse } from "../../../claude/transcript/turn.ts";

/**
 * Starts and ends tasks according to a line of the session's transcript. The frames are `task_started`, `task_updated`,
 * `task_notification` and `background_tasks_changed`; they come before the line's own frames.
 *
 * Known differences: no transcript holds `run_id`, or the output file of a subagent in the foreground. Three concern
 * skills that run as subagents. The child runs them in the background unless they say `background: false`, and `claude
 * -p` waits for them. The child does not write down the work of a typed skill. Descriptions of skills are those that
 * the model receives: with `when_to_use`, and shortened if there are many.
 */
export function updateTasks(tasks: Tasks, entry: Entry, context: TaskContext): TaskStep {
  if (entry.type === "other") {
    const notification = readQueuedNotification(entry.line);
    return notification === undefined
      ? { tasks, frames: [] }
      : endNotifiedTask(tasks, { notification, endedAt: entry.line.timestamp, context });
  }
  if (entry.type !== "user" || entry.isSidechain === true) return { tasks, frames: [] };
  return entry.meaning === "tool-result" ? endCallOf(tasks, entry, context) : { tasks, frames: [] };
}

/** Tools whose calls may have waited for a subagent, or woken a subagent. */
const SUBAGENT_TOOLS: readonly unknown[] = ["Agent", "Task", "Skill", "SendMessage"];

/**
 * Starts and ends the tasks of a subagent, according to a line of its transcript: a subagent for which it waited has
 * ended, its message has woken another subagent, or it runs a shell in the background.
 */
export function updateNestedTasks(tasks: Tasks, entry: Entry, context: TaskContext): TaskStep {
  const isReturn = entry.type === "user" && typeof entry.message.content !== "string" &&
    (startsShell(entry) ||
      entry.message.content.some(({ tool_use_id: id }) =>
        typeof id === "string" && SUBAGENT_TOOLS.includes(context.toolUses.get(id)?.name)
      ));
  return isReturn ? endCallOf(tasks, entry, context) : { tasks, frames: [] };
}

function startsShell({ toolUseResult: outcome }: UserEntry): boolean {
  return isJsonObject(outcome) && typeof outcome.backgroundTaskId === "string";
}

function isAgent(use: ToolUse | undefined): use is ToolUse {
  return use?.name === "Agent" || use?.name === "Task";
}

/** Ends the call whose result a line holds. */
function endCallOf(tasks: Tasks, entry: UserEntry, context: TaskContext): TaskStep {
  const { content } = entry.message;
  const block = typeof content === "string"
    ? undefined
    : content.find(({ type }) => type === "tool_result");
  const toolUseId = block?.tool_use_id;
  const failed = block?.is_error === true;
  return typeof toolUseId === "string"
    ? endCall(tasks, {
      toolUseId,
      failed,
      ...(failed ? { error: resultText(block["content"]) } : {}),
      outcome: isJsonObject(entry.toolUseResult) ? entry.toolUseResult : {},
      endedAt: entry.timestamp,
    }, context)
    : { tasks, frames: [] };
}

/** Ends a call: it has started a background task, or the task for which it waited has ended. */
export function endCall(tasks: Tasks, call: CallEnd, context: TaskContext): TaskStep {
  const { toolUseId, outcome } = call;
  const use = context.toolUses.get(toolUseId);
  if (use === undefined) return { tasks, frames: [] };
  const named = taskOf(use, outcome);
  // A hook has already reported the task's start and end.
  if (named !== undefined && context.printedTasks.has(named.id) && !tasks.has(named.id)) {
    return { tasks, frames: [] };
  }
  const launched = named ?? taskWokenBy(use, call, context) ?? movedSkill(tasks, use, outcome);
  if (launched?.background === true && tasks.get(launched.id)?.background === false) {
    // The turn did not wait for the task any longer, or the user has moved it to the background.
    const moved = new Map(tasks).set(launched.id, launched);
    const update = systemFrame("task_updated", {
      task_id: launched.id,
      patch: { is_backgrounded: true },
    }, context);
    return { tasks: moved, frames: [listFrame(moved, context), update] };
  }
  const started = launched === undefined
    ? { tasks, frames: [] }
    : startTask(tasks, launched, context);
  const ended = [...started.tasks.values()].find((task) =>
    !task.background && task.toolUseId === use.id
  );
  if (ended === undefined) return started;
  const over = endAwaitedTask(started.tasks, ended, { call, context });
  return { ...started, tasks: over.tasks, frames: [...started.frames, ...over.frames] };
}

/** A skill for which the turn has waited, and which continues in the background. */
function movedSkill(tasks: Tasks, use: ToolUse, outcome: JsonObject): Task | undefined {
  const task = typeof outcome.agentId === "string" ? tasks.get(outcome.agentId) : undefined;
  if (outcome.background !== true || task?.skill === undefined || task.toolUseId !== use.id) {
    return undefined;
  }
  const { skill: _, ...known } = task;
  return { ...known, background: true };
}

function taskOf(use: ToolUse, outcome: JsonObject): Task | undefined {
  const input = isJsonObject(use.input) ? use.input : {};
  const text = (value: unknown) => typeof value === "string" ? value : "";
  const { backgroundTaskId, agentId } = outcome;
  const description = text(input.description);
  if (typeof backgroundTaskId === "string") {
    return {
      id: backgroundTaskId,
      toolUseId: use.id,
      type: "local_bash",
      description: description || text(input.command),
      background: true,
      ...parentOf(use),
    };
  }
  if (typeof agentId !== "string" || !isAgent(use)) return undefined;
  return {
    id: agentId,
    toolUseId: use.id,
    type: "local_agent",
    description,
    background: outcome.isAsync === true,
    agentType: text(outcome.agentType) || text(input.subagent_type) || "general-purpose",
    prompt: text(input.prompt),
    ...(typeof input.name === "string" ? { name: input.name } : {}),
    ...parentOf(use),
  };
}

function parentOf({ agentId }: ToolUse): Pick<Task, "parent"> {
  return agentId === undefined ? {} : { parent: agentId };
}

/** A subagent that had ended, and continues in the background because it received a message. */
function taskWokenBy(
  use: ToolUse,
  { outcome: { resumedAgentId }, endedAt = "" }: CallEnd,
  { allTasks }: TaskContext,
): Task | undefined {
  const task = typeof resumedAgentId === "string" ? allTasks.get(resumedAgentId) : undefined;
  if (task === undefined) return undefined;
  const message = isJsonObject(use.input) ? use.input.message : undefined;
  return {
    ...wokenTask(task, endedAt),
    toolUseId: use.id,
    ...(typeof message === "string" ? { prompt: asReceived(message, use, allTasks) } : {}),
  };
}

/** A message in the form in which its receiver gets it: a subagent's message names its sender. */
function asReceived(
  message: string,
  { agentId }: ToolUse,
  allTasks: TaskContext["allTasks"],
): string {
  if (agentId === undefined) return message;
  const from = allTasks.get(agentId)?.name ?? agentId;
  return `<agent-message from="${from}">\n${message}\n</agent-message>`;
}

/** A subagent that had ended and is woken at a time (ISO 8601): it continues in the background. */
export function wokenTask(task: Task, at: string): Task {
  const { calls: _, spoken: __, prompt: ___, skill: ____, ...known } = task;
  return { ...known, background: true, since: Date.parse(at) };
}

/** Stops the background tasks at the end of the run. */
export function stopTasks(tasks: Tasks, endedAt: string, context: TaskContext): TaskStep {
  let step: TaskStep = { tasks, frames: [] };
  for (const task of tasks.values()) {
    if (!task.background) continue;
    const { tasks: rest, frames } = stopTask(step.tasks, task, { endedAt, context });
    step = { tasks: rest, frames: [...step.frames, ...frames] };
  }
  return step;
}

/** Stops a task at a time (ISO 8601). */
export function stopTask(
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
      listFrame(rest, context),
    ],
  };
}

/** Ends a skill for which the turn has waited. */
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

/** The outcome of a call, from its result or from the hook that runs before the result is written. */
export interface CallEnd {
  readonly toolUseId: string;
  readonly failed: boolean;
  /** Why the call has failed. */
  readonly error?: string;
  readonly outcome: JsonObject;
  /** When the call ended, in ISO 8601. */
  readonly endedAt: string | undefined;
}

/** Ends the task for which a call has waited. */
function endAwaitedTask(
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

/** The last text of a subagent, which is the summary of its task's end. */
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

/** Ends a background task, as a notification in the transcript reports. A later line shows whether a turn follows. */
function endNotifiedTask(
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
    return stopTask(tasks, task, { endedAt, context });
  }
  const task = tasks.get(taskId);
  // When a subagent ends, the session receives the notifications of the subagent's tasks again.
  if (task === undefined && context.printedTasks.has(taskId)) return { tasks, frames: [] };
  const rest = new Map(tasks);
  rest.delete(taskId);
  const error = failureOf(task, notification);
  const shown = error === undefined ? notification : { ...notification, summary: error };
  const ends = [
    updateFrame(taskId, { status, endedAt, error }, context),
    notificationFrame(shown, context),
  ];
  const list = listFrame(rest, context);
  return {
    tasks: rest,
    frames: hasCapability(context.version, "listsSubagentTypes")
      ? [...ends, list]
      : [list, ...ends],
  };
}

/** Why a subagent has failed, without the text that is only for the model. */
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

function notificationFrame(
  notification: TaskNotification,
  context: TaskContext,
): SystemFrame {
  const { usage, result: report } = notification;
  return systemFrame("task_notification", {
    task_id: notification.taskId,
    tool_use_id: notification.toolUseId,
    status: notification.status,
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
