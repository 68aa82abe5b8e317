import { hasCapability } from "../../../claude/versions/profiles.ts";
import type { HookPayload } from "../../control/input.ts";
import { readCommandOutput } from "../../../claude/transcript/special_entries.ts";
import {
  type AssistantEntry,
  type Entry,
  isCompactionBoundary,
  type UserEntry,
} from "../../../claude/transcript/entry.ts";
import { triggerOf } from "../frames/frames_of_entry.ts";
import type { Compaction, OutputState, OutputStep } from "../output_state.ts";
import { FEWEST_ANSWERS } from "./kept_lines.ts";
import { printSentence } from "../result/api_failure.ts";
import { systemFrame } from "../frames/frame_context.ts";
import { unavailableFrame } from "../frames/assistant_frames.ts";
import { asText } from "../../../json_object.ts";
import { withCallbacks } from "../frames/hook_frames.ts";
import { emitAfterInit, emitImmediately, startTurn } from "../emit_frames.ts";

/** The error of a compaction that makes no request. The child never writes this word. */
const NO_REQUEST = "too_few_groups";
/** The beginning of the API's error when the model's context is full. */
const TOO_LONG = "Prompt is too long";

/**
 * Records a hook's report about a compaction. Compactions of subagents are not printed.
 *
 * @returns whether the hook was about a compaction
 */
export function recordCompactionHook(
  step: OutputStep,
  { event, payload, at }: {
    readonly event: string;
    readonly payload: HookPayload;
    /** When the hook ran, in milliseconds since the epoch. */
    readonly at: number;
  },
): boolean {
  const { compactions } = step.state;
  const isOwn = payload["agent_id"] === undefined;
  if (event === "PreCompact" && isOwn) {
    const begun: Compaction = { since: at, isEmitted: false, hasSucceeded: false };
    step.update({ compactions: [...compactions, begun] });
    return true;
  }
  const last = compactions.at(-1);
  if (last === undefined) return false;
  const change = (more: Partial<Compaction>): true => {
    step.update({ compactions: [...compactions.slice(0, -1), { ...last, ...more }] });
    return true;
  };
  if (event === "PostCompact" && isOwn) return change({ hasSucceeded: true });
  const error = payload["last_assistant_message"];
  return isOfSummary(event, payload) && typeof error === "string" && change({ error });
}

/** Whether the request for a summary has failed: its agent has an id, but no type. */
function isOfSummary(event: string, { agent_id, agent_type }: HookPayload): boolean {
  return event === "StopFailure" && agent_id !== undefined && !agent_type;
}

/**
 * Whether lines from before a compaction are still unread. Claude Code begins a compaction after the model has received
 * a prompt or the results of its tools.
 */
export function isMissingLines({ kept: { entries }, compactions }: OutputState): boolean {
  if (compactions.every((each) => each.isEmitted)) return false;
  for (let line = entries; line !== undefined; line = line.before) {
    const { type } = line.last;
    if (type === "user" || type === "assistant") return type === "assistant";
  }
  return true;
}

/**
 * Emits that a compaction has begun, once all lines from before it have been emitted. The next compaction begins when
 * the outcome of the first is known.
 */
export function emitCompactionStart(step: OutputStep): void {
  const [first, ...others] = step.state.compactions;
  if (first === undefined || first.isEmitted) return;
  step.update({ compactions: [{ ...first, isEmitted: true }, ...others] });
  emitCompacting(step);
}

/** Emits what a line shows of compactions: that a compaction has begun before the line, and its outcome. */
export function emitCompactionOutcome(step: OutputStep, entry: Entry): void {
  if (!isCompactionBoundary(entry)) {
    let [first] = step.state.compactions;
    while (first !== undefined && !first.hasSucceeded && isAnswerSince(entry, first)) {
      emitFailure(step);
      [first] = step.state.compactions;
    }
    return;
  }
  const { compactions } = step.state;
  if (compactions.length === 0) {
    // No hook has reported this compaction: the user typed it. Claude Code writes the line of its prompt after the
    // lines of the compaction.
    if (triggerOf(entry) === "manual") {
      step.update({ typedCommand: { command: "compact" } });
      startTurn(step);
    }
    emitCompacting(step);
  } else {
    const succeeded = compactions.findIndex(({ hasSucceeded }) => hasSucceeded);
    const failed = succeeded < 0 ? compactions.length - 1 : succeeded;
    for (let count = 0; count < failed; count++) emitFailure(step);
  }
  emitOutcome(step, { compact_result: "success" });
}

/**
 * Whether a line waits for the outcome of an earlier compaction. Claude Code may write the summary after the next
 * answer. On a busy machine, the hook that names the error may also be received after that answer.
 */
export function waitsForOutcome(state: OutputState, entry: Entry): boolean {
  if (isCompactionBoundary(entry) || isSummary(entry) || isEnd(entry)) return false;
  if (state.awaitsSummary || state.deferredLines !== undefined) return true;
  const [first] = state.compactions;
  if (first === undefined || first.isOverdue || !isAnswerSince(entry, first)) return false;
  // Claude Code requests a summary only if there are enough answers.
  const isAskedFor = state.kept.answers.size >= FEWEST_ANSWERS;
  return first.hasSucceeded || (first.error === undefined && isAskedFor);
}

/** Whether a line is the summary of a compacted conversation. */
export function isSummary(entry: Entry): boolean {
  return entry.type === "user" && entry["isCompactSummary"] === true &&
    entry.isSidechain !== true;
}

/** Whether a line ends its turn: no summary follows it. */
export function isEnd(entry: Entry): boolean {
  return entry.type === "system" && entry.subtype === "turn_duration";
}

/**
 * Whether a line is an answer that was written after a compaction has begun. An error because of a too long prompt may
 * have an earlier time than the compaction.
 */
function isAnswerSince(entry: Entry, { since }: Compaction): boolean {
  return entry.type === "assistant" && entry.isSidechain !== true &&
    (Date.parse(entry.timestamp ?? "") > since || isTooLong(entry));
}

function isTooLong({ isApiErrorMessage, message: { content } }: AssistantEntry): boolean {
  const text = content[0]?.text;
  return isApiErrorMessage === true && typeof text === "string" && text.startsWith(TOO_LONG);
}

function emitFailure(step: OutputStep): void {
  const error = step.state.compactions[0]?.error;
  emitOutcome(step, {
    compact_result: "failed",
    compact_error: error === undefined ? NO_REQUEST : reasonOf(error),
  });
}

/** Returns the reason that `claude -p` prints for a failed request for a summary. */
function reasonOf(error: string): string {
  return error.startsWith(TOO_LONG) ? "exhausted" : printSentence(error);
}

/** Emits the outcome of the first compaction that has none yet. */
function emitOutcome(step: OutputStep, fields: Readonly<Record<string, unknown>>): void {
  const [first, ...compactions] = step.state.compactions;
  if (first !== undefined && !first.isEmitted) emitCompacting(step);
  step.update({ compactions });
  emitStatus(step, { status: null, ...fields });
}

function emitCompacting(step: OutputStep): void {
  const { typedCommand, version } = step.state;
  const counts = typedCommand === undefined && hasCapability(version, "countsCompaction");
  emitStatus(step, {
    status: "compacting",
    // `claude -p` counts the characters while the summary is written; the child does not print the count.
    ...(counts ? { compact_output_chars: 0 } : {}),
  });
}

/** Emits `system/status`, after `system/init` unless the compaction was typed. */
function emitStatus(step: OutputStep, fields: Readonly<Record<string, unknown>>): void {
  const emit = step.state.typedCommand === undefined ? emitAfterInit : emitImmediately;
  emit(step, (context) => [systemFrame("status", fields, context)]);
}

const ARGUMENTS = /<command-args>([\s\S]*)<\/command-args>/u;

/** The text of `claude -p` if there is no conversation yet. It does not count as an attempt. */
const NOTHING = "Error: No messages to compact";

/** The child's text about a compaction that was stopped, and the error of `claude -p` in this case. */
const CANCELED = /^Compaction canceled\.$/u;
const ABORTED = "API Error: Request was aborted.";

/** The beginning of the text if a hook forbids a compaction. */
const BLOCKED = "Compaction blocked by PreCompact hook";

/** Returns the reason that `claude -p` prints for a typed compaction with this output of the child. */
function whyTypedFailed(text: string): string {
  if (CANCELED.test(text)) return ABORTED;
  return text.startsWith(BLOCKED) ? `skipped: ${text}` : text;
}

/**
 * Records the outcome of a typed /compact. Emits the frames of a failed one; the boundary line emits those of a
 * successful one.
 */
export function emitTypedCompaction(step: OutputStep, entry: Entry): void {
  const { typedCommand, prompt } = step.state;
  if (entry.type === "user" && entry.meaning === "local-command" && typedCommand !== undefined) {
    step.update({ typedCommand: { command: "compact", result: "" } });
    return;
  }
  const output = readCommandOutput(entry);
  const args = prompt && argumentsOf(prompt);
  if (entry.type !== "system" || output === undefined || args === undefined) return;
  const text = withCallbacks(output);
  const { earlier, results, otherResults } = step.state;
  const isAttempt = earlier.some(({ type }) => type === "user") || results + otherResults > 0;
  step.update({
    typedCommand: { command: "compact", result: isAttempt && !CANCELED.test(text) ? text : "" },
  });
  if (isAttempt) {
    emitStatus(step, { status: "compacting" });
    emitStatus(step, {
      status: null,
      compact_result: "failed",
      compact_error: whyTypedFailed(text),
    });
  }
  emitAfterInit(step, ({ version, sessionId, newUuid }) => [
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
  ]);
}

/** Returns the arguments of a prompt that is a /compact; undefined for any other prompt. */
function argumentsOf({ message: { content } }: UserEntry): string | undefined {
  return typeof content === "string" && content.startsWith("<command-name>/compact</")
    ? ARGUMENTS.exec(content)?.[1] ?? ""
    : undefined;
}
