import { hasCapability } from "../../../claude/versions/profiles.ts";
import type { HookPayload } from "../../control/input.ts";
import { commandOutput } from "../../../claude/transcript/special_entries.ts";
import {
  type AssistantEntry,
  type Entry,
  isBoundary,
  type UserEntry,
} from "../../../claude/transcript/entry.ts";
import { triggerOf } from "../frames/frames_of_entry.ts";
import {
  and,
  type Compaction,
  type FramesState,
  type Told,
  told,
} from "../telling/frames_state.ts";
import { beginTurn } from "../telling/beginning.ts";
import { FEWEST_ANSWERS } from "../telling/kept_lines.ts";
import { printSentence } from "../result/api_failure.ts";
import { say, sayEarly } from "../telling/saying.ts";
import { systemFrame } from "../frames/frame_context.ts";
import { unavailableFrame } from "../frames/assistant_frames.ts";
import { asText } from "../../../json_object.ts";
import { withCallbacks } from "../frames/hook_frames.ts";

/** Why a compaction fails that makes no request. Nothing that the child writes holds this word. */
const NO_REQUEST = "too_few_groups";
/** What Claude Code says where the model's context has no room. */
const TOO_LONG = "Prompt is too long";

/** Takes what a hook tells of compactions; those of subagents are not printed. */
export function hearCompaction(
  state: FramesState,
  { event, payload, at }: {
    readonly event: string;
    readonly payload: HookPayload;
    /** When the hook ran, in milliseconds since the epoch. */
    readonly at: number;
  },
): FramesState {
  const { compactions } = state;
  const isOwn = payload["agent_id"] === undefined;
  if (event === "PreCompact" && isOwn) {
    const begun: Compaction = { since: at, told: false, done: false };
    return { ...state, compactions: [...compactions, begun] };
  }
  const last = compactions.at(-1);
  if (last === undefined) return state;
  const changed = (more: Partial<Compaction>): FramesState => ({
    ...state,
    compactions: [...compactions.slice(0, -1), { ...last, ...more }],
  });
  if (event === "PostCompact" && isOwn) return changed({ done: true });
  const error = payload["last_assistant_message"];
  return isOfSummary(event, payload) && typeof error === "string" ? changed({ error }) : state;
}

/** Whether the request for a summary has failed: the agent that makes it has an id, but no type. */
function isOfSummary(event: string, { agent_id, agent_type }: HookPayload): boolean {
  return event === "StopFailure" && agent_id !== undefined && !agent_type;
}

/**
 * Whether lines from before a compaction are missing still: Claude Code begins one when something has been said to the
 * model, be it a prompt or what its tools gave.
 */
export function isAwaited({ kept: { entries }, compactions }: FramesState): boolean {
  if (compactions.every((each) => each.told)) return false;
  for (let line = entries; line !== undefined; line = line.before) {
    const { type } = line.last;
    if (type === "user" || type === "assistant") return type === "assistant";
  }
  return true;
}

/**
 * Says that a compaction has begun, when all lines that were written before have been told: another one begins when the
 * outcome of the first is known.
 */
export function tellBegun(state: FramesState): Told {
  const [first, ...others] = state.compactions;
  if (first === undefined || first.told) return told(state);
  return sayBegun({ ...state, compactions: [{ ...first, told: true }, ...others] });
}

/** Says what a line shows of compactions: that one was begun before it, and what has come of it. */
export function tellOutcome(state: FramesState, entry: Entry): Told {
  if (!isBoundary(entry)) {
    const [first] = state.compactions;
    if (first === undefined || first.done || !isAnswerSince(entry, first)) return told(state);
    return and(sayFailed(state), (state) => tellOutcome(state, entry));
  }
  if (state.compactions.length === 0) {
    // No hook of ours has told: it was typed.
    const isTyped = triggerOf(entry) === "manual";
    // The line of its prompt is written behind those of the compaction.
    const begun = isTyped ? beginTurn({ ...state, typed: { command: "compact" } }) : told(state);
    return and(
      and(begun, sayBegun),
      (state) => sayOutcome(state, { compact_result: "success" }),
    );
  }
  const succeeded = state.compactions.findIndex(({ done }) => done);
  const failed = succeeded < 0 ? state.compactions.length - 1 : succeeded;
  let next = told(state);
  for (let count = 0; count < failed; count++) next = and(next, sayFailed);
  return and(next, (state) => sayOutcome(state, { compact_result: "success" }));
}

/**
 * Whether a line has to wait for the outcome of a compaction before it: the summary may be written after the answer to
 * it, and on a busy machine the hook that names the error comes after that answer.
 */
export function isAheadOfOutcome(state: FramesState, entry: Entry): boolean {
  if (isBoundary(entry) || isSummary(entry) || isEnd(entry)) return false;
  if (state.unsummed || state.ahead !== undefined) return true;
  const [first] = state.compactions;
  if (first === undefined || first.overdue || !isAnswerSince(entry, first)) return false;
  return first.done || first.error === undefined && isWorthSummary(state);
}

/** Whether there is enough of a conversation for a summary to be asked for. */
function isWorthSummary({ kept: { answers } }: FramesState): boolean {
  return answers.size >= FEWEST_ANSWERS;
}

/** Whether a line is the summary of what has been compacted. */
export function isSummary(entry: Entry): boolean {
  return entry.type === "user" && entry["isCompactSummary"] === true &&
    entry.isSidechain !== true;
}

/** Whether a line says that the turn is over: no summary follows it. */
export function isEnd(entry: Entry): boolean {
  return entry.type === "system" && entry.subtype === "turn_duration";
}

/**
 * Whether a line is an answer to what a compaction has left. An error because the prompt is too long may have an earlier
 * time than the compaction.
 */
function isAnswerSince(entry: Entry, { since }: Compaction): boolean {
  return entry.type === "assistant" && entry.isSidechain !== true &&
    (Date.parse(entry.timestamp ?? "") > since || isTooLong(entry));
}

function isTooLong({ isApiErrorMessage, message: { content } }: AssistantEntry): boolean {
  const text = content[0]?.text;
  return isApiErrorMessage === true && typeof text === "string" && text.startsWith(TOO_LONG);
}

function sayFailed(state: FramesState): Told {
  const error = state.compactions[0]?.error;
  return sayOutcome(state, {
    compact_result: "failed",
    compact_error: error === undefined ? NO_REQUEST : reasonOf(error),
  });
}

/** What `claude -p` says of a request for a summary that was made in vain. */
function reasonOf(error: string): string {
  return error.startsWith(TOO_LONG) ? "exhausted" : printSentence(error);
}

/** Says what came of the first compaction of which that has not been said. */
function sayOutcome(state: FramesState, fields: Readonly<Record<string, unknown>>): Told {
  const [first, ...compactions] = state.compactions;
  const begun = first === undefined || first.told ? told(state) : sayBegun(state);
  return and(begun, (state) => sayStatus({ ...state, compactions }, { status: null, ...fields }));
}

function sayBegun(state: FramesState): Told {
  const counts = state.typed === undefined && hasCapability(state.version, "countsCompaction");
  return sayStatus(state, {
    status: "compacting",
    // `claude -p` counts while the summary is written; the child does not print the count.
    ...(counts ? { compact_output_chars: 0 } : {}),
  });
}

/** Says what Claude Code is at, after `system/init` unless somebody typed a command. */
function sayStatus(state: FramesState, fields: Readonly<Record<string, unknown>>): Told {
  const speak = state.typed === undefined ? say : sayEarly;
  return speak(state, (context) => [systemFrame("status", fields, context)]);
}

const ARGUMENTS = /<command-args>([\s\S]*)<\/command-args>/u;

/** What `claude -p` says where there is no conversation yet, which is no attempt. */
const NOTHING = "Error: No messages to compact";

/** What the child writes of a compaction that was stopped, and what `claude -p` says of it. */
const CANCELED = /^Compaction canceled\.$/u;
const ABORTED = "API Error: Request was aborted.";

/** How what Claude Code says begins where a hook forbids one. */
const BLOCKED = "Compaction blocked by PreCompact hook";

/** Why a typed one has failed, from what Claude Code says of it. */
function whyTypedFailed(text: string): string {
  if (CANCELED.test(text)) return ABORTED;
  return text.startsWith(BLOCKED) ? `skipped: ${text}` : text;
}

/**
 * Notes what came of a typed /compact, and emits the frames of one that failed. Those of one that succeeded come with its
 * boundary.
 */
export function tellTyped(state: FramesState, entry: Entry): Told {
  if (entry.type === "user" && entry.meaning === "local-command" && state.typed !== undefined) {
    return told({ ...state, typed: { command: "compact", result: "" } });
  }
  const output = commandOutput(entry);
  const args = state.prompt && argumentsOf(state.prompt);
  if (entry.type !== "system" || output === undefined || args === undefined) return told(state);
  const text = withCallbacks(output);
  const isAttempt = state.earlier.some(({ type }) => type === "user") ||
    state.results + state.locals > 0;
  const result = isAttempt && !CANCELED.test(text) ? text : "";
  const begun: FramesState = { ...state, typed: { command: "compact", result } };
  const why = whyTypedFailed(text);
  const failed = { status: null, compact_result: "failed", compact_error: why };
  const attempted = isAttempt
    ? and(
      sayStatus(begun, { status: "compacting" }),
      (state) => sayStatus(state, failed),
    )
    : told(begun);
  return and(attempted, (state) =>
    say(state, ({ version, sessionId, newUuid }) => [
      unavailableFrame(isAttempt ? text : NOTHING, {
        version,
        sessionId,
        uuid: entry.uuid ?? newUuid(),
        messageId: newUuid(),
        timestamp: entry.timestamp ?? "",
        failed: {
          source: isAttempt
            ? withCallbacks(asText(entry["content"]))
            : `<local-command-stderr>${NOTHING}</local-command-stderr>`,
          run: { command: "compact", args },
        },
      }),
    ]));
}

/** What follows the /compact that a prompt is; undefined for another prompt. */
function argumentsOf({ message: { content } }: UserEntry): string | undefined {
  return typeof content === "string" && content.startsWith("<command-name>/compact</")
    ? ARGUMENTS.exec(content)?.[1] ?? ""
    : undefined;
}
