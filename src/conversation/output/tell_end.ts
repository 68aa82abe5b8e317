import { type FramesStep, quiet, SUBAGENT_DELAY, waitingFor } from "./frames_step.ts";
import { holdTurn, isAheadOfSubagent, tellHeld } from "./lines/held_turns.ts";
import { tellNotices, tellWaiting } from "./lines/tell_lines.ts";
import { endAnswers } from "./live/live_answers.ts";
import { tellShellsEnd } from "./live/shell_output.ts";
import { tellMirror, withMirror } from "./mirror.ts";
import { stopTasks } from "./frames/task_ends.ts";
import { begin, beginTurn } from "./telling/beginning.ts";
import { and, type FramesState, type Told, told, type TurnEnd } from "./telling/frames_state.ts";
import { tellTasks } from "./telling/saying.ts";
import { tellResult } from "./turns/tell_result.ts";

/**
 * A turn is over that the child outlives.
 *
 * @param options.recorded whether all its lines are there; otherwise its result waits for the rest
 */
export function tellTurnEnd(
  state: FramesState,
  end: TurnEnd,
  { recorded }: { readonly recorded: boolean },
): FramesStep {
  if (!recorded) {
    return quiet({ ...state, ended: [...state.ended, { ...end, cost: state.cost }] });
  }
  if (isAheadOfSubagent(state)) {
    return waitingFor(told(holdTurn(state, end)), state.awaitsSubagent ? [] : [SUBAGENT_DELAY]);
  }
  const over = and(
    and(and(tellHeld(state), tellWaiting), tellEnded),
    (state) => tellResult(state, end),
  );
  // What has not returned by then never will.
  const rested = over.state.openCalls.size === 0
    ? over
    : { ...over, state: { ...over.state, openCalls: new Map() } };
  return waitingFor(withMirror(rested, { all: true }));
}

/** The run is ending from a moment on, in milliseconds from its start, and with it what goes on in the background. */
export function tellEnding(state: FramesState, at: number): FramesState {
  return { ...state, endingAt: state.options.startedAt + at };
}

/**
 * Says what is missing at the end: `system/init` if nothing has given rise to it yet, because a run always begins with
 * it, and the end of what still went on in the background.
 *
 * @param options.version the version to assume for a transcript that ended before it named one
 * @param options.now milliseconds since the epoch
 */
export function tellEnd(
  state: FramesState,
  { version, now }: { readonly version: string; readonly now: number },
): Told {
  const read = and(and(tellHeld(state), tellWaiting), (state) => tellNotices(state));
  const mirrored = and(read, (state) => tellMirror(state, { all: true }));
  const begun = and(mirrored, (state) => and(tellLate(state, version), endAnswers));
  return and(
    and(begun, tellShellsEnd),
    (state) =>
      tellTasks(
        state,
        (context) => stopTasks(state.tasks, new Date(now).toISOString(), context),
      ),
  );
}

/** Tells results whose last lines never came. */
function tellEnded(state: FramesState): Told {
  const [end, ...ended] = state.ended;
  return end === undefined ? told(state) : and(tellResult({ ...state, ended }, end), tellEnded);
}

/** Tells those, and the beginning of the last turn. */
function tellLate(before: FramesState, version: string): Told {
  return and(tellEnded(before), (state) => tellBeginning(state, version));
}

/** Tells the beginning of the last turn, if nothing has given rise to it yet. */
function tellBeginning(state: FramesState, version: string): Told {
  const isUnasked = state.options.conversation === true && !state.begun &&
    state.prompt === undefined;
  const isQuiet = (state.rested || isUnasked) && state.awaited.length === 0;
  return isQuiet
    ? told(state)
    : and(beginTurn(state), (state) => begin(state, { version: state.version ?? version }));
}
