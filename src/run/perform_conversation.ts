import { Poller } from "../../ffi/descriptors/poll.ts";
import { lineId } from "../claude/transcript/entry_order.ts";
import type { Frame } from "../claude/wire/frame.ts";
import type { StopSignal } from "../claude/wire/stop_signal.ts";
import type { Ending } from "../conversation/control/effect.ts";
import type { Input } from "../conversation/control/input.ts";
import type { LateTerms } from "../conversation/control/session_options.ts";
import { ticketsOf } from "../conversation/control/message.ts";
import { untakenMessages } from "../conversation/control/taken_prompts.ts";
import { type ConversationEffect, partsOf } from "../conversation/output/conversation.ts";
import type { Report } from "../conversation/output/result/verdict.ts";
import { leftForNextChild } from "../conversation/output/turns/conversation_cost.ts";
import { unansweredRequests } from "../conversation/protocol/requests/ask_helper.ts";
import { definedFields } from "../defined_fields.ts";
import type { Caller, CallerInput } from "../driver/inputs/callers.ts";
import type { CheckedCaller } from "../driver/inputs/deferring_callers.ts";
import type { SessionRun } from "../driver/run_session.ts";
import type { Surroundings } from "./facts/surroundings.ts";
import {
  adviseOnMisses,
  performSession,
  screenFor,
  type SessionWatcher,
  showsScreen,
} from "./perform_run.ts";
import { withCallerServers, withInitialization } from "./plan/initialization.ts";
import { type GoneChild, type NextOrder, nextOrder } from "./plan/next_order.ts";
import type { RunOrder } from "./plan/run_order.ts";
import { isKnownSession, type PreparedRun, prepareRun } from "./prepare_run.ts";
import { takeStop } from "./waits.ts";

/** The report of a turn, with the last screen if the child ended in it. */
export interface TurnReport extends Report {
  readonly screen?: readonly string[];
}

/** The options of a conversation in addition to its order. */
export interface ConversationNeeds extends SessionWatcher {
  readonly caller: Caller;
  /**
   * Whether the conversation continues after a turn that timed out, or a child that took no message. On stdin, both end
   * the conversation. A function if this is known only later.
   */
  readonly outlivesFailures?: boolean | (() => boolean);
  /** Whether the first child is started before the first message. */
  readonly warm?: boolean;
  /** Watches the content that a warm child has read at its start. By default, it is read again at the first message. */
  readonly watch?: (order: RunOrder) => Promise<Pick<Surroundings, "isUpToDate">>;
  /** Returns the options of a caller that arrives after the first child's start, once known. */
  readonly terms?: () => LateTerms | undefined;
  /** Receives the report of each turn, after the turn's frames. */
  readonly onReport: (report: TurnReport) => void | Promise<void>;
  /** Receives each prepared run before its child is started. */
  readonly onPrepared: (prepared: PreparedRun) => void;
  /**
   * Called when only the exit of the last child is outstanding, and the exit can neither change the output nor end a
   * program of the user. A caller that does not wait for the exit prints the rest immediately.
   *
   * @param printRest emits the rest, and returns the exit code
   */
  readonly onOutputComplete?: (printRest: () => number) => void;
  /** Called when a child has ended, before the next one is prepared. */
  readonly onChildEnded: () => void;
  /** Prints a warning of one line. */
  readonly warn: (text: string) => void;
}

/** Endings after which no other child is started. */
const FINAL_ENDINGS: readonly Ending["kind"][] = ["interrupted", "unreadable", "misnamed-answer"];

/** A child that has ended, and where the user's transcripts are. */
interface PreviousChild extends GoneChild, Pick<PreparedRun, "userConfig"> {}

/**
 * Carries out a conversation. When a child ends, a further message is sent to another child that resumes its session.
 *
 * @returns the exit code of the last turn
 * @throws {CliError} when a child cannot be started
 */
export async function performConversation(
  order: RunOrder,
  options: ConversationNeeds,
): Promise<number> {
  const { caller, signals } = options;
  let exitCode = 0;
  // The caller's order, including the caller's changes so far.
  let wanted = withCallerServers(order);
  let previous: PreviousChild | undefined;
  let begin: readonly CallerInput[] = [];
  for (;;) {
    const isWarm = options.warm === true && previous === undefined && !caller.hasInput;
    if (begin.length === 0) {
      if (!isWarm && previous?.ending.kind !== "renewed") await awaitInput(caller, options);
      if (caller.isFinished) return exitCode;
    }
    const next = orderAfter(previous, wanted, options);
    wanted = next.wanted;
    const hasAnswered = previous?.hasAnswered === true && !next.isAnew;
    const child = await performChild(next.order, { ...options, begin, isWarm, exitCode });
    exitCode = child.exitCode;
    if (child.next === undefined) return exitCode;
    begin = child.next.begin;
    // A signal that arrived after the child's end applies to the rest of the conversation.
    if (child.next.signal !== undefined) signals.giveBack(child.next.signal);
    previous = {
      ...child.next.previous,
      hasAnswered: hasAnswered || child.next.previous.hasAnswered,
    };
  }
}

/** The order of the next child. Warns if the previous child ended unexpectedly. */
function orderAfter(
  previous: PreviousChild | undefined,
  wanted: RunOrder,
  { warn }: Pick<ConversationNeeds, "warn">,
): NextOrder {
  if (previous === undefined) return { order: wanted, wanted, isAnew: false };
  const isKept = (sessionId: string) => isKnownSession(sessionId, previous.userConfig.dir);
  const next = nextOrder(wanted, { gone: previous, isKept });
  if (next.warning !== undefined) warn(next.warning);
  return next;
}

/** The result of a child's part of the conversation. */
interface ChildResult {
  /** The exit code of the last turn. */
  readonly exitCode: number;
  /** The state that the next child needs; undefined if there is none. */
  readonly next?: {
    readonly previous: PreviousChild;
    /** Inputs that the child has not taken. */
    readonly begin: readonly CallerInput[];
    readonly signal: StopSignal | undefined;
  };
}

interface ChildOptions extends ConversationNeeds {
  /** Inputs that no child has taken yet. */
  readonly begin: readonly CallerInput[];
  /** Whether the child is started before the first message. */
  readonly isWarm: boolean;
  /** The exit code of the previous turn. */
  readonly exitCode: number;
}

/** Prepares and starts one child of a conversation, and follows it to its end. */
async function performChild(order: RunOrder, options: ChildOptions): Promise<ChildResult> {
  const { caller, isWarm, onChildEnded } = options;
  const terms = options.terms?.();
  const agreed = { ...order, ...terms };
  const { initialize } = caller;
  const asked = initialize === undefined ? agreed : withInitialization(agreed, initialize);
  const firstWords = isWarm ? await waitingCaller(caller, asked, options) : undefined;
  const prepared = await prepareRun(asked);
  options.onPrepared(prepared);
  const reporter = new TurnReporter(prepared, options);
  const isTraced = () => options.terms?.()?.trace ?? order.trace;
  const { end: { ending, frames, report }, state, lastScreen, signal } = await followChild(
    prepared,
    reporter,
    { ...options, speaker: firstWords ?? caller, hasTerms: terms !== undefined, isTraced },
  );
  if (reporter.isComplete) {
    if (report?.warning !== undefined) options.warn(report.warning);
    onChildEnded();
    return { exitCode: reporter.exitCode };
  }
  for (const frame of frames) reporter.emit(frame);
  const untaken = untakenMessages(state.session);
  // The next child would also fail to take these messages, unless this one was started without any.
  const isDeaf = !isWarm && (!state.session.isReady || ending.kind === "unreachable");
  if (report !== undefined) {
    const screen = await screenFor(report, { lastScreen, trace: isTraced() });
    const tickets = [...report.tickets ?? [], ...isDeaf ? ticketsOf(untaken) : []];
    await reporter.reportEnd({ ...report, tickets, ...definedFields({ screen }) });
  }
  await prepared.relay?.settled();
  onChildEnded();
  const { exitCode } = reporter;
  const begin: readonly CallerInput[] = [
    ...unansweredRequests(state.session)
      .map((request) => ({ type: "control", request } as const)),
    ...isDeaf ? [] : untaken.map((message) => ({ type: "message", message } as const)),
  ];
  const isLast = FINAL_ENDINGS.includes(ending.kind) ||
    (!outlivesFailures(options) && (isDeaf || ending.kind === "timeout"));
  const isOver = caller.isFinished || state.session.isDismissed === true;
  if (isLast || (isOver && begin.length === 0)) return { exitCode };
  const previous = {
    sessionId: prepared.sessionId,
    userConfig: prepared.userConfig,
    ending,
    told: leftForNextChild(state.frames, begin.length === 0 ? [] : untaken),
    hasAnswered: reporter.hasAnswered,
    wasOutdated: firstWords?.isDismissed === true,
  };
  return { exitCode, next: { previous, begin, signal } };
}

/**
 * Starts a prepared child and follows it to its end.
 *
 * @param options.speaker the caller, or the slot of a warm child
 * @param options.hasTerms whether the options of the caller are part of the order
 * @returns how the session ended, and the last signal that arrived
 */
async function followChild(
  prepared: PreparedRun,
  reporter: TurnReporter,
  options: ChildOptions & {
    readonly speaker: Caller | CheckedCaller;
    readonly hasTerms: boolean;
    readonly isTraced: () => boolean;
  },
): Promise<SessionRun & { readonly signal: StopSignal | undefined }> {
  const { caller, speaker, isTraced } = options;
  let hasTerms = options.terms === undefined || options.hasTerms;
  let signal: StopSignal | undefined;
  speaker.attachChild(prepared.judge);
  const run = await performSession(prepared, {
    ...options,
    emit: (frame) => reporter.emit(frame),
    begin: [...options.begin, ...speaker.take([])],
    caller: speaker,
    takeTerms: () => {
      const terms = hasTerms ? undefined : options.terms?.();
      hasTerms ||= terms !== undefined;
      return terms;
    },
    onInput: (input) => {
      if (input.type === "signal") signal = input.signal;
      reporter.observe(input);
      options.onInput?.(input);
    },
    onReport: (report) => reporter.report(report),
    onOutputComplete: (finalOutput) => {
      if (options.onOutputComplete === undefined || !prepared.endsAlone || !caller.isFinished) {
        return;
      }
      const output = finalOutput();
      const needsScreen = output.flatMap(partsOf).some((part) =>
        part.type === "report" && showsScreen(part.report, { trace: isTraced() })
      );
      if (!needsScreen) options.onOutputComplete(() => reporter.emitRest(output));
    },
  });
  return { ...run, signal };
}

function outlivesFailures({ outlivesFailures = false }: ConversationNeeds): boolean {
  return typeof outlivesFailures === "function" ? outlivesFailures() : outlivesFailures;
}

/** The caller of a warm child, which may dismiss the child at its first message if the child is outdated. */
async function waitingCaller(
  caller: Caller,
  order: RunOrder,
  { watch }: Pick<ConversationNeeds, "watch">,
): Promise<CheckedCaller> {
  const [{ CheckedCaller }, { watchSurroundings }] = await Promise.all([
    import("../driver/inputs/deferring_callers.ts"),
    import("./facts/surroundings.ts"),
  ]);
  const { isUpToDate } = await (watch ?? watchSurroundings)(order);
  return new CheckedCaller(caller, isUpToDate);
}

/**
 * Waits without a limit until a caller has sent something, or closes its input.
 *
 * @throws {StoppedError} when a signal arrives
 */
export async function awaitInput(
  caller: Caller,
  { signals, outlets = [] }: Pick<SessionWatcher, "signals" | "outlets">,
): Promise<void> {
  using poller = new Poller();
  signals.onArrival = () => poller.wake();
  caller.onArrival = () => poller.wake();
  try {
    while (!caller.hasInput && !caller.isFinished) {
      const pending = outlets.filter(({ pending }) => pending > 0);
      const stop = takeStop(signals);
      if (stop !== undefined) throw stop;
      const ready = await poller.wait(
        [...caller.interests, ...pending.map(({ fd }) => ({ fd, write: true }))],
        -1,
      );
      for (const outlet of pending) if (ready.some(({ fd }) => fd === outlet.fd)) outlet.flush();
      caller.read(ready);
    }
  } finally {
    signals.onArrival = undefined;
    caller.onArrival = undefined;
  }
}

/** Emits the frames of one child and reports its turns. */
class TurnReporter {
  /** The exit code of the last reported turn. */
  exitCode: number;
  /** Whether a turn before the last one was answered. */
  hasAnswered = false;
  /** Whether {@linkcode emitRest} was called. All later output is dropped. */
  isComplete = false;
  readonly #sandbox: PreparedRun["sandbox"];
  readonly #options: Pick<ConversationNeeds, "emit" | "onReport">;
  readonly #advise: ReturnType<typeof adviseOnMisses>;
  readonly #lines = new LineTracker();

  /** @param options.exitCode the exit code of the previous turn */
  constructor(
    prepared: Pick<PreparedRun, "sandbox" | "relay" | "options">,
    options: Pick<ConversationNeeds, "emit" | "onReport"> & { readonly exitCode: number },
  ) {
    this.exitCode = options.exitCode;
    this.#sandbox = prepared.sandbox;
    this.#options = options;
    this.#advise = adviseOnMisses(prepared);
  }

  /** Receives each input before the conversation does. */
  observe(input: Input): void {
    this.#lines.observe(input);
  }

  emit(frame: Frame): void {
    if (!this.isComplete) this.#emit(frame);
  }

  /** Reports a turn before the last one. */
  report(report: Report): void | Promise<void> {
    if (this.isComplete) return;
    this.hasAnswered ||= report.result.num_turns > 0;
    return this.reportEnd(report);
  }

  /** Reports the turn in which the child ended. */
  reportEnd(report: TurnReport): void | Promise<void> {
    this.exitCode = report.exitCode;
    return this.#options.onReport({ ...report, ...this.#advise(report) });
  }

  /** Emits all remaining output, and returns the exit code. */
  emitRest(output: readonly ConversationEffect[]): number {
    this.isComplete = true;
    for (const part of output.flatMap(partsOf)) {
      if (part.type === "frame") this.#emit(part.frame);
      if (part.type === "report") this.reportEnd(part.report);
    }
    return this.exitCode;
  }

  #emit(frame: Frame): void {
    // A reader of a result may look for its turn in the user's transcript.
    if (frame.type === "result") this.#sandbox.forwardSoFar(this.#lines.last);
    this.#options.emit?.(frame);
  }
}

/** Finds the last line of a transcript that is known to belong to a message or a turn. */
export class LineTracker {
  /** The id of the last such line. */
  last: string | undefined;
  /** A user's line. The conversation knows its message only after it has processed the line. */
  #next: string | undefined;

  /** Receives each input before the conversation does. */
  observe(input: Input): void {
    this.last = this.#next ?? this.last;
    this.#next = input.type === "transcript" ? lineId(input.entry) : undefined;
    if (input.type !== "transcript") return;
    if (input.entry.type === "user" || input.entry.type === "attachment") return;
    this.last = this.#next ?? this.last;
  }
}
