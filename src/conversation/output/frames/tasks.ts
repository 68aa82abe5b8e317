import type { ToolUse } from "../../../claude/transcript/turn.ts";
import type { SystemFrame } from "../../../claude/wire/system_frames.ts";
import { hasCapability } from "../../../claude/versions/profiles.ts";
import { systemFrame } from "./frame_context.ts";
import type { ContentBlock, Entry } from "../../../claude/transcript/entry.ts";
import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import { isTextAnswer } from "../../../claude/transcript/special_entries.ts";

/** A running shell or subagent. */
export interface Task {
  readonly id: string;
  /** The call that started the task. */
  readonly toolUseId: string;
  readonly type: "local_bash" | "local_agent";
  readonly description: string;
  /** Whether the turn continues without waiting for the task. */
  readonly background: boolean;
  /**
   * Set for a subagent that runs a skill for which the turn waits: whether a call of the model or the user started the
   * skill. `claude -p` prints less about such a task. A skill that a user typed has no call.
   */
  readonly skill?: "called" | "typed";
  /** A subagent's type and prompt, and the name to which other subagents send messages. */
  readonly agentType?: string;
  readonly prompt?: string;
  readonly name?: string;
  /** The subagent that has started the task, and the task's depth below the session. An absent depth means 1. */
  readonly parent?: string;
  readonly depth?: number;
  /** When a subagent began, in milliseconds since the epoch, and the number of its calls, if known. */
  readonly since?: number;
  readonly calls?: number;
  /** Whether the last line of a subagent was text. Then the subagent may have ended. */
  readonly spoken?: boolean;
  /** Whether the last answer to the subagent was an API error. */
  readonly failed?: boolean;
}

/** The running tasks, by id. */
export type Tasks = ReadonlyMap<string, Task>;

/** The running tasks after a change, and the frames that `claude -p` prints for the change. */
export interface TaskStep {
  readonly tasks: Tasks;
  readonly frames: readonly SystemFrame[];
  /** The task that began. The same line may also end it. */
  readonly started?: Task;
}

/** The facts from which the frames of tasks are made, in addition to a line. */
export interface TaskContext {
  readonly version: string;
  readonly sessionId: string;
  readonly newUuid: () => string;
  /** The calls so far, by id. */
  readonly toolUses: ReadonlyMap<string, ToolUse>;
  /** All tasks so far, including those of earlier runs that a message can wake. */
  readonly allTasks: Pick<Tasks, "get">;
  /** The tasks whose start this run has printed. */
  readonly printedTasks: Pick<Tasks, "has">;
}

/**
 * Whether a task is a shell that a subagent runs in the background. The session is not notified when such a shell ends.
 */
function isOwned({ type, parent }: Task): boolean {
  return type === "local_bash" && parent !== undefined;
}

/** The call that has started a task, as frames name it. */
export function startingCall({ skill, toolUseId }: Task): string | undefined {
  return skill === "typed" ? undefined : toolUseId;
}

/** The fields that mark tasks which are part of a call. */
export const AMBIENT = { skip_transcript: true, ambient: true };

/** The frame that lists the background tasks. It is printed whenever such a task starts or ends. */
export function listFrame(tasks: Tasks, context: TaskContext): SystemFrame {
  const listed = [...tasks.values()].filter(({ background }) => background).map((task) => ({
    task_id: task.id,
    task_type: task.type,
    ...(task.agentType !== undefined && hasCapability(context.version, "listsSubagentTypes")
      ? { subagent_type: task.agentType }
      : {}),
    description: task.description,
    ...(isOwned(task) ? { parent_task_id: task.parent } : {}),
  }));
  return systemFrame("background_tasks_changed", { tasks: listed }, context);
}

/** Starts a task, unless it is already running. */
export function startTask(tasks: Tasks, given: Task, context: TaskContext): TaskStep {
  if (tasks.has(given.id)) return { tasks, frames: [] };
  const { parent } = given;
  const depth = 1 + (parent === undefined ? 0 : tasks.get(parent)?.depth ?? 1);
  const task = { ...given, depth };
  const started = new Map(tasks).set(task.id, task);
  const frame = systemFrame("task_started", {
    task_id: task.id,
    owned_by_subagent: isOwned(task) ? true : undefined,
    tool_use_id: startingCall(task),
    description: task.description,
    subagent_type: task.agentType,
    is_backgrounded: task.background,
    spawn_depth: task.type === "local_agent" ? depth : undefined,
    parent_task_id: parent,
    task_type: task.type,
    prompt: task.prompt,
    ...(task.skill === undefined ? {} : AMBIENT),
  }, context);
  return {
    started: task,
    tasks: started,
    frames: task.background ? [listFrame(started, context), frame] : [frame],
  };
}

/** A line of a subagent's transcript, and the folders that are shortened in printed paths. */
interface ProgressLine {
  readonly agentId: string;
  readonly entry: Entry;
  readonly cwd: string;
  /** The user's home folder; undefined if unknown. */
  readonly home?: string | undefined;
}

/**
 * Tracks a subagent's progress by a line of its transcript: emits a `task_progress` frame for each call on the line.
 *
 * Known difference: `claude -p` counts the tokens in the middle of the answer, a transcript at its end.
 */
export function trackProgress(
  tasks: Tasks,
  { agentId, entry, ...folders }: ProgressLine,
  context: TaskContext,
): TaskStep {
  const found = tasks.get(agentId);
  if (found === undefined || entry.type === "other") return { tasks, frames: [] };
  const at = Date.parse(entry.timestamp ?? "");
  const since = found.since ?? (Number.isNaN(at) ? undefined : at);
  let task: Task = {
    ...found,
    spoken: entry.type === "assistant" ? isTextAnswer(entry) : found.spoken === true,
    ...(entry.type === "assistant" ? { failed: entry.isApiErrorMessage === true } : {}),
    ...(since === undefined ? {} : { since }),
  };
  // `claude -p` prints no progress of skills.
  const frames = (found.skill !== undefined ? [] : callsIn(entry)).map((call) => {
    task = { ...task, calls: (task.calls ?? 0) + 1 };
    return systemFrame("task_progress", {
      task_id: task.id,
      tool_use_id: task.toolUseId,
      description: activityOf(call, folders) ?? task.description,
      subagent_type: task.agentType,
      usage: {
        total_tokens: tokensOf(entry),
        tool_uses: task.calls,
        duration_ms: since === undefined || Number.isNaN(at) ? 0 : Math.max(0, at - since),
      },
      last_tool_name: call.name,
    }, context);
  });
  return { tasks: new Map(tasks).set(agentId, task), frames };
}

function callsIn(entry: Entry): readonly ContentBlock[] {
  return entry.type === "assistant"
    ? entry.message.content.filter(({ type }) => type === "tool_use")
    : [];
}

/** The number of tokens of a line's request, including the answer. */
function tokensOf(entry: Entry): number {
  const usage: unknown = entry.type === "assistant" ? entry.message.usage : undefined;
  if (!isJsonObject(usage)) return 0;
  return [
    usage.input_tokens,
    usage.cache_creation_input_tokens,
    usage.cache_read_input_tokens,
    usage.output_tokens,
  ].reduce<number>((sum, count) => sum + (typeof count === "number" ? count : 0), 0);
}

/** The maximum number of characters of a command, a pattern, a URL or a query in an activity. */
const MAX_DETAIL = 50;

/** The description of a call in Claude Code's words; undefined for other tools. */
function activityOf(
  { name, input }: ContentBlock,
  folders: Pick<ProgressLine, "cwd" | "home">,
): string | undefined {
  const given = isJsonObject(input) ? input : {};
  const worded = (words: string, what: string | undefined) =>
    what === undefined ? undefined : `${words} ${what}`;
  const path = () => shownPath(text(given, "file_path"), folders);
  const short = (field: string) => shortened(text(given, field));
  switch (name) {
    case "Bash":
      return worded("Running", text(given, "description") ?? short("command"));
    case "Read":
      return worded("Reading", path());
    case "Write":
      return worded("Writing", path());
    case "Edit":
      return worded("Editing", path());
    case "NotebookEdit":
      return worded("Editing notebook", shownPath(text(given, "notebook_path"), folders));
    case "WebFetch":
      return worded("Fetching", short("url"));
    case "WebSearch":
      return worded("Searching for", short("query"));
    case "Agent":
    case "Task":
      return text(given, "description");
    case "Glob":
      return worded("Finding", short("pattern"));
    case "Grep":
      return worded("Searching for", short("pattern"));
    default:
      return undefined;
  }
}

function text(given: JsonObject, field: string): string | undefined {
  const value = given[field];
  return typeof value === "string" ? value : undefined;
}

function shortened(value: string | undefined): string | undefined {
  return value === undefined || value.length <= MAX_DETAIL
    ? value
    : `${value.slice(0, MAX_DETAIL - 1)}…`;
}

/** A path relative to the working directory, or to the user's home. */
function shownPath(
  path: string | undefined,
  { cwd, home }: Pick<ProgressLine, "cwd" | "home">,
): string | undefined {
  if (path === undefined) return undefined;
  if (path.startsWith(`${cwd}/`)) return path.slice(cwd.length + 1);
  return home !== undefined && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}
