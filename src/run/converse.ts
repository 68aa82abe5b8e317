import { CliError } from "../cli_error.ts";
import type { Caller, CallerInput } from "../driver/sources/caller/caller.ts";
import type { FirstWords } from "../driver/sources/caller/first_words.ts";
import { type ConversationEffect, partsOf } from "../frames/conversation.ts";
import type { Report } from "../frames/result/report.ts";
import type { LateTerms } from "../session/late_terms.ts";
import type { ToldBefore } from "../frames/telling/frames_options.ts";
import { toldBy } from "../frames/turns/told_by.ts";
import { awaitWords } from "./await_words.ts";
import { heardLines } from "./heard_lines.ts";
import { isKnownSession } from "./facts/sessions/known_session.ts";
import type { Surroundings } from "./facts/surroundings.ts";
import { screenFor, showsScreen } from "./perform_run.ts";
import { performSession, type SessionWatcher } from "./perform_session.ts";
import {
  askedOrder,
  beginningOrder,
  bridgedOrder,
  changedOrder,
  resumedOrder,
} from "./plan/asked_order.ts";
import type { RunOrder } from "./plan/run_order.ts";
import { type PreparedRun, prepareRun } from "./prepare_run.ts";
import { unrecordedProblems } from "./unrecorded_problems.ts";
import type { Ending } from "../session/effect.ts";
import { type Message, ticketsOf } from "../session/message.ts";
import { unansweredRequests } from "../session/control/requests/consulting.ts";
import { untakenMessages } from "../session/turn/taking.ts";
import type { Frame } from "../wire/frame.ts";
import type { StopSignal } from "../wire/stop_signal.ts";

/** What became of a turn, and what the screen showed if the child did not outlive it. */
export interface TurnReport extends Report {
  readonly screen?: readonly string[];
}

/** What a conversation needs beside its order. */
export interface ConversationNeeds extends SessionWatcher {
  readonly caller: Caller;
  /**
   * Whether what makes an end of a conversation on stdin, a turn that ran out of time or a child that took no message,
   * only makes an end of the turn: who speaks hears of it and can go on. A function where that is known later.
   */
  readonly outlivesFailures?: boolean | (() => boolean);
  /** Whether the first child is started before anything has been said. */
  readonly warm?: boolean;
  /** Says what watches over what that child has read meanwhile; by default it is looked at when there are first words. */
  readonly watch?: (order: RunOrder) => Promise<Pick<Surroundings, "isUpToDate">>;
  /** The terms of a caller that comes after the first child was started, once it is there. */
  readonly terms?: () => LateTerms | undefined;
  /** Takes what became of each turn, after its frames. */
  readonly onReport: (report: TurnReport) => void | Promise<void>;
  /** Takes a run before its child is started. */
  readonly onPrepared: (prepared: PreparedRun) => void;
  /**
   * Takes a conversation that is over, whose last child has left all that it leaves, and of which nothing is to come but the
   * end of that child: whoever does not want to wait for it has said what is to be said then, and waits for nothing else.
   *
   * @param say says it, and returns the exit code
   */
  readonly onWhole?: (say: () => number) => void;
  /** Called when a child is gone, before the next one is prepared. */
  readonly onChildEnded: () => void;
  /** Warns the user in one line. */
  readonly warn: (text: string) => void;
}

/**
 * Holds a conversation: a child, and another one that goes on with its session for what is said after it has died.
 *
 * @returns the exit code, which is that of the last turn
 * @throws {CliError} when a child cannot be had
 */
export async function converse(order: RunOrder, options: ConversationNeeds): Promise<number> {
  const { caller, onReport, onPrepared, onChildEnded, emit = () => {} } = options;
  const { outlivesFailures = false, warm = false } = options;
  const outlives = () =>
    typeof outlivesFailures === "function" ? outlivesFailures() : outlivesFailures;
  const isTraced = () => options.terms?.()?.trace ?? order.trace;
  let exitCode = 0;
  let hasAnswered = false;
  // What was asked for, with what the caller has changed since.
  let wanted = bridgedOrder(order);
  let next = wanted;
  let last:
    | {
      readonly prepared: PreparedRun;
      readonly told: ToldBefore;
      readonly ending: Ending;
      /** Whether it was started early, and is replaced because it was outdated when there was something to say. */
      readonly wasOutdated: boolean;
    }
    | undefined;
  let begin: readonly CallerInput[] = [];
  for (;;) {
    const isEarly = warm && last === undefined && !caller.hasWords;
    if (begin.length === 0 && !isEarly) await awaitWords(caller, options);
    if (begin.length === 0 && caller.isOver) return exitCode;
    if (last !== undefined) next = { ...following(last), before: last.told };
    const initialize = caller.initialize;
    const agreed = { ...next, ...options.terms?.() };
    const asked = initialize === undefined ? agreed : askedOrder(agreed, initialize);
    let isAgreed = options.terms === undefined || options.terms() !== undefined;
    const held = isEarly ? await heldBack(caller, asked, options) : undefined;
    const speaker = held ?? caller;
    const prepared = await prepareRun(asked);
    onPrepared(prepared);
    speaker.turnTo(prepared.judge);
    const unrecorded = unrecordedProblems(prepared);
    let toldToStop: StopSignal | undefined;
    let isSaid = false;
    const lines = heardLines();
    /** Whoever hears of a result may look for its turn in the session. */
    const tell = (frame: Frame) => {
      if (frame.type === "result") prepared.sandbox.bringSoFar(lines.last());
      emit(frame);
    };
    const say = (said: readonly ConversationEffect[]) => {
      isSaid = true;
      for (const part of said.flatMap(partsOf)) {
        if (part.type === "frame") tell(part.frame);
        if (part.type === "report") {
          exitCode = part.report.exitCode;
          onReport({ ...part.report, ...unrecorded(part.report) });
        }
      }
      return exitCode;
    };
    const { end: { ending, frames, report }, state, lastScreen } = await performSession(prepared, {
      ...options,
      emit: (frame) => {
        if (!isSaid) tell(frame);
      },
      begin: [...begin, ...speaker.take([])],
      caller: speaker,
      takeTerms: () => {
        const terms = isAgreed ? undefined : options.terms?.();
        isAgreed ||= terms !== undefined;
        return terms;
      },
      onInput: (input) => {
        if (input.type === "signal") toldToStop = input.signal;
        lines.hear(input);
        options.onInput?.(input);
      },
      onReport: (report) => {
        if (isSaid) return;
        exitCode = report.exitCode;
        hasAnswered ||= report.result.num_turns > 0;
        onReport({ ...report, ...unrecorded(report) });
      },
      onWhole: (said) => {
        const isOver = caller.isOver &&
          !said.flatMap(partsOf).some((part) =>
            part.type === "report" && showsScreen(part.report, { trace: isTraced() })
          );
        if (prepared.endsAlone && isOver) options.onWhole?.(() => say(said));
      },
    });
    if (isSaid) {
      if (report?.warning !== undefined) options.warn(report.warning);
      onChildEnded();
      return exitCode;
    }
    for (const frame of frames) tell(frame);
    const untaken = untakenMessages(state.session);
    // Whatever kept it from taking a message would keep the next one too, unless it was started before there was one.
    const isDeaf = !isEarly && (!state.session.ready || ending.kind === "unreachable");
    if (report !== undefined) {
      exitCode = report.exitCode;
      const screen = await screenFor(report, {
        lastScreen,
        trace: isTraced(),
      });
      const tickets = [...report.tickets ?? [], ...isDeaf ? ticketsOf(untaken) : []];
      const told = { ...report, ...unrecorded(report), tickets };
      await onReport({ ...told, ...(screen === undefined ? {} : { screen }) });
    }
    await prepared.relay?.settled();
    onChildEnded();
    begin = [
      ...unansweredRequests(state.session).map((
        request,
      ) => ({ type: "control", request } as const)),
      ...isDeaf ? [] : untaken.map(asInput),
    ];
    const isLast = ENDS_ALL.includes(ending.kind) ||
      (!outlives() && (isDeaf || ending.kind === "timeout"));
    const isOver = caller.isOver || state.session.dismissed === true;
    if (isLast || (isOver && begin.length === 0)) return exitCode;
    // It came when this child had its end already, and is meant for all that would come after it.
    if (toldToStop !== undefined) options.signals.giveBack(toldToStop);
    const wasOutdated = held?.isDismissed === true;
    last = {
      prepared,
      told: toldBy(state.frames, begin.length === 0 ? [] : untaken),
      ending,
      wasOutdated,
    };
    if (ending.kind === "renewed") wanted = changedOrder(wanted, ending.changes);
  }

  /** What is asked for once a child is gone; nothing new if that was early and has left nothing to go on with. */
  function following(
    { prepared: { sessionId, userConfig }, ending, wasOutdated }: NonNullable<typeof last>,
  ): RunOrder {
    const begun = ending.kind === "renewed" ? ending.changes.begun : undefined;
    if (begun !== undefined) {
      hasAnswered = false;
      wanted = beginningOrder(wanted, begun);
      return isKnownSession(begun, userConfig.dir) ? resumedOrder(wanted, begun) : wanted;
    }
    const hasLeft = hasAnswered || isKnownSession(sessionId, userConfig.dir);
    if (hasLeft && !order.persistSession) {
      throw new CliError("Cannot go on with the conversation: its session is not kept", {
        suggestion: "Leave out --no-session-persistence",
      });
    }
    const isLost = ending.kind === "renewed" && ending.lost === true;
    if (isLost || (ending.kind !== "renewed" && !wasOutdated)) {
      const what = isLost
        ? "Claude Code has lost a message with a turn that was stopped; it"
        : "Claude Code is gone; what comes next";
      options.warn(`${what} goes to a new one${hasLeft ? " that resumes the session" : ""}`);
    }
    if (hasLeft) return resumedOrder(wanted, sessionId);
    // What was printed so far names the session.
    const isOwn = wanted.resume === undefined && wanted.resumption === undefined;
    return ending.kind === "renewed" && isOwn ? beginningOrder(wanted, sessionId) : wanted;
  }
}

/** The caller of a child that is started early. */
async function heldBack(
  caller: Caller,
  order: RunOrder,
  { watch }: Pick<ConversationNeeds, "watch">,
): Promise<FirstWords> {
  const [{ FirstWords }, { watchSurroundings }] = await Promise.all([
    import("../driver/sources/caller/first_words.ts"),
    import("./facts/surroundings.ts"),
  ]);
  const { isUpToDate } = await (watch ?? watchSurroundings)(order);
  return new FirstWords(caller, isUpToDate);
}

/** After these nothing more is done for the caller, whatever is said. */
const ENDS_ALL: readonly Ending["kind"][] = ["interrupted", "unreadable", "misnamed-answer"];

function asInput(message: Message): CallerInput {
  return { type: "message", message };
}
