import type { Entry, UserEntry } from "../../transcript/entry.ts";
import { isJsonObject, type JsonObject } from "../../transcript/json_object.ts";
import {
  enqueuedNotification,
  parseTaskNotification,
  type TaskNotification,
} from "../../transcript/task_notification.ts";
import type { ToolUse } from "../../transcript/turn.ts";
import type { SystemFrame } from "../../wire/frame.ts";
import { systemFrame } from "./system_frame.ts";
import { isVersionAtLeast } from "../../wire/wire_keys.ts";

/** A shell or a subagent at work. */
export interface Task {
  readonly id: string;
  /** The call that started it. */
  readonly toolUseId: string;
  readonly type: "local_bash" | "local_agent";
  readonly description: string;
  /** Whether the turn goes on without waiting for it. */
  readonly background: boolean;
  /**
   * Who has asked for the skill for which the turn waits, if it carries out one: of such a one less is told, before
   * 2.1.330 nothing, and one that was typed has no call.
   */
  readonly skill?: "called" | "typed";
  /** A subagent's type and prompt. */
  readonly agentType?: string;
  readonly prompt?: string;
  /** The subagent that has started it, and how deep it is below the session itself; absent for 1. */
  readonly parent?: string;
  readonly depth?: number;
  /** When a subagent began, in milliseconds since the epoch, and how many calls it has made; once that is known. */
  readonly since?: number;
  readonly calls?: number;
  /** Whether the last line of a subagent's was words, with which it may be over. */
  readonly spoken?: boolean;
  /** Whether the last answer to it was an error of the API. */
  readonly failed?: boolean;
}

/** The tasks at work, by id. */
export type Tasks = ReadonlyMap<string, Task>;

/** The tasks after something was heard of them, and the frames `claude -p` prints for it. */
export interface TaskStep {
  readonly tasks: Tasks;
  readonly frames: readonly SystemFrame[];
  /** The one that began, which may be over as well. */
  readonly started?: Task;
}

/** What a line alone does not say about tasks. */
export interface TaskContext {
  readonly version: string;
  readonly sessionId: string;
  readonly newUuid: () => string;
  /** The calls so far, by id. */
  readonly toolUses: ReadonlyMap<string, ToolUse>;
  /** The tasks so far, those that are over as well. */
  readonly allTasks: Tasks;
  /** Those of them that this run has told. */
  readonly toldTasks: Tasks;
}

/** The version that lists the tasks in the background whenever they change, and tells their ends at once. */
const WITH_LIST = "2.1.330";

/**
 * Tells what a line of the transcript says about tasks: `task_started`, `task_updated`, `task_notification` and
 * `background_tasks_changed`, which come before the line's own frames.
 *
 * Known differences: `run_id` is nowhere in the transcript; the output file of a subagent in the
 * foreground is not named. Up to 2.1.197 a `task_notification` comes with the turn that it starts, so one that the
 * running turn takes in gives none.
 *
 * And of skills that run as subagents: 2.1.330 runs them in the background unless they say `background: false`, where
 * `claude -p` waits for them, and of one that was typed it is not told what it does there. They are described as to the
 * model, with `when_to_use`, and in brief where there are many.
 */
export function taskFramesOfEntry(tasks: Tasks, entry: Entry, context: TaskContext): TaskStep {
  if (entry.type === "other") {
    const notification = enqueuedNotification(entry.line);
    return notification === undefined
      ? { tasks, frames: [] }
      : notified(tasks, { notification, endedAt: entry.line.timestamp, context });
  }
  if (entry.type !== "user" || entry.isSidechain === true) return { tasks, frames: [] };
  if (entry.meaning === "prompt") {
    const notification = isVersionAtLeast(context.version, WITH_LIST)
      ? undefined
      : parseTaskNotification(entry.message.content);
    return {
      tasks,
      frames: notification === undefined ? [] : [notificationFrame(notification, context)],
    };
  }
  return entry.meaning === "tool-result" ? returned(tasks, entry, context) : { tasks, frames: [] };
}

/** A task that was seen to run. */
export function startTask(tasks: Tasks, given: Task, context: TaskContext): TaskStep {
  if (tasks.has(given.id)) return { tasks, frames: [] };
  const { parent } = given;
  const depth = 1 + (parent === undefined ? 0 : tasks.get(parent)?.depth ?? 1);
  const task = { ...given, depth };
  const started = new Map(tasks).set(task.id, task);
  const recent = isVersionAtLeast(context.version, WITH_LIST);
  const frame = systemFrame("task_started", {
    task_id: task.id,
    owned_by_subagent: recent && isOwned(task) ? true : undefined,
    tool_use_id: callOf(task),
    description: task.description,
    subagent_type: task.agentType,
    is_backgrounded: recent ? task.background : undefined,
    spawn_depth: recent && task.type === "local_agent" ? depth : undefined,
    parent_task_id: recent ? parent : undefined,
    task_type: task.type,
    prompt: task.prompt,
    ...(task.skill === undefined ? {} : AMBIENT),
  }, context);
  if (task.skill !== undefined && !recent) return { started: task, tasks: started, frames: [] };
  return {
    started: task,
    tasks: started,
    frames: task.background ? [...listFrames(started, context), frame] : [frame],
  };
}

/** Whether it is a shell that a subagent has put into the background: the session itself hears nothing of it. */
function isOwned({ type, parent }: Task): boolean {
  return type === "local_bash" && parent !== undefined;
}

/** Calls that may have waited for a subagent. */
const WAITING: readonly unknown[] = ["Agent", "Task", "Skill"];

/** How `claude -p` marks tasks that are part of a call and no news by themselves. */
const AMBIENT = { skip_transcript: true, ambient: true };

/** The end of the run stops what still runs in the background. */
export function stopTasks(tasks: Tasks, endedAt: string, context: TaskContext): TaskStep {
  let step: TaskStep = { tasks, frames: [] };
  for (const task of tasks.values()) {
    if (!task.background) continue;
    const { tasks: rest, frames } = stopTask(step.tasks, task, { endedAt, context });
    step = { tasks: rest, frames: [...step.frames, ...frames] };
  }
  return step;
}

/**
 * Somebody has stopped a task, at a time in ISO 8601. Up to 2.1.197 the turn that follows tells more of a subagent's
 * end.
 */
export function tellStop(
  tasks: Tasks,
  task: StoppedTask,
  { endedAt, context }: { readonly endedAt: unknown; readonly context: TaskContext },
): TaskStep {
  const step = stopTask(tasks, task, { endedAt, context });
  return task.type === "local_bash" || isVersionAtLeast(context.version, WITH_LIST)
    ? step
    : { ...step, frames: [updateFrame(task.id, { status: "killed", endedAt }, context)] };
}

type StoppedTask = Pick<Task, "id" | "type" | "description"> & {
  readonly toolUseId: string | undefined;
};

function stopTask(
  tasks: Tasks,
  task: StoppedTask,
  { endedAt, context }: { readonly endedAt: unknown; readonly context: TaskContext },
): TaskStep {
  const rest = new Map(tasks);
  rest.delete(task.id);
  // Before it lists tasks, Claude Code only stops to wait for a subagent.
  const killed = task.type === "local_bash" || isVersionAtLeast(context.version, WITH_LIST);
  return {
    tasks: rest,
    frames: [
      ...killed ? [updateFrame(task.id, { status: "killed", endedAt }, context)] : [],
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

/**
 * What the line of a subagent tells of a task that it has started itself: the end of a subagent for which it has waited,
 * and that a shell runs in the background.
 */
export function nestedTask(tasks: Tasks, entry: Entry, context: TaskContext): TaskStep {
  const isReturn = entry.type === "user" && typeof entry.message.content !== "string" &&
    (isShellStart(entry) ||
      entry.message.content.some(({ tool_use_id: id }) =>
        typeof id === "string" && WAITING.includes(context.toolUses.get(id)?.name)
      ));
  return isReturn ? returned(tasks, entry, context) : { tasks, frames: [] };
}

function isShellStart({ toolUseResult: outcome }: UserEntry): boolean {
  return isJsonObject(outcome) && typeof outcome.backgroundTaskId === "string";
}

function isAgent(use: ToolUse | undefined): use is ToolUse {
  return use?.name === "Agent" || use?.name === "Task";
}

/** What came of a call, as its result says, or a hook that is called before that. */
export interface CallEnd {
  readonly toolUseId: string;
  readonly failed: boolean;
  readonly outcome: JsonObject;
  /** In ISO 8601. */
  readonly endedAt: string | undefined;
}

/** The result of a call. */
function returned(tasks: Tasks, entry: UserEntry, context: TaskContext): TaskStep {
  const { content } = entry.message;
  const block = typeof content === "string"
    ? undefined
    : content.find(({ type }) => type === "tool_result");
  const toolUseId = block?.tool_use_id;
  return typeof toolUseId === "string"
    ? endOfCall(tasks, {
      toolUseId,
      failed: block?.is_error === true,
      outcome: isJsonObject(entry.toolUseResult) ? entry.toolUseResult : {},
      endedAt: entry.timestamp,
    }, context)
    : { tasks, frames: [] };
}

/** Tells of a call that it started a task in the background, or ended one that it waited for. */
export function endOfCall(tasks: Tasks, call: CallEnd, context: TaskContext): TaskStep {
  const { toolUseId, failed, outcome, endedAt } = call;
  const use = context.toolUses.get(toolUseId);
  if (use === undefined) return { tasks, frames: [] };
  const named = taskOf(use, outcome);
  // A hook has told of it.
  if (named !== undefined && context.toldTasks.has(named.id) && !tasks.has(named.id)) {
    return { tasks, frames: [] };
  }
  const launched = named ?? wokenTask(use, call, context) ?? movedSkill(tasks, use, outcome);
  if (launched?.background === true && tasks.get(launched.id)?.background === false) {
    // It took too long to be waited for, or somebody has put it there.
    const moved = new Map(tasks).set(launched.id, launched);
    const update = systemFrame("task_updated", {
      task_id: launched.id,
      patch: { is_backgrounded: true },
    }, context);
    return { tasks: moved, frames: [...listFrames(moved, context), update] };
  }
  const started = launched === undefined
    ? { tasks, frames: [] }
    : startTask(tasks, launched, context);
  const ended = [...started.tasks.values()].find((task) =>
    !task.background && task.toolUseId === use.id
  );
  if (ended === undefined) return started;
  const rest = new Map(started.tasks);
  rest.delete(ended.id);
  if (ended.skill !== undefined) return endSkill(tasks, ended, { failed, context });
  return {
    ...started,
    tasks: rest,
    frames: [
      ...started.frames,
      ...ended.type === "local_agent"
        ? [updateFrame(ended.id, {
          status: failed ? "failed" : "completed",
          endedAt,
        }, context)]
        : [],
      systemFrame("task_notification", {
        task_id: ended.id,
        tool_use_id: use.id,
        status: failed ? "failed" : "completed",
        output_file: "",
        summary: reportOf(outcome, context) ?? ended.description,
        usage: usageOf(outcome),
      }, context),
    ],
  };
}

/** The end of a skill for which the turn has waited; before 2.1.330 `claude -p` does not tell it. */
export function endSkill(
  tasks: Tasks,
  task: Task,
  { failed, context }: { readonly failed: boolean; readonly context: TaskContext },
): TaskStep {
  const rest = new Map(tasks);
  rest.delete(task.id);
  if (!isVersionAtLeast(context.version, WITH_LIST)) return { tasks: rest, frames: [] };
  const frame = systemFrame("task_notification", {
    task_id: task.id,
    tool_use_id: callOf(task),
    status: failed || task.failed === true ? "failed" : "completed",
    output_file: "",
    summary: task.description,
    ...AMBIENT,
  }, context);
  return { tasks: rest, frames: [frame] };
}

/** The call that has started a task, where it is told. */
function callOf({ skill, toolUseId }: Task): string | undefined {
  return skill === "typed" ? undefined : toolUseId;
}

/** A skill for which the turn has waited, and waits no longer. */
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
    ...parentOf(use),
  };
}

function parentOf({ agentId }: ToolUse): Pick<Task, "parent"> {
  return agentId === undefined ? {} : { parent: agentId };
}

/** A subagent that was over, and goes on in the background because of a message to it. */
function wokenTask(
  use: ToolUse,
  { outcome: { resumedAgentId }, endedAt = "" }: CallEnd,
  { allTasks }: TaskContext,
): Task | undefined {
  const task = typeof resumedAgentId === "string" ? allTasks.get(resumedAgentId) : undefined;
  if (task === undefined) return undefined;
  const message = isJsonObject(use.input) ? use.input.message : undefined;
  return {
    ...wakened(task, endedAt),
    toolUseId: use.id,
    ...(typeof message === "string" ? { prompt: message } : {}),
  };
}

/** A subagent that was over, as it goes on in the background from a time in ISO 8601. */
export function wakened(task: Task, at: string): Task {
  const { calls: _, spoken: __, prompt: ___, skill: ____, ...known } = task;
  return { ...known, background: true, since: Date.parse(at) };
}

/** A subagent's last words, which 2.1.330 prints in the place of its description. */
function reportOf(outcome: JsonObject, { version }: TaskContext): string | undefined {
  const { content } = outcome;
  if (!isVersionAtLeast(version, WITH_LIST) || !Array.isArray(content)) return undefined;
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
function notified(
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
  const rest = new Map(tasks);
  rest.delete(taskId);
  // No turn begins with the end of what is not the session's own.
  const isTold = isVersionAtLeast(context.version, WITH_LIST) ||
    (task !== undefined && isOwned(task));
  const error = isVersionAtLeast(context.version, WITH_LIST)
    ? failureOf(task, notification)
    : undefined;
  return {
    tasks: rest,
    frames: [
      updateFrame(taskId, { status, endedAt, error }, context),
      ...isTold
        ? [
          notificationFrame(
            error === undefined ? notification : { ...notification, summary: error },
            context,
          ),
        ]
        : [],
      ...listFrames(rest, context),
    ],
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

function notificationFrame(notification: TaskNotification, context: TaskContext): SystemFrame {
  const { usage, result } = notification;
  const report = isVersionAtLeast(context.version, WITH_LIST) ? result : undefined;
  return systemFrame("task_notification", {
    task_id: notification.taskId,
    tool_use_id: notification.toolUseId,
    status: notification.status === "killed" ? "stopped" : notification.status,
    output_file: notification.outputFile ?? "",
    summary: report ?? notification.summary,
    summary_is_report: report === undefined ? undefined : true,
    usage: usage && {
      total_tokens: usage.totalTokens,
      tool_uses: usage.toolUses,
      duration_ms: usage.durationMs,
    },
  }, context);
}

function listFrames(tasks: Tasks, context: TaskContext): readonly SystemFrame[] {
  if (!isVersionAtLeast(context.version, WITH_LIST)) return [];
  const listed = [...tasks.values()].filter(({ background }) => background).map((task) => ({
    task_id: task.id,
    task_type: task.type,
    ...(task.agentType === undefined ? {} : { subagent_type: task.agentType }),
    description: task.description,
    ...(isOwned(task) ? { parent_task_id: task.parent } : {}),
  }));
  return [systemFrame("background_tasks_changed", { tasks: listed }, context)];
}
