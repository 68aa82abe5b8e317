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

/** Everything a session remembers between two inputs: its phase, and what it knows in every phase. */
export type SessionState = CommonState & Phase;

/** The state in every phase, one interface a subject. */
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

/** Whether the current turn, or the one just over, is the last of the conversation, and all requests are answered. */
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

/** A phase in which the ending is not known yet. */
type OpenPhase =
  & { readonly ending?: undefined }
  & (
    | { readonly phase: "starting" | "resting" | "working" | "settling" | "aborting" }
    | {
      readonly phase: "pasted";
      /** The parts of the prompt that are not seen on the screen yet; the first one has been pasted. */
      readonly pasting: readonly PromptPart[];
      readonly echo: EchoState;
    }
    | {
      readonly phase: "entered";
      /** Whether Enter is pressed once more if the next screen asks nothing. */
      readonly entersAgain: boolean;
    }
  );

/** The state of the child's end. */
interface EndState {
  /** How often the child was told to go, reminders apart. */
  readonly kills: number;
  /**
   * How much longer the child may take to go after the next reminder, in milliseconds; negative while it gets more time
   * because its transcript does not hold the turn.
   */
  readonly exitLeftMs: number;
  /** The pending SessionEnd hook, which keeps the child until its transcript holds the last turn. */
  readonly endHook?: string | undefined;
  /** Whether only the child's exit is outstanding: its answer is written. */
  readonly isOutputComplete?: true;
  /** Whether it was killed because it did not end. */
  readonly isForced?: true;
  readonly exit?: Extract<Input, { readonly type: "exit" }>;
}

const NO_END: EndState = { kills: 0, exitLeftMs: 0 };

/** The state of the child's start: what the first prompt waits for. */
interface StartState {
  /** Whether the child has shown that it can take a prompt. */
  readonly isReady: boolean;
  /** Whether the child's rendezvous socket takes a prompt. */
  readonly isReachable: boolean;
  /**
   * Whether the first SessionStart hook has run, or is not waited for any longer: later ones, of a compaction or another
   * session, do not delay a request.
   */
  readonly hasSessionStarted: boolean;
  /**
   * The pending SessionStart hook, which delays the first request, and how often the child was pinged to see whether it
   * has run its timers.
   */
  readonly waitingStartHook?: {
    readonly id: string;
    readonly overdue: boolean;
    readonly pings?: number;
    /** Whether the child has begun connections that are not done. */
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
  /** Whether all messages together have one time limit, which runs already. */
  readonly isBounded?: true;
  /** Messages that wait, the next one first. */
  readonly queue: readonly Message[];
  /** Prompts that the child was given and is not known to have taken. */
  readonly sent: readonly Prompt[];
  /** Prompts that the child has taken, as a hook has told, and that the transcript does not hold yet. */
  readonly unwritten: readonly Prompt[];
  /** The ids of the transcript's lines. */
  readonly knownLines: GrowingSet<string>;
  /** The ids of prompts in the transcript, by those that the caller gave them. */
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

/** The child's terminal: its output, the keys that were typed, and what the screen asks. */
interface TerminalState {
  /** Its size, in character cells. */
  readonly size: { readonly rows: number; readonly cols: number };
  readonly scanner: ScannerState;
  /** The child's output as long as it has no status. */
  readonly written: Uint8Array;
  /** When the child wrote its first output, in milliseconds after its start; absent until then. */
  readonly firstOutputAt?: number;
  /** How many images were put into files, and the number that the child gave the last of them. */
  readonly images: { readonly placed: number; readonly number: number };
  /** The last screen that was looked at, what it asks, and since when. */
  readonly screen?:
    | { readonly screen: Screen; readonly asks: string; readonly since: number }
    | undefined;
  /** Keys pressed in dialogs since the child was busy last. */
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
  /** Since when, in milliseconds since the epoch, where the child reports it. */
  readonly updatedAt?: number;
}

/**
 * The child's own queue: messages that the caller sends while a turn is under way, and the ends of tasks in the background.
 * Each starts a turn if no turn takes it up.
 */
export interface ChildQueue {
  readonly length: number;
  /** Whether the end of a task is in the queue, or has been since the queue was empty. */
  readonly hasNotice: boolean;
  /** When the child last took such an end out of the queue, in milliseconds since the epoch; absent once a turn has begun. */
  readonly noticeTakenAt?: number | undefined;
  /** Tasks that the session has started in the background, and whose ends have not been in the queue. */
  readonly runningTasks: ReadonlySet<string>;
  /** Tasks whose ends have been in the queue. */
  readonly endedTasks: ReadonlySet<string>;
  /** The subagents that have put shells into the background, by the ids of the shells. */
  readonly shellOwners: ReadonlyMap<string, string>;
  /** Subagents that were over and are at work again because such a shell has ended. */
  readonly wokenAgents: ReadonlySet<string>;
}

/** The state of the child, whatever turn it is in. */
interface ChildState {
  /** When the child or the caller last gave a sign of life. */
  readonly lifeAt: number;
  /** Its last status, once its status file exists. */
  readonly status?: ChildStatus;
  /** The version of Claude Code, once its status file or its transcript tells it. */
  readonly version?: string;
  /** Names of the tools that run, by the ids of their calls. */
  readonly tools: ReadonlyMap<string, string>;
  readonly childQueue: ChildQueue;
  /**
   * When the child wakes the model, in milliseconds after its start, if it does, and whether the session waits for nothing
   * else.
   */
  readonly wakeup?: { readonly at: number; readonly awaited?: true } | undefined;
  /** Whether the transcript has a goal that is not reached yet. */
  readonly pursuesGoal: boolean;
  /** How many turns the child has outlived. */
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
  /** The helper's answer to the initialization of a caller that has yet to come. */
  readonly earlyInitialization?: Extract<HelperReply, { readonly response: unknown }> | undefined;
  /** Answers to requests that came after an initialization which has not been answered yet. */
  readonly deferredAnswers: readonly DeferredAnswer[];
  /** Requests that wait for an answer of the headless helper, by their ids. */
  readonly consultedRequests: ReadonlyMap<string, ControlRequest>;
  /** What the child of the next message is to be started with, where it differs from this child. */
  readonly changes?: ChildChanges;
  /** The ids of the calls that are to go into the background, and how often the key for it was pressed. */
  readonly backgrounding?:
    | { readonly calls: ReadonlySet<string>; readonly presses: number }
    | undefined;
  /** Tasks in the background that the caller wants to be stopped, one after the other. */
  readonly taskStops: readonly TaskStop[];
  /** The names that the list of tasks may show for the task of a call, by the ids of calls that have not returned. */
  readonly launchedCalls: ReadonlyMap<string, readonly string[]>;
  /** The names that the list of tasks may show for tasks in the background, by the ids of the tasks. */
  readonly taskNames: ReadonlyMap<string, readonly string[]>;
}

/** An answer that waits until an initialization has been answered. */
interface DeferredAnswer {
  /** The id of the `initialize` request whose answer must come first; a key of `consultedRequests`. */
  readonly initialization: string;
  readonly answer: Effect;
}

/** The stop of a task in the background, by keys in the list of tasks. */
export interface TaskStop {
  readonly request: ControlRequest;
  readonly task: string;
  /** What is awaited: that keys may be pressed, the list of tasks, the task in it, the task's end, or that the list is closed. */
  readonly stage: "waiting" | "opening" | "finding" | "ending" | "closing";
  /** How often the screen was looked at in this stage. */
  readonly looks: number;
  /** Why the task cannot be stopped. */
  readonly failure?: string;
  /** Whether the caller has its answer, and only the list is still open. */
  readonly answered?: true;
}

const NO_REQUESTS: RequestState = {
  deferredAnswers: [],
  consultedRequests: new Map(),
  taskStops: [],
  launchedCalls: new Map(),
  taskNames: new Map(),
};

/** What the conversation has cost, and which tools wait for the price of an answer. */
interface SpendingState {
  /** What the conversation has cost, in US dollars, as far as the child has reported it. */
  readonly spentUsd: number;
  /** How long its requests to the API took, in milliseconds, as far as the child has reported it. */
  readonly apiDurationMs: number;
  /** PreToolUse hooks that wait for the price of the answer that calls their tools, and the agents of the tools. */
  readonly unpaidHooks: readonly { readonly id: string; readonly agent: string }[];
  /** The agents whose last answer is paid or is waited for, by id; the id of the main agent is empty. */
  readonly paidAgents: ReadonlySet<string>;
}

function nothingSpent({ paidUsd = 0 }: Pick<SessionOptions, "paidUsd">): SpendingState {
  return { spentUsd: paidUsd, apiDurationMs: 0, unpaidHooks: [], paidAgents: new Set() };
}

/** Whether the conversation has cost as much as it may. */
export function isOverspent(
  { options: { maxBudgetUsd }, spentUsd }: Pick<SpendingState, "spentUsd"> & {
    readonly options: Pick<SessionOptions, "maxBudgetUsd">;
  },
): boolean {
  return maxBudgetUsd !== undefined && spentUsd >= maxBudgetUsd;
}
