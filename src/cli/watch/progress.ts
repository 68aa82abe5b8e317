import type { ContentBlock, Entry } from "../../claude/transcript/entry.ts";
import { isJsonObject } from "../../json_object.ts";
import { type Input, isTurnFailure } from "../../conversation/control/input.ts";
import { transcriptSign } from "../../conversation/control/transcript_sign.ts";

/** A tool that has been called and has not returned. */
export interface RunningTool {
  readonly id: string;
  readonly name: string;
  /** What it is at: a command, a file, a pattern; absent when its input names nothing of that kind. */
  readonly subject?: string;
}

/**
 * How far a run is, as somebody who waits for it wants to know.
 *
 * - `starting`: Claude Code has not taken the prompt yet
 * - `working`: the turn is under way
 * - `waiting`: the turn is over but for tasks in the background
 * - `retrying`: the API failed and is asked again
 * - `ending`: Claude Code is about to go
 */
export interface Progress {
  readonly phase: "starting" | "working" | "waiting" | "retrying" | "ending";
  /** How many tasks are waited for while `waiting`, and the attempt while `retrying`; 0 otherwise. */
  readonly count: number;
  /** In the order in which they were called. */
  readonly tools: readonly RunningTool[];
  /** Tokens of the answers before the last one, and the last one with its own: its lines repeat them. */
  readonly counted: number;
  readonly last: { readonly id: string; readonly tokens: number };
}

/** A run that has just been started. */
export const INITIAL_PROGRESS: Progress = {
  phase: "starting",
  count: 0,
  tools: [],
  counted: 0,
  last: { id: "", tokens: 0 },
};

/** Takes the next sign; most change nothing. */
export function updateProgress(progress: Progress, sign: Input): Progress {
  if (progress.phase === "ending" && sign.type !== "hook" && sign.type !== "status") {
    return progress;
  }
  switch (sign.type) {
    case "hook":
      return onHook(progress, sign.event, sign.payload);
    case "status":
      return sign.status === "busy" ? enterPhase(progress, "working") : progress;
    case "transcript":
      return onLine(progress, sign.entry);
    case "retry":
      return enterPhase(progress, "retrying", sign.retry.attempt);
    case "signal":
    case "unheard":
    case "unreadable":
    case "exit":
      return enterPhase(progress, "ending");
    case "deadline":
      return sign.name === "timeout" ? enterPhase(progress, "ending") : progress;
    case "spawned":
    case "reachable":
    case "terms":
    case "message":
    case "control":
    case "answer":
    case "consulted":
    case "mcp-message":
    case "closed":
    case "cost":
    case "earlier":
    case "log":
    case "fault":
    case "subagent":
    case "subagent-note":
    case "read":
    case "shells":
    case "shell":
    case "shell-output":
    case "shell-over":
    case "stream":
    case "mcp":
    case "suspended":
    case "terminal":
    case "screen":
    case "resized":
      return progress;
    default:
      return sign satisfies never;
  }
}

/** Output tokens of all answers so far. */
export function outputTokens({ counted, last }: Progress): number {
  return counted + last.tokens;
}

function enterPhase(progress: Progress, phase: Progress["phase"], count = 0): Progress {
  if (progress.phase === phase && progress.count === count) return progress;
  const { tools } = progress;
  return { ...progress, phase, count, tools: phase === "ending" ? [] : tools };
}

function onHook(
  progress: Progress,
  event: string,
  payload: Readonly<Record<string, unknown>>,
): Progress {
  switch (event) {
    case "SessionStart":
      return progress;
    case "Stop": {
      const tasks = payload["background_tasks"];
      return Array.isArray(tasks) && tasks.length > 0
        ? enterPhase(progress, "waiting", tasks.length)
        : enterPhase(progress, "ending");
    }
    case "StopFailure":
      return enterPhase(progress, isTurnFailure(event, payload) ? "ending" : "working");
    default:
      return enterPhase(progress, "working");
  }
}

/** A line may begin a turn or end tools; only an answer says what tools it calls and what it has cost. */
function onLine(progress: Progress, entry: Entry): Progress {
  const { prompt, returned } = transcriptSign(entry);
  // The lines of the answer come after the Stop that ends the turn; a prompt begins another.
  const begun = prompt ? enterPhase(progress, "working") : progress;
  const left = begun.tools.filter(({ id }) => !returned.includes(id));
  const current = left.length === begun.tools.length ? begun : { ...begun, tools: left };
  if (entry.type !== "assistant") return current;
  const { id, content, usage } = entry.message;
  const tokens = usage?.output_tokens;
  const next: Progress = {
    ...current,
    tools: [...current.tools, ...content.flatMap(toolFrom)],
    ...(typeof tokens === "number" ? countTokens(current, { id, tokens }) : {}),
  };
  return current.phase === "waiting" ? next : enterPhase(next, "working");
}

function countTokens(
  { counted, last }: Progress,
  answer: Progress["last"],
): Pick<Progress, "counted" | "last"> {
  return answer.id === last.id
    ? { counted, last: answer }
    : { counted: counted + last.tokens, last: answer };
}

/** What a tool is at, by the names Claude Code's own tools use; the first that is there says most. */
const SUBJECT_KEYS = [
  "command",
  "file_path",
  "notebook_path",
  "pattern",
  "url",
  "query",
  "skill",
  "description",
  "path",
];

/** Longer than any line that tells of it; a command may be a whole script. */
const MAX_SUBJECT_LENGTH = 1000;

function toolFrom({ type, id, name, input }: ContentBlock): readonly RunningTool[] {
  if (type !== "tool_use" || typeof id !== "string" || typeof name !== "string") return [];
  const given = isJsonObject(input) ? input : {};
  const subject = SUBJECT_KEYS.map((key) => given[key])
    .find((value) => typeof value === "string" && value !== "") as string | undefined;
  return [{
    id,
    name,
    ...(subject === undefined ? {} : { subject: subject.slice(0, MAX_SUBJECT_LENGTH) }),
  }];
}
