import { outputLimits } from "./output_limits.ts";
import type { HookPayload } from "../../control/input.ts";
import { backgroundTasksOf, isShellsOnly } from "../../control/background_wait.ts";
import type { SystemEntry } from "../../../claude/transcript/entry.ts";
import { permissionDenialsOf } from "../../../claude/transcript/permission_denials.ts";
import { tellOver } from "../messages.ts";
import { resultFrame } from "../result/result_frame.ts";
import { withTurns } from "../result/turn_totals.ts";
import {
  and,
  type FramesState,
  type Told,
  told,
  type TurnStop,
  withIds,
} from "../telling/frames_state.ts";
import { costSoFar } from "./cost_so_far.ts";
import { forgetTold, runTurns, safetyStopsOf, subagentsOf, sumOf } from "./run_turns.ts";

/**
 * Takes what a Stop hook means for the result of its turn. As in `claude -p` it is told when the turn is over though the
 * run goes on, but held back as long as a subagent runs, unless further messages may come; the result of the last turn
 * is told at the end of the run.
 */
export function noteStop(
  state: FramesState,
  { payload, ranAt }: { readonly payload: HookPayload; readonly ranAt: number | undefined },
): FramesState {
  const tasks = backgroundTasksOf(payload);
  const result = tasks.length === 0 ? "last" : isShellsOnly(tasks) ? "printable" : "held";
  return { ...state, stops: [...state.stops, { at: ranAt, result }] };
}

/** The last Stop hook of the turn that a line says is over, and those of later turns, which may be heard before that line. */
function stopBefore(
  { stops }: FramesState,
  { timestamp = "" }: SystemEntry,
): { readonly stop: TurnStop | undefined; readonly later: readonly TurnStop[] } {
  const over = Date.parse(timestamp);
  const isLater = ({ at }: TurnStop) => at !== undefined && at > over;
  return { stop: stops.findLast((each) => !isLater(each)), later: stops.filter(isLater) };
}

/**
 * Prints the results of the turns that have ended, if the run goes on and none has to wait: in a run of one prompt for the
 * status line, which reports some 0.3 s later what they have cost. They have no cost where the child reports it at its
 * end only.
 */
export function endTurn(state: FramesState, entry: SystemEntry): Told {
  const { stop, later } = stopBefore(state, entry);
  const rest = { ...state, stops: later };
  const isPrintable = stop?.result === "printable" || (stop?.result === "held" && mayGoOn(state));
  // The Stop before a hook that has halted the turn was blocked, and is not its end.
  if (!isPrintable || runTurns(rest).recent.at(-1)?.halted === "other") return told(rest);
  const { at } = stop;
  return at === undefined || isPriced(state, at)
    ? tellEarly(rest)
    : told({ ...rest, unpriced: { at, turns: sumOf(runTurns(rest)).count } });
}

/** Whether the caller may say more, or has said what the child has not taken yet. */
function mayGoOn({ options, heardOut, awaited }: FramesState): boolean {
  return options.conversation === true && !(heardOut && awaited.length === 0);
}

/** Whether the status line has run since a turn ended, or nothing is heard of it then. */
export function isPriced(
  { options: { conversation }, cost, pricedAt }: FramesState,
  at: number,
): boolean {
  return conversation === true || cost === undefined || (pricedAt !== undefined && pricedAt >= at);
}

/** Tells the results of the turns that have ended while the run goes on. */
export function tellEarly({ unpriced, ...before }: FramesState): Told {
  const { version } = before;
  if (version === undefined) return told(before);
  const { ahead, behind } = tellOver(before);
  const rest = ahead.state;
  const run = runTurns(rest);
  const { past, printed } = run;
  const turns = run.recent.slice(0, unpriced && unpriced.turns - past.count);
  const cost = costSoFar(rest, withTurns(past, turns));
  // The status line has not run since: the next result has the rest, and how it is shared among models.
  const isLate = unpriced !== undefined && !isPriced(rest, unpriced.at);
  const maxOutputTokens = outputLimits(rest);
  const { state: next, made } = withIds(
    rest,
    (newUuid) =>
      turns.slice(printed).map((turn, index) => {
        const soFar = withTurns(past, turns.slice(0, printed + index + 1));
        return resultFrame({
          version,
          sessionId: rest.options.sessionId,
          uuid: newUuid(),
          outcome: { kind: "answered" },
          turn,
          index: rest.results + rest.locals + index,
          cost: isLate && cost !== undefined ? { ...cost, modelUsage: {} } : cost,
          messages: rest.taken,
          joined: rest.joined,
          fastMode: rest.fastMode,
          permissionDenials: permissionDenialsOf(turn, rest.decisions),
          maxOutputTokens,
          subagents: subagentsOf(rest, soFar),
          safetyStops: safetyStopsOf(rest, soFar),
        });
      }),
  );
  const results = [...ahead.frames, ...made];
  return and(
    told({
      ...forgetTold({ ...next, results: next.results + made.length }, run),
      usageTold: undefined,
      taken: [],
      joined: [],
      rested: next.options.conversation === true,
    }, results),
    behind,
  );
}
