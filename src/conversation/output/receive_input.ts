import { chained } from "../../chain.ts";
import type { Input } from "../control/input.ts";
import { type LateTerms, limitsOf } from "../control/session_options.ts";
import type { Entry } from "../../claude/transcript/entry.ts";
import { replaceConfigFolder } from "../../claude/transcript/moved_lines.ts";
import { addSpent } from "../../claude/transcript/cost.ts";
import { emitWaitingTurns, isAheadOfSubagent, SUBAGENT_DELAY } from "./lines/waiting_turns.ts";
import { earlyAnswer } from "./lines/line_order.ts";
import {
  emitHeartbeats,
  emitLongShells,
  msUntilHeartbeat,
  msUntilLongShell,
} from "./live/long_calls.ts";
import { emitUpToUnstartedCall } from "./subagents/begun_calls.ts";
import type { OutputEffect, OutputState, OutputStep } from "./output_state.ts";
import { noLines } from "./lines/kept_lines.ts";
import { isJsonObject } from "../../json_object.ts";
import {
  readOutputCalls,
  renameOutputTool,
  toBuiltInOutput,
} from "../../claude/transcript/structured_output_tool.ts";
import { emitCompactionStart, isMissingLines, recordCompactionHook } from "./lines/compaction.ts";
import { emitLinesAfterCompaction, emitReadLines } from "./lines/emit_lines.ts";
import {
  emitAfterPendingResult,
  emitEarlyResults,
  isCostSettled,
  recordStop,
} from "./turns/turn_results.ts";
import { emitInit } from "./emit_frames.ts";
import { emitMirror, emitWithMirror, recordForMirror } from "./mirror.ts";
import { receiveMessage } from "./messages.ts";
import { emitLiveAnswers } from "./live/live_answers.ts";
import { receiveStreamPart } from "./live/exact_stream.ts";
import { receiveShell, receiveShellEnd, receiveShellOutput } from "./live/shell_output.ts";
import { receiveTaskHook } from "./subagents/hooked_tasks.ts";
import { receiveText, receiveToolBatch } from "./live/partial_messages.ts";
import { emitMissedRetry, receiveApiRetry, recordFault } from "./api_retries.ts";

/**
 * How long `system/init` waits, after the prompt's line, for the lines that describe the session. They come within a
 * second. On a machine with 30 busy processes they took more than two seconds, and `system/init` had no tools.
 */
const INIT_DELAY = { type: "deadline", name: "init", afterMs: 10_000 } as const;
/**
 * How long the lines before a compaction may take to be read, unless its outcome comes sooner. Claude Code delays them
 * by 0.1 s, on a busy machine by more than 0.3 s. The model takes many seconds for a summary.
 */
const COMPACTION_DELAY = { type: "deadline", name: "compaction", afterMs: 1000 } as const;
/** How long a result may wait for the cost of its turn. The status line runs 0.3 s after the turn. */
const PRICE_DELAY = { type: "deadline", name: "priced", afterMs: 1000 } as const;
/** The delay before the next look at the running shells, if it is not certain which shell belongs to which call. */
const LOOK_AGAIN_MS = 500;

/** Emits the frames that `claude -p` would print after an input, and returns the deadlines that follow. */
export function receiveInput(step: OutputStep, given: Input): readonly OutputEffect[] {
  const input = withOwnOutputTool(step, given);
  emitMissedRetry(step, input);
  const effects = receiveAfterPendingResult(step, input);
  emitLiveAnswers(step);
  return effects;
}

/** Receives an input. If a result waits for its cost, the result is emitted before the frames of the input. */
function receiveAfterPendingResult(step: OutputStep, input: Input): readonly OutputEffect[] {
  const wasPending = step.state.awaitingCost !== undefined;
  const effects = emitAfterPendingResult(step, () => receive(step, input));
  const isPending = step.state.awaitingCost !== undefined;
  return isPending && !wasPending ? [...effects, PRICE_DELAY] : effects;
}

/** An input of one type. */
type InputOf<Type extends Input["type"]> = Extract<Input, { readonly type: Type }>;

function receive(step: OutputStep, input: Input): readonly OutputEffect[] {
  const now = step.state.options.startedAt + input.at;
  switch (input.type) {
    case "cost":
      receiveCost(step, input);
      return [];
    case "hook":
      return receiveHook(step, input);
    case "read":
      return emitRead(step, now);
    case "shells":
      return receiveShells(step, input, now);
    case "deadline":
      return receiveDeadline(step, input);
    case "transcript":
    case "subagent":
    case "subagent-note":
      recordLine(step, input);
      return [];
    default:
      receiveOther(step, input);
      return [];
  }
}

/** Receives an input that has no effects except frames. */
function receiveOther(step: OutputStep, input: Input): void {
  switch (input.type) {
    case "earlier":
      step.update({ earlier: input.entries, kept: noLines(input.entries) });
      return;
    case "terms":
      applyTerms(step, input.terms);
      return;
    case "message":
      receiveMessage(step, input.message);
      return;
    case "closed":
      step.update({ inputClosed: true });
      return;
    case "consulted":
      if ("response" in input.said && input.said.init) step.update({ described: input.said.init });
      return;
    case "fault":
      recordFault(step, input.fault);
      return;
    case "retry":
      receiveApiRetry(step, input.retry);
      return;
    case "stream":
      receiveStreamPart(step, input);
      return;
    case "shell":
      receiveShell(step, input);
      return;
    case "shell-output":
      receiveShellOutput(step, input);
      return;
    case "shell-over":
      receiveShellEnd(step, input);
  }
}

/** Records a line until all lines that the child has written so far have been read. */
function recordLine(
  step: OutputStep,
  input: InputOf<"transcript"> | InputOf<"subagent"> | InputOf<"subagent-note">,
): void {
  const { state } = step;
  switch (input.type) {
    case "transcript": {
      const entry = asAtHome(state, input.entry);
      step.update({ ownLines: chained(state.ownLines, entry) });
      recordForMirror(step, { entry });
      return;
    }
    case "subagent": {
      const line = asAtHome(state, input.line);
      step.update({ subagentLines: chained(state.subagentLines, line) });
      recordForMirror(step, { agentId: line.subagent.agentId, entry: line.entry });
      return;
    }
    case "subagent-note":
      recordForMirror(step, { agentId: input.agentId, note: asAtHome(state, input.note) });
  }
}

/** Receives the ids of the running shells. */
function receiveShells(
  step: OutputStep,
  { ids, startedAt }: InputOf<"shells">,
  now: number,
): readonly OutputEffect[] {
  emitLongShells(step, { running: ids, startedAt, now });
  const afterMs = msUntilLongShell(step.state, now);
  return afterMs === undefined ? [] : [lookAtShells(Math.max(LOOK_AGAIN_MS, afterMs))];
}

/** The earlier cost, for a child that counts only its own cost. */
const NOTHING_PAID = { totalUsd: 0, apiDurationMs: 0 };

/** Receives the cost of the conversation from the status line. A result may wait for it. */
function receiveCost(step: OutputStep, input: InputOf<"cost">): void {
  const { options, reporting, overspentAt, paidBefore, awaitingCost } = step.state;
  // A child that resumes a session may continue to count the session's cost.
  const { before } = options;
  const isOurs = before !== undefined && input.totalUsd < before.totalUsd;
  const { paid = isOurs ? before : NOTHING_PAID } = step.state;
  const cost = addSpent(input, paid);
  const { ranAt = options.startedAt + input.at } = input;
  const { maxBudgetUsd } = reporting;
  const isOverspent = maxBudgetUsd !== undefined && cost.totalUsd >= maxBudgetUsd;
  step.update({
    paid,
    costReportedAt: input.ranAt,
    cost,
    overspentAt: isOverspent ? overspentAt ?? ranAt : undefined,
    paidBefore: paidBefore ?? cost.totalUsd,
    ...(input.limits === undefined ? {} : { limits: input.limits }),
  });
  if (awaitingCost !== undefined && isCostSettled(step.state, awaitingCost.at)) {
    emitEarlyResults(step);
  }
}

/** Receives a hook's report. No line shows its facts, or only a later line. */
function receiveHook(
  step: OutputStep,
  { event, payload, ranAt, callback, at: receivedAt }: InputOf<"hook">,
): readonly OutputEffect[] {
  if (event === "PostToolBatch") receiveToolBatch(step, payload);
  const model = payload["model"];
  if (event === "SessionStart" && typeof model === "string") {
    step.update({ model });
    return [];
  }
  if (event === "MessageDisplay") {
    receiveText(step, payload);
    return [];
  }
  const { compactions, options } = step.state;
  const at = ranAt ?? options.startedAt + receivedAt;
  // A hook of this program reports a compaction. A typed compaction needs no report.
  const isOfCompaction = callback === undefined &&
    recordCompactionHook(step, { event, payload, at });
  if (step.state.compactions.length > compactions.length) return [COMPACTION_DELAY];
  if (event === "Stop") recordStop(step, { payload, ranAt });
  else if (callback !== undefined) {
    receiveTaskHook(step, { event, payload, at });
  } else if (isOfCompaction) {
    const { deferredLines, awaitsSummary, compactions: [first] } = step.state;
    if (deferredLines !== undefined && !awaitsSummary && first?.error !== undefined) {
      emitLinesAfterCompaction(step);
    }
  }
  return [];
}

/** Emits all lines that the child has written so far, unless other frames have to come before them. */
function emitRead(step: OutputStep, now: number): readonly OutputEffect[] {
  const version = earlyAnswer(step.state);
  if (version !== undefined) {
    // The lines stay pending, and are emitted later.
    step.update({ version });
    emitMirror(step);
    return [INIT_DELAY];
  }
  if (isAheadOfSubagent(step.state)) {
    const { awaitsSubagent } = step.state;
    step.update({ awaitsSubagent: true });
    emitMirror(step);
    return awaitsSubagent ? [] : [SUBAGENT_DELAY];
  }
  const before = watchedState(step.state);
  let isHeldBack = false;
  emitWithMirror(step, () => {
    isHeldBack = emitUpToUnstartedCall(step);
    if (!isHeldBack) emitWaitingTurns(step, emitReadLines);
  });
  const effects = deadlinesAfter(step.state, before, now);
  return isHeldBack ? [...effects, ...callDeadline(step.state, before)] : effects;
}

/** Receives a deadline: the expected input has not come in time. */
function receiveDeadline(
  step: OutputStep,
  { name, at }: InputOf<"deadline">,
): readonly OutputEffect[] {
  const now = step.state.options.startedAt + at;
  switch (name) {
    case "compaction": {
      if (!isMissingLines(step.state)) emitCompactionStart(step);
      return step.state.compactions.every((each) => each.isEmitted) ? [] : [COMPACTION_DELAY];
    }
    case "priced":
      if (step.state.awaitingCost !== undefined) emitEarlyResults(step);
      return [];
    case "beat":
      emitHeartbeats(step, now);
      return [nextBeat(step.state, now)];
    case "init": {
      const before = watchedState(step.state);
      // Lines that wait for a subagent's lines have a deadline of their own. Some lines come before `system/init`.
      if (step.state.awaitsSubagent) return [];
      emitInit(step);
      if (!emitUpToUnstartedCall(step)) emitWaitingTurns(step, emitReadLines);
      return callDeadline(step.state, before);
    }
    case "subagent": {
      const { awaitsSubagent, unstartedCall } = step.state;
      if (!awaitsSubagent && unstartedCall === undefined) return [];
      const before = watchedState(step.state);
      step.update({ awaitsSubagent: false, unstartedCall: undefined });
      emitWithMirror(step, () => emitWaitingTurns(step, emitReadLines));
      return deadlinesAfter(step.state, before, now);
    }
    case "shells":
      return [{ type: "list-shells" }];
    default:
      return [];
  }
}

/** The parts of a state whose changes lead to deadlines. */
interface WatchedState extends Pick<OutputState, "shells" | "openCalls" | "unstartedCall"> {
  readonly hasPrompt: boolean;
}

function watchedState({ prompt, shells, openCalls, unstartedCall }: OutputState): WatchedState {
  return { hasPrompt: prompt !== undefined, shells, openCalls, unstartedCall };
}

/** Returns the deadline for the beginning of a subagent, if lines after its call now wait for it. */
function callDeadline(
  { unstartedCall }: OutputState,
  before: WatchedState,
): readonly OutputEffect[] {
  return unstartedCall === undefined || unstartedCall.id === before.unstartedCall?.id
    ? []
    : [SUBAGENT_DELAY];
}

/** Applies the options of a caller that took a warm child. */
function applyTerms(step: OutputStep, terms: LateTerms): void {
  const { replayMessages, subagentText, hookEvents } = terms;
  const { options, reporting } = step.state;
  const { replay: _, subagentText: __, hookEvents: ___, ...others } = options;
  step.update({
    options: {
      ...others,
      ...(replayMessages ? { replay: true } : {}),
      ...(subagentText ? { subagentText: true } : {}),
      ...(hookEvents ? { hookEvents: true } : {}),
    },
    reporting: { ...reporting, limits: limitsOf(terms) },
  });
}

/**
 * Returns a line with the paths of the run's own folder replaced by those in the user's home, if the run's files go
 * there.
 */
function asAtHome<Line>({ options: { homes } }: OutputState, line: Line): Line {
  return homes === undefined ? line : replaceConfigFolder(line, homes);
}

/** Records a line that a forked session has copied from its original session. Only the mirror prints it. */
export function recordCopied(step: OutputStep, entry: Entry): void {
  recordForMirror(step, { entry: asAtHome(step.state, entry) });
}

/** Returns the deadlines that new lines need: for `system/init`, for long-running shells, and for open calls. */
function deadlinesAfter(
  state: OutputState,
  before: WatchedState,
  now: number,
): readonly OutputEffect[] {
  const { prompt, hasInit, shells, openCalls } = state;
  const shellsChanged = shells !== before.shells;
  const afterMs = shellsChanged ? msUntilLongShell(state, now) : undefined;
  return [
    ...prompt !== undefined && !before.hasPrompt && !hasInit ? [INIT_DELAY] : [],
    ...shellsChanged
      ? [
        afterMs === undefined
          ? { type: "deadline", name: "shells" } as const
          : lookAtShells(afterMs),
      ]
      : [],
    ...openCalls === before.openCalls ? [] : [nextBeat(state, now)],
  ];
}

/** Returns the deadline at which `tool_progress` is due for the calls that still run. */
export function nextBeat(state: OutputState, now: number): OutputEffect {
  const afterMs = msUntilHeartbeat(state, now);
  return { type: "deadline", name: "beat", ...(afterMs === undefined ? {} : { afterMs }) };
}

function lookAtShells(afterMs: number): OutputEffect {
  return { type: "deadline", name: "shells", afterMs };
}

/**
 * Returns an input as if the tool for structured answers were Claude Code's own, as it is in `claude -p`. Here an MCP
 * server of this program has the tool, which changes its name and its results.
 */
function withOwnOutputTool(step: OutputStep, input: Input): Input {
  const { outputCalls } = step.state;
  if (outputCalls === undefined) return input;
  if (input.type === "transcript") {
    const made = readOutputCalls(input.entry);
    const calls = made.length === 0 ? outputCalls : new Set([...outputCalls, ...made]);
    if (calls !== outputCalls) step.update({ outputCalls: calls });
    return { ...input, entry: toBuiltInOutput(input.entry, calls) };
  }
  if (input.type === "stream") {
    const { part } = input;
    if (part.kind !== "event" || !isJsonObject(part.event["content_block"])) return input;
    const block = renameOutputTool(part.event["content_block"]);
    return { ...input, part: { ...part, event: { ...part.event, content_block: block } } };
  }
  return input;
}
