import { NO_QUESTIONS, type QuestionState } from "../protocol/questions/question.ts";
import { NO_TURN, type TurnState } from "./turn_state.ts";
import type { SessionOptions } from "./session_options.ts";
import type { ChildChanges, Effect, Ending } from "./effect.ts";
import type { Message, Prompt, PromptPart } from "./message.ts";
import type { EchoState } from "../terminal/paste.ts";
import type { HelperReply, Input } from "./input.ts";
import { type GrowingSet, growingSet } from "../../growing_set.ts";
import type { Screen } from "../terminal/screen.ts";
import { SCANNER_START, type ScannerState } from "../terminal/terminal_scanner.ts";
import type { JsonObject } from "../../json_object.ts";
import type { ControlRequest } from "../../claude/wire/control.ts";
import { noFacts, type SharedFacts } from "../model/shared_facts.ts";

/** The state of a session between two inputs: its phase, and the facts that are known in every phase. */
export type SessionState = CommonState & Phase;

/** The state in every phase, with one interface for each subject. */
interface CommonState
  extends
    MessageState,
    RequestState,
    QuestionState,
    StartState,
    TerminalState,
    ChildState,
    TurnState,
    SpendingState,
    EndState {
  readonly options: SessionOptions;
  readonly facts: SharedFacts;
}

/** The session before its first input. */
export function startSession(options: SessionOptions): SessionState {
  const { version, size, requestsMade = 0 } = options;
  return {
    options,
    facts: noFacts(),
    phase: "starting",
    ...noMessages(),
    ...NO_REQUESTS,
    ...NO_QUESTIONS,
    ...JUST_STARTED,
    ...newTerminal(size),
    ...NEW_CHILD,
    ...(version === undefined ? {} : { version }),
    ...NO_TURN,
    requests: requestsMade,
    ...nothingSpent(options),
    ...NO_END,
  };
}

/**
 * Whether the current turn, or the turn that has just ended, is the last of the conversation, and all requests are
 * answered.
 */
export function isLast(
  { isOpen, queue, sent, consultedRequests, taskStops }: SessionState,
): boolean {
  return !isOpen && queue.length + sent.length + taskStops.length + consultedRequests.size === 0;
}

/**
 * The phase of a session.
 *
 * - `starting`: the child was started, and no turn has begun
 * - `resting`: the child is idle, no turn is under way
 * - `pasted`: the prompt was pasted, its echo is awaited
 * - `entered`: Enter was pressed or the prompt was sent to the socket, UserPromptSubmit is awaited
 * - `working`: the turn is under way
 * - `settling`: a hook has announced the end of the turn, the child's idle status is awaited
 * - `aborting`: Escape was pressed to end the turn alone, the child's idle status is awaited
 * - `interrupting`: Escape was pressed to end the turn and with it the run, the child's idle status is awaited
 * - `ending`: the ending is known, and the child was told to go
 * - `reading`: the child is gone, the rest of its transcript is awaited
 * - `ended`: nothing more will happen
 */
export type Phase =
  | OpenPhase
  | { readonly phase: "interrupting" | "ending" | "reading" | "ended"; readonly ending: Ending };

/** A phase in which the ending is unknown. */
type OpenPhase =
  & { readonly ending?: undefined }
  & (
    | { readonly phase: "starting" | "resting" | "working" | "settling" | "aborting" }
    | {
      readonly phase: "pasted";
      /** The parts of the prompt that have not been seen on the screen. The first of them has been pasted. */
      readonly pasting: readonly PromptPart[];
      readonly echo: EchoState;
    }
    | {
      readonly phase: "entered";
      /** Whether Enter is pressed again if the next screen asks nothing. */
      readonly entersAgain: boolean;
    }
  );

/** The state of the child's end. */
interface EndState {
  /** How often the child was asked to exit, without reminders. */
  readonly kills: number;
  /**
   * The time that the child may take to exit after the next reminder, in milliseconds; negative while the child gets
   * more time because its transcript does not hold the turn.
   */
  readonly exitLeftMs: number;
  /** The pending SessionEnd hook, which delays the child's exit until its transcript holds the last turn. */
  readonly endHook?: string | undefined;
  /** Whether only the child's exit is outstanding, because its answer is written. */
  readonly isOutputComplete?: true;
  /** Whether the child was killed because it did not exit. */
  readonly isForced?: true;
  readonly exit?: Extract<Input, { readonly type: "exit" }>;
}

const NO_END: EndState = { kills: 0, exitLeftMs: 0 };

/** The state of the child's start, for which the first prompt waits. */
interface StartState {
  /** Whether the child has shown that it can take a prompt. */
  readonly isReady: boolean;
  /** Whether the child's rendezvous socket takes a prompt. */
  readonly isReachable: boolean;
  /**
   * Whether the first SessionStart hook has run, or nothing waits for it any longer. Later ones, of a compaction or
   * another session, do not delay a request.
   */
  readonly hasSessionStarted: boolean;
  /**
   * The pending SessionStart hook, which delays the first request, and the number of pings that tested whether the
   * child has run its timers.
   */
  readonly waitingStartHook?: {
    readonly id: string;
    readonly overdue: boolean;
    readonly pings?: number;
    /** Whether the child has begun connections that are not finished. */
    readonly connecting?: boolean;
  } | undefined;
  /** The results of connecting to MCP servers, by their names. */
}

const JUST_STARTED: StartState = {
  isReady: false,
  isReachable: false,
  hasSessionStarted: false,
};

/** The caller's messages, until the transcript holds them. */
interface MessageState {
  /** Whether further messages may come. */
  readonly isOpen: boolean;
  /** Whether the caller has ended the session: its further messages are ignored. */
  readonly isDismissed?: true;
  /** Whether all messages together have one time limit, which is already running. */
  readonly isBounded?: true;
  /** Waiting messages, the next one first. */
  readonly queue: readonly Message[];
  /** Prompts that were delivered to the child and that it is not known to have taken. */
  readonly sent: readonly Prompt[];
  /** Prompts that the child has taken according to a hook, and that the transcript does not hold yet. */
  readonly unwritten: readonly Prompt[];
  /** The ids of the transcript's lines. */
  readonly knownLines: GrowingSet<string>;
  /** The ids of prompts in the transcript, by the ids that the caller gave them. */
  readonly lineIds: ReadonlyMap<string, string>;
}

function noMessages(): MessageState {
  return {
    isOpen: true,
    queue: [],
    sent: [],
    unwritten: [],
    knownLines: growingSet(),
    lineIds: new Map(),
  };
}

/** The child's terminal: its output, the typed keys, and the question on the screen. */
interface TerminalState {
  /** The size of the terminal, in character cells. */
  readonly size: { readonly rows: number; readonly cols: number };
  readonly scanner: ScannerState;
  /** The child's output while it has no status. */
  readonly written: Uint8Array;
  /** When the child wrote its first output, in milliseconds after its start; absent until then. */
  readonly firstOutputAt?: number;
  /** The number of images that were put into files, and the number that the child gave the last of them. */
  readonly images: { readonly placed: number; readonly number: number };
  /** The last screen that was examined, its question, and when it was first seen. */
  readonly screen?:
    | { readonly screen: Screen; readonly asks: string; readonly since: number }
    | undefined;
  /** The number of keys pressed in dialogs since the child was last busy. */
  readonly dialogKeys: number;
  /** When the last key in a dialog was pressed. */
  readonly keyAt?: number;
}

function newTerminal(size: TerminalState["size"]): TerminalState {
  return {
    size,
    scanner: SCANNER_START,
    written: new Uint8Array(),
    images: { placed: 0, number: 0 },
    dialogKeys: 0,
  };
}

/** The status that the child reports. */
export interface ChildStatus {
  /** `idle`, `busy` or `waiting`. */
  readonly status: string;
  readonly waitingFor?: string;
  /** When the status was set, in milliseconds since the epoch, if the child reports it. */
  readonly updatedAt?: number;
}

/**
 * The child's own queue: messages that the caller sends during a turn, and the ends of background tasks. Each entry
 * starts a turn unless a turn takes it.
 */
export interface ChildQueue {
  readonly length: number;
  /** Whether the end of a task is in the queue, or has been since the queue was empty. */
  readonly hasNotice: boolean;
  /**
   * When the child last took a task's end out of the queue, in milliseconds since the epoch; absent once a turn has
   * begun.
   */
  readonly noticeTakenAt?: number | undefined;
  /** Background tasks that the session has started, and whose ends have not been in the queue. */
  readonly runningTasks: ReadonlySet<string>;
  /** Tasks whose ends have been in the queue. */
  readonly endedTasks: ReadonlySet<string>;
  /** The subagents that have moved shells to the background, by the ids of the shells. */
  readonly shellOwners: ReadonlyMap<string, string>;
  /** Subagents that had ended and work again because their shell has ended. */
  readonly wokenAgents: ReadonlySet<string>;
}

/** The state of the child that does not depend on the turn. */
interface ChildState {
  /** When the child or the caller last gave a sign of life. */
  readonly lifeAt: number;
  /** The child's last status; absent while it has no status file. */
  readonly status?: ChildStatus;
  /** The version of Claude Code, once the child's status file or transcript names it. */
  readonly version?: string;
  /** Names of the running tools, by the ids of their calls. */
  readonly tools: ReadonlyMap<string, string>;
  readonly childQueue: ChildQueue;
  /**
   * When the child will wake the model, in milliseconds after its start, if it will, and whether the session waits only
   * for that.
   */
  readonly wakeup?: { readonly at: number; readonly awaited?: true } | undefined;
  /** Whether the transcript has a goal that is not reached. */
  readonly pursuesGoal: boolean;
  /** The number of turns that the child has outlived. */
  readonly turns: number;
}

export const EMPTY_QUEUE: ChildQueue = {
  length: 0,
  hasNotice: false,
  runningTasks: new Set(),
  endedTasks: new Set(),
  shellOwners: new Map(),
  wokenAgents: new Set(),
};

const NEW_CHILD: ChildState = {
  lifeAt: 0,
  tools: new Map(),
  childQueue: EMPTY_QUEUE,
  pursuesGoal: false,
  turns: 0,
};

/** The caller's requests. */
interface RequestState {
  /** The body of the first initialization. */
  readonly initialization?: JsonObject;
  /** The helper's answer to the initialization of a future caller. */
  readonly earlyInitialization?: Extract<HelperReply, { readonly response: unknown }> | undefined;
  /** Answers to requests that came after an unanswered initialization. */
  readonly deferredAnswers: readonly DeferredAnswer[];
  /** Requests that wait for an answer of the headless helper, by their ids. */
  readonly consultedRequests: ReadonlyMap<string, ControlRequest>;
  /**
   * The changes with which the child of the next message has to start; absent if it need not differ from this child.
   */
  readonly changes?: ChildChanges;
  /** The ids of the calls that will go to the background, and how often the key for this was pressed. */
  readonly backgrounding?:
    | { readonly calls: ReadonlySet<string>; readonly presses: number }
    | undefined;
  /** Background tasks that the caller wants to stop, one after the other. */
  readonly taskStops: readonly TaskStop[];
  /** The names that the list of tasks may show for the task of a call, by the ids of calls that have not returned. */
  readonly launchedCalls: ReadonlyMap<string, readonly string[]>;
  /** The names that the list of tasks may show for background tasks, by the ids of the tasks. */
  readonly taskNames: ReadonlyMap<string, readonly string[]>;
}

/** An answer that waits until an initialization has been answered. */
interface DeferredAnswer {
  /** The id of the `initialize` request whose answer must come first; a key of `consultedRequests`. */
  readonly initialization: string;
  readonly answer: Effect;
}

/** The stop of a background task, by keys in the list of tasks. */
export interface TaskStop {
  readonly request: ControlRequest;
  readonly task: string;
  /**
   * The awaited event: that keys may be pressed, the list of tasks, the task in it, the task's end, or that the list is
   * closed.
   */
  readonly stage: "waiting" | "opening" | "finding" | "ending" | "closing";
  /** How often the screen was examined in this stage. */
  readonly looks: number;
  /** Why the task cannot be stopped. */
  readonly failure?: string;
  /** Whether the caller has received its answer, and only the list is still open. */
  readonly answered?: true;
}

const NO_REQUESTS: RequestState = {
  deferredAnswers: [],
  consultedRequests: new Map(),
  taskStops: [],
  launchedCalls: new Map(),
  taskNames: new Map(),
};

/** The cost of the conversation, and the tools that wait for the cost of an answer. */
interface SpendingState {
  /** The cost of the conversation in US dollars that the child has reported. */
  readonly spentUsd: number;
  /** The duration of its API requests in milliseconds that the child has reported. */
  readonly apiDurationMs: number;
  /** PreToolUse hooks that wait for the cost of the answer that calls their tools, and the agents of the tools. */
  readonly unpaidHooks: readonly { readonly id: string; readonly agent: string }[];
  /** The agents whose last answer is paid or whose cost is awaited, by id. The id of the main agent is empty. */
  readonly paidAgents: ReadonlySet<string>;
}

function nothingSpent({ paidUsd = 0 }: Pick<SessionOptions, "paidUsd">): SpendingState {
  return { spentUsd: paidUsd, apiDurationMs: 0, unpaidHooks: [], paidAgents: new Set() };
}

/** Whether the budget of the conversation is used up. */
export function isOverspent(
  { options: { maxBudgetUsd }, spentUsd }: Pick<SpendingState, "spentUsd"> & {
    readonly options: Pick<SessionOptions, "maxBudgetUsd">;
  },
): boolean {
  return maxBudgetUsd !== undefined && spentUsd >= maxBudgetUsd;
}
