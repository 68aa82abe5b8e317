import type { SettledMessage } from "../session/message.ts";
import { begin, beginTurn } from "./telling/beginning.ts";
import {
  and,
  type FramesOptions,
  type FramesState,
  startFrames,
  type Told,
  told,
  type TurnEnd,
  withIds,
} from "./telling/frames_state.ts";
import { awaitMessage, tellCompleted, tellMessage } from "./messages.ts";
import { endAnswers } from "./live/live_answers.ts";
import { reportTurns } from "./report_turns.ts";
import type { Report, ReportOptions } from "./result/report.ts";
import { unavailableFrame } from "./single/unavailable_frame.ts";
import type { JsonObject } from "../transcript/json_object.ts";
import type { Frame } from "../wire/frame.ts";

/** Tells the result of a turn that the child outlives, all of whose lines have been told. */
export function tellResult(state: FramesState, end: TurnEnd): Told {
  const begun = end.ending.kind === "settled"
    ? tellSettled(state, { message: end.ending.message, at: end.at })
    : and(beginTurn(end.ending.kind === "blocked" ? withTaken(state) : state), begin);
  const { taken } = begun.state;
  const next = and(and(begun, endAnswers), (state) => {
    const { report, ...reported } = reportTurns(state, end);
    const { stopped: _, typed: __, ...rest } = reported.state;
    return told({ ...rest, rested: true, reports: [...rest.reports, report] }, reported.frames);
  });
  return and(next, (state) => tellCompleted(state, taken));
}

/** The turn of a prompt that was blocked is about a message, though no line says that the child has taken it. */
function withTaken(state: FramesState): FramesState {
  const [first, ...awaited] = state.awaited;
  return first === undefined || state.taken.length > 0
    ? state
    : { ...state, awaited, taken: [first] };
}

/** Tells of a message that was answered or refused without the child, in the place of its turn. */
function tellSettled(
  state: FramesState,
  { message, at }: { readonly message: SettledMessage; readonly at: number },
): Told {
  const { settled } = message;
  const version = settled.kind === "local" ? settled.version : state.version;
  // One that cannot be afforded was meant for the child when it came.
  const place = state.awaited.findIndex((one) =>
    (one.way === undefined || settled.kind === "unaffordable") && one.text === message.text
  );
  const timestamp = new Date(state.options.startedAt + at).toISOString();
  const begun = and(
    and(beginTurn(state), (state) => begin(state, version)),
    (state) => tellMessage(state, place, { timestamp }),
  );
  if (settled.kind !== "local") return begun;
  const { carried } = settled;
  const words = carried === undefined ? settled.text : carried.words;
  if (words === undefined) return begun;
  return and(begun, (state) => {
    const { state: next, made } = withIds(state, (newUuid) =>
      unavailableFrame(words, {
        version: settled.version,
        sessionId: state.options.sessionId,
        uuid: newUuid(),
        messageId: newUuid(),
        timestamp,
        ...(carried === undefined ? {} : { carriedOut: carried.fields ?? {} }),
      }));
    return told(next, [made]);
  });
}

/**
 * What is printed for a message that needs no child, and what became of it.
 *
 * @param options.described what a headless Claude Code has said of the session, if it was asked
 */
export function answerFrames(
  message: SettledMessage,
  options: {
    readonly frames: FramesOptions;
    readonly report: ReportOptions;
    readonly described?: JsonObject | undefined;
  },
): { readonly frames: readonly Frame[]; readonly report: Report } {
  const { frames: given, report, described } = options;
  const begun = startFrames(given, report);
  const { state } = awaitMessage(
    described === undefined ? begun : { ...begun, described },
    message,
  );
  const { frames, state: { reports } } = tellResult(state, {
    ending: { kind: "settled", message },
    at: 0,
  });
  return { frames, report: reports[0] as Report };
}
