import type { Caller, CallerInput } from "../driver/inputs/caller/caller.ts";
import type { FirstWords } from "../driver/inputs/caller/first_words.ts";
import { type ConversationEffect, partsOf } from "../conversation/output/conversation.ts";
import { toldBy } from "../conversation/output/turns/told_by.ts";
import { unansweredRequests } from "../conversation/protocol/requests/consulting.ts";
import type { Ending } from "../conversation/control/effect.ts";
import type { LateTerms } from "../conversation/control/late_terms.ts";
import { ticketsOf } from "../conversation/control/message.ts";
import { untakenMessages } from "../conversation/control/turn/taking.ts";
import type { StopSignal } from "../claude/wire/stop_signal.ts";
import { isKnownSession, type PreparedRun, prepareRun } from "./prepare_run.ts";
import type { Surroundings } from "./facts/surroundings.ts";
import {
  performSession,
  screenFor,
  type SessionWatcher,
  showsScreen,
  unrecordedProblems,
} from "./perform_run.ts";
import { withCallerServers, withInitialization } from "./plan/initialization.ts";
import { type GoneChild, type NextOrder, nextOrder } from "./plan/next_order.ts";
import type { RunOrder } from "./plan/run_order.ts";
import { Poller } from "../../ffi/descriptors/poll.ts";
import { StoppedError } from "./waits.ts";
import type { Report } from "../conversation/output/result/report.ts";
import type { Input } from "../conversation/control/input.ts";
import type { Frame } from "../claude/wire/frame.ts";
import { lineId } from "../claude/transcript/parents_first.ts";

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
  const { caller, onPrepared, onChildEnded } = options;
  const isTraced = () => options.terms?.()?.trace ?? order.trace;
  let exitCode = 0;
  // What was asked for, with what the caller has changed since.
  let wanted = withCallerServers(order);
  let gone: (GoneChild & Pick<PreparedRun, "userConfig">) | undefined;
  let begin: readonly CallerInput[] = [];
  for (;;) {
    const isEarly = options.warm === true && gone === undefined && !caller.hasWords;
    const isAwaited = begin.length === 0 && !isEarly && gone?.ending.kind !== "renewed";
    if (isAwaited) await awaitWords(caller, options);
    if (begin.length === 0 && caller.isOver) return exitCode;
    const next = gone === undefined
      ? { order: wanted, wanted, isAnew: false }
      : following(wanted, gone, options);
    wanted = next.wanted;
    const hasAnswered = gone?.hasAnswered === true && !next.isAnew;
    const { initialize } = caller;
    const agreed = { ...next.order, ...options.terms?.() };
    const asked = initialize === undefined ? agreed : withInitialization(agreed, initialize);
    let isAgreed = options.terms === undefined || options.terms() !== undefined;
    const held = isEarly ? await heldBack(caller, asked, options) : undefined;
    const speaker = held ?? caller;
    const prepared = await prepareRun(asked);
    onPrepared(prepared);
    speaker.turnTo(prepared.judge);
    const told = toldTurns(prepared, { ...options, exitCode });
    let toldToStop: StopSignal | undefined;
    const { end: { ending, frames, report }, state, lastScreen } = await performSession(prepared, {
      ...options,
      emit: told.frame,
      begin: [...begin, ...speaker.take([])],
      caller: speaker,
      takeTerms: () => {
        const terms = isAgreed ? undefined : options.terms?.();
        isAgreed ||= terms !== undefined;
        return terms;
      },
      onInput: (input) => {
        if (input.type === "signal") toldToStop = input.signal;
        told.hear(input);
        options.onInput?.(input);
      },
      onReport: told.report,
      onWhole: (foretell) => {
        if (options.onWhole === undefined || !prepared.endsAlone || !caller.isOver) return;
        const said = foretell();
        const isShown = said.flatMap(partsOf).some((part) =>
          part.type === "report" && showsScreen(part.report, { trace: isTraced() })
        );
        if (!isShown) options.onWhole(() => told.rest(said));
      },
    });
    if (told.isWhole) {
      if (report?.warning !== undefined) options.warn(report.warning);
      onChildEnded();
      return told.exitCode;
    }
    for (const frame of frames) told.frame(frame);
    const untaken = untakenMessages(state.session);
    // Whatever kept it from taking a message would keep the next one too, unless it was started before there was one.
    const isDeaf = !isEarly && (!state.session.ready || ending.kind === "unreachable");
    if (report !== undefined) {
      const screen = await screenFor(report, { lastScreen, trace: isTraced() });
      const tickets = [...report.tickets ?? [], ...isDeaf ? ticketsOf(untaken) : []];
      await told.ending({ ...report, tickets, ...(screen === undefined ? {} : { screen }) });
    }
    exitCode = told.exitCode;
    await prepared.relay?.settled();
    onChildEnded();
    begin = [
      ...unansweredRequests(state.session).map((
        request,
      ) => ({ type: "control", request } as const)),
      ...isDeaf ? [] : untaken.map((message) => ({ type: "message", message } as const)),
    ];
    const isLast = ENDS_ALL.includes(ending.kind) ||
      (!outlives(options) && (isDeaf || ending.kind === "timeout"));
    const isOver = caller.isOver || state.session.dismissed === true;
    if (isLast || (isOver && begin.length === 0)) return exitCode;
    // It came when this child had its end already, and is meant for all that would come after it.
    if (toldToStop !== undefined) options.signals.giveBack(toldToStop);
    gone = {
      sessionId: prepared.sessionId,
      userConfig: prepared.userConfig,
      ending,
      told: toldBy(state.frames, begin.length === 0 ? [] : untaken),
      hasAnswered: hasAnswered || told.hasAnswered,
      wasOutdated: held?.isDismissed === true,
    };
  }
}

/** What comes after a child that is gone, of which the user is warned. */
function following(
  wanted: RunOrder,
  gone: GoneChild & Pick<PreparedRun, "userConfig">,
  { warn }: Pick<ConversationNeeds, "warn">,
): NextOrder {
  const isKept = (sessionId: string) => isKnownSession(sessionId, gone.userConfig.dir);
  const next = nextOrder(wanted, { gone, isKept });
  if (next.warning !== undefined) warn(next.warning);
  return next;
}

function outlives({ outlivesFailures = false }: ConversationNeeds): boolean {
  return typeof outlivesFailures === "function" ? outlivesFailures() : outlivesFailures;
}

/** The caller of a child that is started early. */
async function heldBack(
  caller: Caller,
  order: RunOrder,
  { watch }: Pick<ConversationNeeds, "watch">,
): Promise<FirstWords> {
  const [{ FirstWords }, { watchSurroundings }] = await Promise.all([
    import("../driver/inputs/caller/first_words.ts"),
    import("./facts/surroundings.ts"),
  ]);
  const { isUpToDate } = await (watch ?? watchSurroundings)(order);
  return new FirstWords(caller, isUpToDate);
}

/** After these nothing more is done for the caller, whatever is said. */
const ENDS_ALL: readonly Ending["kind"][] = ["interrupted", "unreadable", "misnamed-answer"];

/**
 * Waits for a caller as long as it likes, until it has said something or never will.
 *
 * @throws {StoppedError} when this program is asked to stop
 */
export async function awaitWords(
  caller: Caller,
  { signals, outlets = [] }: Pick<SessionWatcher, "signals" | "outlets">,
): Promise<void> {
  using poller = new Poller();
  signals.onArrival = () => poller.wake();
  caller.onArrival = () => poller.wake();
  try {
    while (!caller.hasWords && !caller.isOver) {
      const owing = outlets.filter(({ pending }) => pending > 0);
      const [signal] = signals.take();
      if (signal !== undefined) {
        const message = `The run was interrupted by ${signal}`;
        throw new StoppedError({ kind: "interrupted", signal, message });
      }
      const ready = await poller.wait(
        [...caller.interests, ...owing.map(({ fd }) => ({ fd, write: true }))],
        -1,
      );
      for (const outlet of owing) if (ready.some(({ fd }) => fd === outlet.fd)) outlet.flush();
      caller.hear(ready);
    }
  } finally {
    signals.onArrival = undefined;
    caller.onArrival = undefined;
  }
}

/** What became of a turn, and what the screen showed if the child did not outlive it. */
export interface TurnReport extends Report {
  readonly screen?: readonly string[];
}

/** What is told of one child's turns. */
interface ToldTurns {
  /** The exit code of the turn that was told last. */
  readonly exitCode: number;
  /** Whether a turn that the child outlived was answered. */
  readonly hasAnswered: boolean;
  /** Whether all has been told before the child's end: what comes of it then is nobody's any more. */
  readonly isWhole: boolean;
  /** Takes an input before the machines do. */
  readonly hear: (input: Input) => void;
  /** Tells a frame. */
  readonly frame: (frame: Frame) => void;
  /** Tells what became of a turn that the child outlived. */
  readonly report: (report: Report) => void | Promise<void>;
  /** Tells what became of the turn in which the child was lost. */
  readonly ending: (report: TurnReport) => void | Promise<void>;
  /** Tells all that is left to be told, and returns the exit code. */
  readonly rest: (said: readonly ConversationEffect[]) => number;
}

/**
 * Tells of a child's turns as they happen.
 *
 * @param options.exitCode that of the turn before
 */
function toldTurns(
  prepared: Pick<PreparedRun, "sandbox" | "relay" | "options">,
  options: {
    readonly exitCode: number;
    readonly emit?: (frame: Frame) => void;
    readonly onReport: (report: TurnReport) => void | Promise<void>;
  },
): ToldTurns {
  const unrecorded = unrecordedProblems(prepared);
  const lines = heardLines();
  let { exitCode } = options;
  let hasAnswered = false;
  let isWhole = false;
  const frame = (frame: Frame) => {
    // Whoever hears of a result may look for its turn in the session.
    if (frame.type === "result") prepared.sandbox.bringSoFar(lines.last());
    options.emit?.(frame);
  };
  const report = (report: TurnReport) => {
    exitCode = report.exitCode;
    return options.onReport({ ...report, ...unrecorded(report) });
  };
  return {
    get exitCode() {
      return exitCode;
    },
    get hasAnswered() {
      return hasAnswered;
    },
    get isWhole() {
      return isWhole;
    },
    hear: lines.hear,
    frame: (one) => {
      if (!isWhole) frame(one);
    },
    report: (one) => {
      if (isWhole) return;
      hasAnswered ||= one.result.num_turns > 0;
      return report(one);
    },
    ending: report,
    rest: (said) => {
      isWhole = true;
      for (const part of said.flatMap(partsOf)) {
        if (part.type === "frame") frame(part.frame);
        if (part.type === "report") report(part.report);
      }
      return exitCode;
    },
  };
}

/** Which lines of a session's transcript the machines have heard. */
interface HeardLines {
  /** Takes an input before the machines do. */
  readonly hear: (input: Input) => void;
  /** The id of the last line of which is known whose it is; undefined where there is none. */
  readonly last: () => string | undefined;
}

/** Notes the lines: whose message a line is of the user's is known once the machines are done with it. */
export function heardLines(): HeardLines {
  let last: string | undefined;
  let next: string | undefined;
  return {
    hear: (input) => {
      last = next ?? last;
      next = input.type === "transcript" ? lineId(input.entry) : undefined;
      if (input.type !== "transcript") return;
      if (input.entry.type === "user" || input.entry.type === "attachment") return;
      last = next ?? last;
    },
    last: () => last,
  };
}
