import {
  deferResult,
  emitWaitingTurns,
  isAheadOfSubagent,
  SUBAGENT_DELAY,
} from "./lines/waiting_turns.ts";
import { stopTasks } from "./frames/task_ends.ts";
import type { OutputEffect, OutputState, OutputStep, TurnEnd } from "./output_state.ts";
import { listOf } from "../../chain.ts";
import { ticketsOf } from "../control/message.ts";
import { lastMessages } from "../control/taken_prompts.ts";
import { readCostOfEntries } from "../../claude/transcript/cost.ts";
import {
  changeOutput,
  type ConversationEffect,
  type ConversationState,
  type ConversationStep,
  emitReports,
  type EndEffect,
  type SessionEnd,
  type WholeEffect,
} from "./conversation.ts";
import type { Report } from "./result/verdict.ts";
import { reportTurns } from "./turns/report_turns.ts";
import type { Frame } from "../../claude/wire/frame.ts";
import { completeMessages } from "./messages.ts";
import { emitInit, emitTasks, startTurn } from "./emit_frames.ts";
import { emitMirror, emitWithMirror } from "./mirror.ts";
import { emitTaskEnds, emitWithoutOutcome } from "./lines/emit_lines.ts";
import { emitTurnResult } from "./turns/turn_results.ts";
import { Step } from "../step.ts";
import { endAllShellCalls } from "./live/shell_output.ts";
import { endTurnAnswers } from "./live/live_answers.ts";

/**
 * Emits the result of a turn that the child outlives.
 *
 * @param options.recorded whether all lines of the turn have been read; otherwise the result waits for the missing
 * lines
 */
export function receiveTurnEnd(
  step: OutputStep,
  end: TurnEnd,
  { recorded }: { readonly recorded: boolean },
): readonly OutputEffect[] {
  const { pendingEnds, cost, awaitsSubagent } = step.state;
  if (!recorded) {
    step.update({ pendingEnds: [...pendingEnds, { ...end, cost }] });
    return [];
  }
  if (isAheadOfSubagent(step.state)) {
    deferResult(step, end);
    return awaitsSubagent ? [] : [SUBAGENT_DELAY];
  }
  emitWithMirror(step, () => {
    emitWaitingTurns(step);
    emitWithoutOutcome(step);
    emitEndedTurns(step);
    emitTurnResult(step, end);
  }, { all: true });
  // Calls that have not returned at the end of the turn never return.
  if (step.state.openCalls.size > 0) step.update({ openCalls: new Map() });
  return [];
}

/**
 * Emits the frames that are missing at the end of a run: `system/init`, with which every run begins, and the ends of
 * background tasks.
 *
 * @param options.version the version to assume if no line of the transcript names one
 * @param options.now milliseconds since the epoch
 */
export function emitEnd(
  step: OutputStep,
  { version, now }: { readonly version: string; readonly now: number },
): void {
  emitWaitingTurns(step);
  emitWithoutOutcome(step);
  emitTaskEnds(step);
  emitMirror(step, { all: true });
  emitEndedTurns(step);
  emitLastInit(step, version);
  endTurnAnswers(step);
  endAllShellCalls(step);
  const { tasks } = step.state;
  emitTasks(step, (context) => stopTasks(tasks, new Date(now).toISOString(), context));
}

/** Emits the results of turns whose last lines were never read. */
function emitEndedTurns(step: OutputStep): void {
  for (;;) {
    const [end, ...pendingEnds] = step.state.pendingEnds;
    if (end === undefined) return;
    step.update({ pendingEnds });
    emitTurnResult(step, end);
  }
}

/** Emits `system/init` of the last turn, if no line has led to it yet. */
function emitLastInit(step: OutputStep, version: string): void {
  const { options, hasInit, prompt, isBetweenTurns, awaited } = step.state;
  const isUnasked = options.conversation === true && !hasInit && prompt === undefined;
  if ((isBetweenTurns || isUnasked) && awaited.length === 0) return;
  startTurn(step);
  emitInit(step, { version: step.state.version ?? version });
}

/** Emits the last frames, the report and the end of a run. */
export function conclude(
  step: ConversationStep,
  { end, at }: { readonly end: SessionEnd; readonly at: number },
): void {
  const { frames: { options: { startedAt } }, session: { exit } } = step.state;
  const { ending: { kind } } = end;
  const isRenewed = kind === "renewed";
  changeOutput(step, (output) => {
    // The next child reports messages that this child did not take. No turn begins with an input that a hook's answer
    // ends. A pending result belongs to the current turn.
    if (isRenewed || kind === "misnamed-answer") {
      const { isBetweenTurns, pendingEnds } = output.state;
      output.update({ awaited: [], isBetweenTurns: isBetweenTurns || pendingEnds.length === 0 });
    }
    if (kind !== "refused") {
      emitEnd(output, { version: exit?.remains?.version ?? "unknown", now: startedAt + at });
    }
  });
  emitReports(step);
  if (kind === "closed" || isRenewed) {
    const report = reportWithTasks(step.state, at);
    step.emit({ ...end, frames: [], ...(report === undefined ? {} : { report }) });
    return;
  }
  step.emit(lastResult(step, { end, at }));
}

/** Returns the end of a run with the frames and the report of its last turn. */
function lastResult(
  step: ConversationStep,
  { end, at }: { readonly end: SessionEnd; readonly at: number },
): EndEffect {
  const { session, frames } = step.state;
  const { exit, isForced } = session;
  const output: OutputStep = new Step<OutputState, Frame>(frames);
  const report = completeMessages(
    output,
    { stopped: end.ending.kind === "aborted" },
    () =>
      reportTurns(output, {
        ending: end.ending,
        at: frames.endingAt ?? exit?.at ?? at,
        tickets: ticketsOf(lastMessages(session)),
      }, { exit: end.exit, remains: exit?.remains ?? {}, isForced: isForced === true }),
  );
  step.update({ frames: output.state });
  return { ...end, frames: output.emitted, report };
}

/**
 * Returns the report of a turn that had ended except for its background tasks, and whose result was emitted. Once the
 * child is replaced, no further Stop hook ends this turn.
 */
function reportWithTasks({ session, frames }: ConversationState, at: number): Report | undefined {
  const { isOnlyBackground, backgroundStop: stop, taken } = session;
  if (!isOnlyBackground || stop === undefined) return undefined;
  const end: TurnEnd = { ending: { kind: "answered", stop }, at, tickets: ticketsOf(taken) };
  return reportTurns(new Step<OutputState, Frame>(frames), end);
}

/** Whether the transcript is complete and the output needs no further input. */
export function isComplete({ session, frames }: ConversationState): boolean {
  const { isOutputComplete, exit, ending } = session;
  // The end of the child changes the session's state, and the new state is emitted then.
  if (!isOutputComplete || exit !== undefined || frames.options.activity) return false;
  if (isAheadOfSubagent(frames)) return false;
  // All frames were emitted with the last turn, except frames that mirror the transcript.
  if (ending?.kind === "closed" && frames.options.mirrorPath === undefined) return true;
  return frames.kept.cost !== undefined || readCostOfEntries(listOf(frames.ownLines)) !== undefined;
}

/** Emits, once, that only the child's exit is outstanding. */
export function emitOutputComplete(step: ConversationStep, at: number): void {
  const { isComplete: isEmitted, session: { ending } } = step.state;
  if (isEmitted || ending === undefined) return;
  step.update({ isComplete: true });
  step.emit({ type: "whole", state: { ...step.state }, ending, at });
}

/**
 * Returns the effects of an end that has not happened yet. It runs only on demand, because its cost grows with the
 * number of lines of the turn.
 */
export function effectsAtEnd({ state, ending, at }: WholeEffect): readonly ConversationEffect[] {
  const exit = { kind: "exited", code: 0 } as const;
  const step: ConversationStep = new Step<ConversationState, ConversationEffect>(state);
  conclude(step, { end: { type: "end", ending, exit }, at });
  return step.emitted;
}
