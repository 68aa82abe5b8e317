import type { ContentBlock, Entry } from "../../../claude/transcript/entry.ts";
import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import { isWords } from "../../../claude/transcript/special_entries.ts";
import { systemFrame } from "./system_frame.ts";
import type { Task, TaskContext, Tasks, TaskStep } from "./task.ts";

/** A line of a subagent's transcript, and the folders that its calls may name. */
export interface SubagentsLine {
  readonly agentId: string;
  readonly entry: Entry;
  readonly cwd: string;
  /** The user's home; absent where it is not known. */
  readonly home?: string | undefined;
}

/**
 * Tells how far a subagent is, with each call of its: `task_progress`, as `claude -p` tells it before the call's frame
 * where the turn waits for the subagent, and behind it otherwise.
 *
 * Known difference: `claude -p` counts the tokens in the middle of the answer, a transcript at its end.
 */
export function tellProgress(
  tasks: Tasks,
  { agentId, entry, ...folders }: SubagentsLine,
  context: TaskContext,
): TaskStep {
  const found = tasks.get(agentId);
  if (found === undefined || entry.type === "other") return { tasks, frames: [] };
  const at = Date.parse(entry.timestamp ?? "");
  const since = found.since ?? (Number.isNaN(at) ? undefined : at);
  let task: Task = {
    ...found,
    spoken: entry.type === "assistant" ? isWords(entry) : found.spoken === true,
    ...(entry.type === "assistant" ? { failed: entry.isApiErrorMessage === true } : {}),
    ...(since === undefined ? {} : { since }),
  };
  // `claude -p` does not tell it of skills.
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

/** How many tokens the last request took, its answer included. */
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

/** Most characters of a command, a pattern, an address or a question. */
const LONGEST = 50;

/** What a call does, as Claude Code words it; undefined where that has no words for it. */
function activityOf(
  { name, input }: ContentBlock,
  folders: Pick<SubagentsLine, "cwd" | "home">,
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
  return value === undefined || value.length <= LONGEST ? value : `${value.slice(0, LONGEST - 1)}…`;
}

/** A path from the working directory, or from the user's home. */
function shownPath(
  path: string | undefined,
  { cwd, home }: Pick<SubagentsLine, "cwd" | "home">,
): string | undefined {
  if (path === undefined) return undefined;
  if (path.startsWith(`${cwd}/`)) return path.slice(cwd.length + 1);
  return home !== undefined && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}
