import { endAnswers } from "../live/live_answers.ts";
import { isSame, parted, tellMessage, tellOver } from "../messages.ts";
import { begin, beginTurn } from "../telling/beginning.ts";
import { and, type FramesState, type Told, told } from "../telling/frames_state.ts";
import type { ToldAhead, TurnEnd } from "../memory/turn_memory.ts";
import { reportTurns } from "./report_turns.ts";
import { tellSettled } from "./settled_message.ts";

/** Tells the result of a turn that the child outlives, all of whose lines have been told. */
export function tellResult(state: FramesState, end: TurnEnd): Told {
  const begun = end.ending.kind === "settled"
    ? tellSettled(state, { message: end.ending.message, at: end.at })
    : and(
      beginTurn(end.ending.kind === "blocked" ? withTaken(state) : state),
      (state) => tellUnwritten(state, end),
    );
  const result = (state: FramesState) => {
    const { report, ...reported } = reportTurns(state, end);
    const { typed: _, ...rest } = reported.state;
    const isAhead = end.unwritten !== undefined && rest.results === state.results;
    return told({
      ...rest,
      rested: true,
      // No line tells that a stopped turn is complete, not even where its Stop hook has named tasks in the background.
      stops: end.ending.kind === "aborted" ? [] : rest.stops,
      reports: [...rest.reports, report],
      toldAhead: isAhead ? [...rest.toldAhead, aheadOf(state, end)] : rest.toldAhead,
    }, reported.frames);
  };
  return and(and(begun, endAnswers), (state) => {
    const { ahead, behind } = tellOver(state, { stopped: end.ending.kind === "aborted" });
    return and(and(ahead, result), behind);
  });
}

/** Tells that the child has taken what no line says, and the beginning of the turn of that. */
function tellUnwritten(before: FramesState, { unwritten = [], at }: TurnEnd): Told {
  const timestamp = new Date(before.options.startedAt + at).toISOString();
  const { state, frames } = unwritten.reduce<Told>(
    (said, message) =>
      and(
        said,
        (state) => tellMessage(state, state.awaited.findIndex(isSame(message)), { timestamp }),
      ),
    told(before),
  );
  const { lifecycle, others } = parted(frames);
  return and(and(told(state, lifecycle), begin), (state) => told(state, others));
}

function aheadOf(
  { options: { startedAt } }: FramesState,
  { unwritten = [], at }: TurnEnd,
): ToldAhead {
  return { messages: unwritten, at: startedAt + at, counted: false };
}

/** The turn of a prompt that was blocked is about a message, though no line says that the child has taken it. */
function withTaken(state: FramesState): FramesState {
  const [first, ...awaited] = state.awaited;
  return first === undefined || state.taken.length > 0
    ? state
    : { ...state, awaited, taken: [first] };
}
