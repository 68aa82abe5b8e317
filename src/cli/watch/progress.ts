import type { ContentBlock, Entry } from "../../claude/transcript/entry.ts";
import { definedFields } from "../../defined_fields.ts";
import { isJsonObject } from "../../json_object.ts";
import { type Input, isTurnFailure } from "../../conversation/control/input.ts";
import { transcriptSign } from "../../conversation/control/transcript_sign.ts";

/** A tool call in the form that is shown to a person. */
export interface ShownCall {
  readonly name: string;
  /** The command, file, pattern or similar value in its input, if there is one. */
  readonly subject?: string;
}

/** A tool call that has no result yet. */
export interface RunningTool extends ShownCall {
  readonly id: string;
}

/**
 * The progress of a run, for a person who waits for it.
 *
 * - `starting`: Claude Code has not accepted the prompt yet
 * - `working`: the turn is running
 * - `waiting`: the turn waits for background tasks
 * - `retrying`: a request to the API failed and is repeated
 * - `ending`: Claude Code is about to exit
 */
export interface Progress {
  readonly phase: "starting" | "working" | "waiting" | "retrying" | "ending";
  /** The number of tasks while `waiting`, the attempt while `retrying`, otherwise 0. */
  readonly count: number;
  /** The running tools, in the order of the calls. */
  readonly tools: readonly RunningTool[];
  /**
   * Output tokens of all answers except the last. Each line of an answer repeats its tokens, so those of the last
   * answer are stored separately.
   */
  readonly counted: number;
  readonly last: { readonly id: string; readonly tokens: number };
}

export const INITIAL_PROGRESS: Progress = {
  phase: "starting",
  count: 0,
  tools: [],
  counted: 0,
  last: { id: "", tokens: 0 },
};

/** Updates the progress after an input; most inputs change nothing. */
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

/** A line of the transcript may begin a turn or end tool calls. An answer calls tools and has a number of tokens. */
function onLine(progress: Progress, entry: Entry): Progress {
  const { prompt, returned } = transcriptSign(entry);
  // The last answer is written after the Stop hook. Only a prompt begins another turn.
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

/** Keys in the input of Claude Code's tools, the most informative first. */
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

/** The maximum length of a subject, longer than any terminal line. A command may be a long script. */
const MAX_SUBJECT_LENGTH = 1000;

function toolFrom({ type, id, name, input }: ContentBlock): readonly RunningTool[] {
  if (type !== "tool_use" || typeof id !== "string" || typeof name !== "string") return [];
  return [{ id, ...shownCall(name, input) }];
}

/** Returns a call in the form that is shown to a person. */
export function shownCall(name: string, input: unknown): ShownCall {
  const given = isJsonObject(input) ? input : {};
  const subject = SUBJECT_KEYS.map((key) => given[key])
    .find((value) => typeof value === "string" && value !== "") as string | undefined;
  return definedFields({ name, subject: subject?.slice(0, MAX_SUBJECT_LENGTH) });
}
