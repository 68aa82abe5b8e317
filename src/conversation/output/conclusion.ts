import { listOf } from "../../chain.ts";
import { ticketsOf } from "../control/message.ts";
import { lastMessages } from "../control/taken_prompts.ts";
import { costOfEntries } from "../../claude/transcript/cost.ts";
import type {
  ConversationEffect,
  ConversationState,
  SessionEnd,
  WholeEffect,
} from "./conversation.ts";
import { type ConversationStep, withReports } from "./conversation_step.ts";
import { isAheadOfSubagent } from "./lines/held_turns.ts";
import { tellOver } from "./messages.ts";
import { tellEnd } from "./tell_end.ts";
import type { Report } from "./result/verdict.ts";
import { reportTurns } from "./turns/report_turns.ts";

/** Says what is left to say, and what became of the run. */
export function conclude(
  state: ConversationState,
  { end, at }: { readonly end: SessionEnd; readonly at: number },
): ConversationStep {
  const { frames: { startedAt } } = state.options;
  const { remains = {} } = state.exit ?? {};
  const isRenewed = end.ending.kind === "renewed";
  const { ended } = state.frames;
  // What has been said and not taken is told of beside the next child, and no turn begins with what a hook's answer ends;
  // a result that is still to be told is that of the turn under way.
  const isUntaken = isRenewed || end.ending.kind === "misnamed-answer";
  const frames = isUntaken
    ? { ...state.frames, awaited: [], rested: state.frames.rested || ended.length === 0 }
    : state.frames;
  const last = end.ending.kind === "refused" ? { state: frames, frames: [] } : tellEnd(frames, {
    version: remains.version ?? "unknown",
    now: startedAt + at,
  });
  const told = withReports({ ...state, frames: last.state }, last.frames);
  if (end.ending.kind === "closed" || isRenewed) {
    const report = reportWithTasks(told.state, at);
    const last = { ...end, frames: [], ...(report === undefined ? {} : { report }) };
    return { ...told, effects: [...told.effects, last] };
  }
  const { ahead, behind } = tellOver(told.state.frames, { stopped: end.ending.kind === "aborted" });
  const { state: reported, frames: results, report } = reportTurns(ahead.state, {
    ending: end.ending,
    at: state.endingAt ?? state.exit?.at ?? at,
    tickets: ticketsOf(lastMessages(state.session)),
  }, { exit: end.exit, remains, isForced: state.isForced === true });
  const over = behind(reported);
  return {
    state: { ...told.state, frames: over.state },
    effects: [
      ...told.effects,
      { ...end, frames: [...ahead.frames, ...results, ...over.frames], report },
    ],
  };
}

/**
 * Reports a turn that was over but for its tasks in the background, and whose result has been told: no further Stop hook
 * tells of it once the child is replaced.
 */
function reportWithTasks({ session, frames }: ConversationState, at: number): Report | undefined {
  const { waits, backgroundStop: stop, taken } = session;
  return waits && stop !== undefined
    ? reportTurns(frames, { ending: { kind: "answered", stop }, at, tickets: ticketsOf(taken) })
      .report
    : undefined;
}

/** Whether the transcript has all that is ever in it, and what is told of it needs no more. */
export function isWhole({ whole, exit, frames, options }: ConversationState): boolean {
  // What the session is at is told with its end.
  if (whole === undefined || exit !== undefined || options.frames.activity) return false;
  if (isAheadOfSubagent(frames)) return false;
  // All has been told with the last turn, but for lines of the transcript.
  if (whole.kind === "closed" && options.frames.mirrorPath === undefined) return true;
  return frames.kept.cost !== undefined || costOfEntries(listOf(frames.own)) !== undefined;
}

/** Tells that nothing is to come but the child's end. */
export function foretell(
  { whole: ending, ...state }: ConversationState,
  at: number,
): ConversationStep {
  if (ending === undefined) return { state, effects: [] };
  return { state, effects: [{ type: "whole", state, ending, at }] };
}

/**
 * What is said at an end that is to come. Most wait for it, and do not ask: what a long turn comes to takes as long as many
 * of its lines.
 */
export function saidAtEnd({ state, ending, at }: WholeEffect): readonly ConversationEffect[] {
  const exit = { kind: "exited", code: 0 } as const;
  return conclude(state, { end: { type: "end", ending, exit }, at }).effects;
}
