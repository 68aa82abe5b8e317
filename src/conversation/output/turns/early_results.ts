import { outputLimits } from "./output_limits.ts";
import type { HookPayload } from "../../control/input.ts";
import { backgroundTasksOf, isShellsOnly } from "../../control/background_wait.ts";
import type { SystemEntry } from "../../../claude/transcript/entry.ts";
import { permissionDenialsOf } from "../../../claude/transcript/permission_denials.ts";
import { resultFrame } from "../result/result_frame.ts";
import { withTurns } from "../result/turn_totals.ts";
import {
  type FramesState,
  newUuid,
  type OutputStep,
  type TurnStop,
} from "../telling/frames_state.ts";
import { costSoFar } from "./cost_so_far.ts";
import {
  forgetReported,
  type RunTurns,
  runTurns,
  safetyStopsOf,
  subagentsOf,
  sumOf,
} from "./run_turns.ts";
import type { ResultFrame } from "../../../claude/wire/result_frame.ts";
import type { Turn } from "../../../claude/transcript/turn.ts";
import { completeMessages } from "../messages.ts";

/**
 * Records what a Stop hook means for the result of its turn. As in `claude -p` the result is printed when the turn is over
 * though the run goes on, but held back as long as a subagent runs, unless further messages may come. The result of the
 * last turn is printed at the end of the run.
 */
export function recordStop(
  step: OutputStep,
  { payload, ranAt }: { readonly payload: HookPayload; readonly ranAt: number | undefined },
): void {
  const tasks = backgroundTasksOf(payload);
  const result = tasks.length === 0 ? "last" : isShellsOnly(tasks) ? "printable" : "held";
  step.update({ stops: [...step.state.stops, { at: ranAt, result }] });
}

/** Returns the last Stop hook of the turn that a line ends, and those of later turns, which may be received before the line. */
function stopBefore(
  { stops }: FramesState,
  { timestamp = "" }: SystemEntry,
): { readonly stop: TurnStop | undefined; readonly later: readonly TurnStop[] } {
  const over = Date.parse(timestamp);
  const isLater = ({ at }: TurnStop) => at !== undefined && at > over;
  return { stop: stops.findLast((each) => !isLater(each)), later: stops.filter(isLater) };
}

/**
 * Emits the results of the turns that have ended, if the run goes on and none has to wait. In a run of one prompt a result
 * waits for the status line, which reports the cost some 0.3 s later. Results have no cost where the child reports it at
 * its end only.
 */
export function endTurn(step: OutputStep, entry: SystemEntry): void {
  const { stop, later } = stopBefore(step.state, entry);
  step.update({ stops: later });
  const isPrintable = stop?.result === "printable" ||
    (stop?.result === "held" && mayReceiveMore(step.state));
  if (!isPrintable) return;
  // The Stop before a hook that has halted the turn was blocked, and is not its end.
  const run = runTurns(step.state);
  if (run.recent.at(-1)?.halted === "other") return;
  const { at } = stop;
  if (at === undefined || isCostSettled(step.state, at)) emitEarlyResults(step);
  else step.update({ unpriced: { at, turns: sumOf(run).count } });
}

/** Whether the caller may send more, or has sent what the child has not taken yet. */
function mayReceiveMore({ options, heardOut, awaited }: FramesState): boolean {
  return options.conversation === true && !(heardOut && awaited.length === 0);
}

/** True once the status line has run after a turn ended, which reports its cost, or if none is to be waited for. */
export function isCostSettled(
  { options: { conversation }, cost, pricedAt }: FramesState,
  at: number,
): boolean {
  return conversation === true || cost === undefined || (pricedAt !== undefined && pricedAt >= at);
}

/** Emits the results of the turns that have ended, while the run goes on. */
export function emitEarlyResults(step: OutputStep): void {
  const { unpriced, version } = step.state;
  step.update({ unpriced: undefined });
  if (version === undefined) return;
  completeMessages(step, {}, () => {
    const run = runTurns(step.state);
    const turns = run.recent.slice(0, unpriced && unpriced.turns - run.past.count);
    const results = earlyResults(step, { version, run, turns, unpriced });
    const { results: printed, options } = step.state;
    step.update({
      results: printed + results.length,
      usageTold: undefined,
      taken: [],
      joined: [],
      rested: options.conversation === true,
    });
    forgetReported(step, run);
    step.emit(...results);
  });
}

function earlyResults(
  step: OutputStep,
  { version, run: { past, printed }, turns, unpriced }: {
    readonly version: string;
    readonly run: RunTurns;
    readonly turns: readonly Turn[];
    readonly unpriced: FramesState["unpriced"];
  },
): readonly ResultFrame[] {
  const { state } = step;
  const { options, taken, joined, fastMode, decisions } = state;
  const cost = costSoFar(state, withTurns(past, turns));
  // The status line has not run since: the next result has the rest, and how it is shared among models.
  const isLate = unpriced !== undefined && !isCostSettled(state, unpriced.at);
  return turns.slice(printed).map((turn, index) => {
    const soFar = withTurns(past, turns.slice(0, printed + index + 1));
    return resultFrame({
      version,
      sessionId: options.sessionId,
      uuid: newUuid(step),
      outcome: { kind: "answered" },
      turn,
      index: state.results + state.locals + index,
      cost: isLate && cost !== undefined ? { ...cost, modelUsage: {} } : cost,
      messages: taken,
      joined,
      fastMode,
      permissionDenials: permissionDenialsOf(turn, decisions),
      maxOutputTokens: outputLimits(state),
      subagents: subagentsOf(state, soFar),
      safetyStops: safetyStopsOf(state, soFar),
    });
  });
}
