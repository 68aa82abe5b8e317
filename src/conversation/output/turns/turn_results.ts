import {
  completeMessages,
  isSame,
  receiveMessage,
  splitLifecycle,
  takeMessage,
} from "../messages.ts";
import { describedModel, emitInit, emitSystemFrame, newUuid, startTurn } from "../emit_frames.ts";
import {
  type OutputState,
  type OutputStep,
  startOutput,
  type TurnEnd,
  type TurnStop,
} from "../output_state.ts";
import { isInterrupted, reportTurns } from "./report_turns.ts";
import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import type { SettledMessage } from "../../control/message.ts";
import { slashWord } from "../../control/prompt/prompt_text.ts";
import type { Frame } from "../../../claude/wire/frame.ts";
import { unavailableFrame } from "../frames/assistant_frames.ts";
import { noLines } from "../lines/kept_lines.ts";
import { costSoFar, outputLimits, sessionUsage } from "./conversation_cost.ts";
import {
  forgetReported,
  type RunTurns,
  runTurns,
  safetyStopsOf,
  subagentsOf,
  sumOf,
} from "./run_turns.ts";
import { abortedOutcome, type Report, type ReportOptions } from "../result/verdict.ts";
import type { OutputOptions } from "../output_options.ts";
import { emitCommands, emitTitle } from "../session_changes.ts";
import { Step } from "../../step.ts";
import type { HookPayload } from "../../control/input.ts";
import { backgroundTasksOf, isShellsOnly } from "../../control/background_wait.ts";
import type { SystemEntry } from "../../../claude/transcript/entry.ts";
import { collectPermissionDenials } from "../../../claude/transcript/permission_denials.ts";
import { buildResult } from "../result/build_result.ts";
import { withTurns } from "../result/turn_totals.ts";
import type { ResultFrame } from "../../../claude/wire/result_frame.ts";
import type { Turn } from "../../../claude/transcript/turn.ts";
import { endTurnAnswers } from "../live/live_answers.ts";

/** Emits the result of a turn that the child outlives, all of whose lines have been emitted. */
export function emitTurnResult(step: OutputStep, end: TurnEnd): void {
  const { ending, at } = end;
  if (ending.kind === "settled") emitSettled(step, { message: ending.message, at });
  else {
    if (ending.kind === "blocked") takeBlocked(step);
    startTurn(step);
    emitUnwritten(step, end);
  }
  endTurnAnswers(step);
  completeMessages(step, { stopped: ending.kind === "aborted" }, () => emitReported(step, end));
}

function emitReported(step: OutputStep, end: TurnEnd): void {
  const { results, options } = step.state;
  const report = reportTurns(step, end);
  const { stopHooks, reports, lateTurns } = step.state;
  const { unwritten, at, ending } = end;
  step.update({
    typedCommand: undefined,
    isBetweenTurns: true,
    // No line ends a stopped turn, not even if its Stop hook named background tasks.
    stopHooks: ending.kind === "aborted" ? [] : stopHooks,
    reports: [...reports, report],
  });
  if (unwritten === undefined || step.state.results !== results) return;
  const turn = { messages: unwritten, at: options.startedAt + at, counted: false };
  step.update({ lateTurns: [...lateTurns, turn] });
}

/** Emits that the child has taken messages whose lines have not been read, and the beginning of their turn. */
function emitUnwritten(step: OutputStep, { unwritten = [], at }: TurnEnd): void {
  const timestamp = new Date(step.state.options.startedAt + at).toISOString();
  const frames = step.capture(() => {
    for (const message of unwritten) {
      takeMessage(step, step.state.awaited.findIndex(isSame(message)), { timestamp });
    }
  });
  const { lifecycle, others } = splitLifecycle(frames);
  step.emit(...lifecycle);
  emitInit(step);
  step.emit(...others);
}

/** Marks the message of a blocked prompt as taken, because no line shows that the child has taken it. */
function takeBlocked(step: OutputStep): void {
  const { awaited: [first, ...awaited], taken } = step.state;
  if (first !== undefined && taken.length === 0) step.update({ awaited, taken: [first] });
}

/** Emits a message that was answered or refused without the child, as if it were a turn. */
function emitSettled(
  step: OutputStep,
  { message, at }: { readonly message: SettledMessage; readonly at: number },
): void {
  const { recent, printed } = runTurns(step.state);
  // First comes a turn whose last line is still unread. Its background tasks outlast it.
  if (recent.length > printed) {
    emitEarlyResults(step);
    emitSettled(step, { message, at });
    return;
  }
  const { settled } = message;
  const { options, awaited } = step.state;
  const timestamp = new Date(options.startedAt + at).toISOString();
  // A message beyond the budget was meant for the child when it arrived.
  const place = awaited.findIndex((one) =>
    (one.way === undefined || settled.kind === "unaffordable") && one.text === message.text
  );
  startTurn(step);
  recordCarriedOut(step, { message, place });
  const { lifecycle, others } = splitLifecycle(
    step.capture(() => takeMessage(step, place, { timestamp })),
  );
  step.emit(...lifecycle);
  if (settled.kind !== "local") {
    emitInit(step);
    step.emit(...others);
    return;
  }
  emitReset(step, { carried: settled.carried, messageId: message.uuid, timestamp });
  emitChanges(step, settled.carried);
  // The headless helper may already have used the model that the next child will have.
  const model = settled.blank === true ? undefined : describedModel(step.state);
  emitInit(step, { version: settled.version, model });
  emitWords(step, { settled, timestamp });
  // A command with an id that was carried out is printed again, in the form that the model receives.
  if (settled.carried === undefined || message.uuid === undefined) return;
  const { sessionId: session_id } = step.state.options;
  step.emit(...others.map((frame): Frame => ({ ...frame, session_id })));
}

type LocalAnswer = Extract<SettledMessage["settled"], { readonly kind: "local" }>;

/** Records an awaited command in the form that the model receives after the command is carried out. */
function recordCarriedOut(
  step: OutputStep,
  { message: { settled, text }, place }: {
    readonly message: SettledMessage;
    readonly place: number;
  },
): void {
  const { awaited } = step.state;
  const message = awaited[place];
  if (message === undefined || settled.kind !== "local" || settled.carried === undefined) return;
  const { name, rest } = slashWord(text) ?? { name: "", rest: "" };
  const content = [
    `<command-name>/${name}</command-name>`,
    `<command-message>${name}</command-message>`,
    `<command-args>${rest}</command-args>`,
  ].join("\n            ");
  step.update({ awaited: awaited.with(place, { ...message, content }) });
}

/** Emits that a command has begun another session. Its costs and counts begin at zero. */
function emitReset(
  step: OutputStep,
  { carried, messageId, timestamp }: {
    readonly carried: LocalAnswer["carried"];
    readonly messageId: string | undefined;
    readonly timestamp: string;
  },
): void {
  if (carried?.begun === undefined) return;
  const { options, earlier } = step.state;
  const { before } = options;
  const uuid = newUuid(step);
  step.emit({
    type: "conversation_reset",
    new_conversation_id: uuid,
    uuid,
    trigger: "clear",
    user_message_uuid: messageId ?? newUuid(step),
    timestamp,
    session_id: options.sessionId,
  });
  emitSystemFrame(step, "background_tasks_changed", { tasks: [] });
  const cost = { totalUsd: 0, apiDurationMs: 0 };
  step.update({
    options: {
      ...options,
      sessionId: carried.begun,
      ...(before === undefined ? {} : { before: { ...before, ...cost, modelUsage: {} } }),
    },
    kept: noLines(earlier),
    subagentsBefore: undefined,
    cost,
    reportedUsage: {},
    paidBefore: 0,
  });
}

/** Emits the title and the commands that a command has changed. */
function emitChanges(
  step: OutputStep,
  { title, commands }: Pick<NonNullable<LocalAnswer["carried"]>, "title" | "commands"> = {},
): void {
  if (title !== undefined) emitTitle(step, title);
  if (commands !== undefined) emitCommands(step, commands);
}

/** Emits the text that `claude -p` prints instead of an answer. */
function emitWords(
  step: OutputStep,
  { settled: { text, version, blank, carried }, timestamp }: {
    readonly settled: LocalAnswer;
    readonly timestamp: string;
  },
): void {
  const words = carried === undefined ? text : carried.words;
  if (words === undefined) return;
  if (blank) {
    emitSystemFrame(step, "informational", { content: words, level: "warning" });
    return;
  }
  step.emit(unavailableFrame(words, {
    version,
    sessionId: step.state.options.sessionId,
    uuid: newUuid(step),
    messageId: newUuid(step),
    timestamp,
    ...(carried === undefined
      ? {}
      : { carriedOut: commandFields(step.state, { carried, timestamp }) }),
  }));
}

/** Returns the fields of a command's frame. The headless helper does not know the usage of the conversation. */
function commandFields(
  state: OutputState,
  { carried: { fields = {} }, timestamp }: {
    readonly carried: NonNullable<LocalAnswer["carried"]>;
    readonly timestamp: string;
  },
): JsonObject {
  const { usage_report: report } = fields;
  if (!isJsonObject(report) || state.options.conversation !== true) return fields;
  const session = sessionUsage(state, Date.parse(timestamp));
  return { ...fields, usage_report: { ...report, session } };
}

/**
 * Returns the frames of a message that needs no child, and the report of its turn.
 *
 * @param options.described the `system/init` of the headless helper, if it was asked
 */
export function answerFrames(
  message: SettledMessage,
  { frames, report, described }: {
    readonly frames: OutputOptions;
    readonly report: ReportOptions;
    readonly described?: JsonObject | undefined;
  },
): { readonly frames: readonly Frame[]; readonly report: Report } {
  const step: OutputStep = new Step<OutputState, Frame>(startOutput(frames, report));
  if (described !== undefined) step.update({ described });
  step.capture(() => receiveMessage(step, message));
  emitTurnResult(step, { ending: { kind: "settled", message }, at: 0 });
  const [reported] = step.state.reports;
  if (reported === undefined) throw new Error("A settled message has no report");
  return { frames: step.emitted, report: reported };
}

/**
 * Records what a Stop hook means for the result of its turn. As in `claude -p`, the result is printed at the end of the
 * turn although the run continues. It is deferred while a subagent runs, unless further messages may come. The result
 * of the last turn is printed at the end of the run.
 */
export function recordStop(
  step: OutputStep,
  { payload, ranAt }: { readonly payload: HookPayload; readonly ranAt: number | undefined },
): void {
  const tasks = backgroundTasksOf(payload);
  const result = tasks.length === 0 ? "last" : isShellsOnly(tasks) ? "printable" : "deferred";
  step.update({ stopHooks: [...step.state.stopHooks, { at: ranAt, result }] });
}

/**
 * Returns the last Stop hook of the turn that a line ends, and the Stop hooks of later turns, which may be received
 * before the line.
 */
function stopBefore(
  { stopHooks }: OutputState,
  { timestamp = "" }: SystemEntry,
): { readonly stop: TurnStop | undefined; readonly later: readonly TurnStop[] } {
  const over = Date.parse(timestamp);
  const isLater = ({ at }: TurnStop) => at !== undefined && at > over;
  return { stop: stopHooks.findLast((each) => !isLater(each)), later: stopHooks.filter(isLater) };
}

/**
 * Emits the results of the turns that have ended, if the run continues and no result has to wait. In a run of one
 * prompt, a result waits for the status line, which reports the cost some 0.3 s later. Results have no cost if the
 * child reports it only at its end.
 */
export function endTurn(step: OutputStep, entry: SystemEntry): void {
  const { stop, later } = stopBefore(step.state, entry);
  step.update({ stopHooks: later });
  const isPrintable = stop?.result === "printable" ||
    (stop?.result === "deferred" && mayReceiveMore(step.state));
  if (!isPrintable) return;
  // The Stop hook before the hook that halted the turn was blocked, so it is not the turn's end.
  const run = runTurns(step.state);
  if (run.recent.at(-1)?.halted === "other") return;
  const { at } = stop;
  if (at === undefined || isCostSettled(step.state, at)) emitEarlyResults(step);
  else step.update({ awaitingCost: { at, turns: sumOf(run).count } });
}

/** Whether the caller may send more messages, or has sent messages that the child has not taken yet. */
function mayReceiveMore({ options, inputClosed, awaited }: OutputState): boolean {
  return options.conversation === true && !(inputClosed && awaited.length === 0);
}

/**
 * Whether the cost of a turn is known: the status line has run since the turn's end. Also true where no cost is waited
 * for.
 */
export function isCostSettled(
  { options: { conversation }, cost, costReportedAt }: OutputState,
  at: number,
): boolean {
  return conversation === true || cost === undefined ||
    (costReportedAt !== undefined && costReportedAt >= at);
}

/**
 * Calls a function that emits frames. If it emits any while a result waits for the cost of its turn, the result is
 * emitted first, without waiting longer.
 */
export function emitAfterPendingResult<Result>(step: OutputStep, emit: () => Result): Result {
  const { state } = step;
  if (state.awaitingCost === undefined) return emit();
  step.replace(state);
  let result: Result | undefined;
  const frames = step.capture(() => {
    result = emit();
  });
  if (step.state.awaitingCost === undefined || frames.length === 0) {
    step.emitAll(frames);
    return result as Result;
  }
  step.replace(state);
  emitEarlyResults(step);
  return emit();
}

/** Emits the results of the turns that have ended, while the run continues. */
export function emitEarlyResults(step: OutputStep): void {
  const { awaitingCost, version } = step.state;
  step.update({ awaitingCost: undefined });
  if (version === undefined) return;
  completeMessages(step, {}, () => {
    const run = runTurns(step.state);
    const turns = run.recent.slice(0, awaitingCost && awaitingCost.turns - run.past.count);
    const results = earlyResults(step, { version, run, turns, awaitingCost });
    const { results: printed, options } = step.state;
    step.update({
      results: printed + results.length,
      reportedUsage: undefined,
      taken: [],
      joined: [],
      isBetweenTurns: options.conversation === true,
    });
    forgetReported(step, run);
    step.emit(...results);
  });
}

function earlyResults(
  step: OutputStep,
  { version, run: { past, printed }, turns, awaitingCost }: {
    readonly version: string;
    readonly run: RunTurns;
    readonly turns: readonly Turn[];
    readonly awaitingCost: OutputState["awaitingCost"];
  },
): readonly ResultFrame[] {
  const { state } = step;
  const { options, taken, joined, fastMode, facts } = state;
  // The cost of a later turn does not belong to these turns.
  const spent = state.pendingEnds[0]?.cost ?? state.cost;
  const cost = costSoFar({ ...state, cost: spent }, withTurns(past, turns));
  // The status line has not run since the turn's end. The next result includes the rest, and the shares of the models.
  const isLate = awaitingCost !== undefined && !isCostSettled(state, awaitingCost.at);
  return turns.slice(printed).map((turn, index) => {
    const soFar = withTurns(past, turns.slice(0, printed + index + 1));
    return buildResult({
      version,
      sessionId: options.sessionId,
      uuid: newUuid(step),
      outcome: isInterrupted(turn) ? abortedOutcome(turn) : { kind: "answered" },
      turn,
      index: state.results + state.otherResults + index,
      cost: isLate && cost !== undefined ? { ...cost, modelUsage: {} } : cost,
      messages: taken,
      joined,
      fastMode,
      permissionDenials: collectPermissionDenials(turn, facts.decisions),
      maxOutputTokens: outputLimits(state),
      subagents: subagentsOf(state, soFar),
      safetyStops: safetyStopsOf(state, soFar),
    });
  });
}
