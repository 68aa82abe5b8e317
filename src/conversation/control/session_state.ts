import { type AskingMemory, NOTHING_ASKED } from "../protocol/questions/question.ts";
import { NO_TURN, type TurnMemory } from "./turn_state.ts";
import type { SessionOptions } from "./session_options.ts";
import type { ChildChanges, Effect, Ending } from "./effect.ts";
import type { Message, Prompt, PromptPart } from "./message.ts";
import type { EchoState } from "../terminal/paste.ts";
import type { Consulted, Exit } from "./input.ts";
import { type GrowingMap, growingMap } from "../../growing_map.ts";
import type { Screen } from "../terminal/screen.ts";
import { SCANNER_START, type ScannerState } from "../terminal/terminal_scanner.ts";
import type { JsonObject } from "../../json_object.ts";
import type { ControlRequest } from "../../claude/wire/control.ts";

/** Everything a session remembers between two inputs: where it stands, and what it knows in every phase. */
export type SessionState = SessionMemory & Phase;

/** A session whose ending is not known yet. */
export type OpenSession = SessionMemory & OpenPhase;

/** A session whose prompt was pasted. */
export type PastedSession = Extract<OpenSession, { readonly phase: "pasted" }>;

/** What it remembers in every phase, each of something else. */
interface SessionMemory
  extends
    MessageMemory,
    RequestMemory,
    AskingMemory,
    StartMemory,
    TerminalMemory,
    ChildMemory,
    TurnMemory,
    SpendingMemory,
    EndMemory {
  readonly options: SessionOptions;
}

/** The session before its first input. */
export function startSession(options: SessionOptions): SessionState {
  const { version, size, requestsMade = 0 } = options;
  return {
    options,
    phase: "starting",
    ...noMessages(),
    ...NOTHING_REQUESTED,
    ...NOTHING_ASKED,
    ...JUST_STARTED,
    ...newTerminal(size),
    ...UNHEARD_CHILD,
    ...(version === undefined ? {} : { version }),
    ...NO_TURN,
    requests: requestsMade,
    ...nothingSpent(options),
    ...NO_END,
  };
}

/** Whether the turn under way, or the one just over, is the last of the conversation, and every request answered. */
export function isLast(
  { isOpen, queue, sent, consultedRequests, taskStops }: SessionState,
): boolean {
  return !isOpen && queue.length + sent.length + taskStops.length + consultedRequests.size === 0;
}

/**
 * Where a session stands.
 *
 * - `starting`: the child was started, no sign of a turn yet
 * - `resting`: the child is idle, no turn is under way
 * - `pasted`: the prompt was pasted, its echo is awaited
 * - `entered`: Enter was pressed or the prompt sent to the socket, UserPromptSubmit is awaited
 * - `working`: the turn is under way
 * - `settling`: Stop came, the child's idle status is awaited
 * - `aborting`: Escape was pressed to end the turn alone, the child's idle status is awaited
 * - `interrupting`: Escape was pressed to end the turn and with it the run, the child's idle status is awaited
 * - `ending`: the ending is known, the child has been told to go
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
      /** What of the prompt is still to be pasted, the part whose echo is awaited first. */
      readonly pasting: readonly PromptPart[];
      readonly echo: EchoState;
    }
    | {
      readonly phase: "entered";
      /** Whether Enter is pressed once more if the next screen asks nothing. */
      readonly entersAgain: boolean;
    }
  );

/** What is remembered of the child's end: of how it is told to go, and whether it has. */
interface EndMemory {
  /** How often the child has been told to go, reminders apart. */
  readonly kills: number;
  /**
   * How much longer the child may take to go after the next reminder, in milliseconds; below zero once it takes longer
   * because its turn is not on record.
   */
  readonly exitLeftMs: number;
  /** The SessionEnd hook that keeps the child until its transcript holds the last turn, until it is answered. */
  readonly endHook?: string | undefined;
  readonly exit?: Exit;
}

/** Nobody has told the child to go. */
const NO_END: EndMemory = { kills: 0, exitLeftMs: 0 };

/** What is remembered of how the child starts: what the first prompt waits for. */
interface StartMemory {
  /** Whether the child has shown that it can take a prompt. */
  readonly isReady: boolean;
  /** Whether the child's rendezvous socket takes a prompt. */
  readonly isReachable: boolean;
  /**
   * Whether the first SessionStart hook has told what the child is started with, or is not waited for any longer: what a
   * compaction or a session after it starts is not held.
   */
  readonly hasSessionStarted: boolean;
  /**
   * The hook that holds the first request back, until it is answered, and how often the child was asked
   * whether it has run its timers, if it was.
   */
  readonly waitingStartHook?: {
    readonly id: string;
    readonly overdue: boolean;
    readonly pings?: number;
    /** Whether the child has begun connections that it is not done with. */
    readonly connecting?: boolean;
  } | undefined;
  /** The MCP servers that the child has done with connecting to, by their names. */
  readonly settledServers: Readonly<Record<string, "connected" | "failed">>;
}

/** The child has just been started. */
const JUST_STARTED: StartMemory = {
  isReady: false,
  isReachable: false,
  hasSessionStarted: false,
  settledServers: {},
};

/** What is remembered of the caller's messages, from when they come until the transcript holds them. */
interface MessageMemory {
  /** Whether there may be further ones. */
  readonly isOpen: boolean;
  /** Whether the caller has ended the session: whatever else it says is not heard. */
  readonly isDismissed?: true;
  /** Whether all that is asked has one time limit, which runs already. */
  readonly isBounded?: true;
  /** Messages that wait, the next one first. */
  readonly queue: readonly Message[];
  /** What the child has been given and is not known to have taken yet. */
  readonly sent: readonly Prompt[];
  /** What it has taken, as a hook has told, and the transcript does not hold yet. */
  readonly unwritten: readonly Prompt[];
  /** The ids of the transcript's lines. */
  readonly knownLines: GrowingMap<string, true>;
  /** The ids of prompts in the transcript, by those that the caller gave them. */
  readonly lineIds: GrowingMap<string, string>;
}

/** The caller has sent nothing yet. */
function noMessages(): MessageMemory {
  return {
    isOpen: true,
    queue: [],
    sent: [],
    unwritten: [],
    knownLines: growingMap(),
    lineIds: growingMap(),
  };
}

/** What is remembered of the child's terminal: what it writes there, what is typed, and what the screen asks. */
interface TerminalMemory {
  /** Its size, in character cells. */
  readonly size: { readonly rows: number; readonly cols: number };
  readonly scanner: ScannerState;
  /** What the child has written as long as it has no status. */
  readonly written: Uint8Array;
  /** When the child wrote something for the first time, in milliseconds after its start; absent until it has. */
  readonly firstOutputAt?: number;
  /** How many images have been put into files, and the number that the child has given to the last of them. */
  readonly images: { readonly placed: number; readonly number: number };
  /** The last screen looked at, what it asks, and since when it has asked that. */
  readonly screen?:
    | { readonly screen: Screen; readonly asks: string; readonly since: number }
    | undefined;
  /** Keys pressed in dialogs since the child was busy last. */
  readonly dialogKeys: number;
  /** When the last of them was pressed. */
  readonly keyAt?: number;
}

/** A terminal in which nothing has been written or typed. */
function newTerminal(size: TerminalMemory["size"]): TerminalMemory {
  return {
    size,
    scanner: SCANNER_START,
    written: new Uint8Array(),
    images: { placed: 0, number: 0 },
    dialogKeys: 0,
  };
}

/** What the child says of itself. */
export interface ChildStatus {
  /** `idle`, `busy` or `waiting`. */
  readonly status: string;
  readonly waitingFor?: string;
  /** Since when, in milliseconds since the epoch, where the child says so. */
  readonly updatedAt?: number;
}

/**
 * What is known of the child's own queue: of what the caller sends while a turn is under way, and of the ends of tasks
 * in the background, each of which starts a turn if none takes it up.
 */
export interface ChildQueue {
  /** How many things are in it. */
  readonly length: number;
  /** Whether the end of a task is among them, or has been since it was empty. */
  readonly hasNotice: boolean;
  /** When the child took such an end out of it last, in milliseconds since the epoch; absent since a turn has begun. */
  readonly noticeTakenAt?: number | undefined;
  /** Tasks that the session has started in the background, and whose ends have not been in it. */
  readonly runningTasks: ReadonlySet<string>;
  /** Tasks whose ends have been in it. */
  readonly endedTasks: ReadonlySet<string>;
  /** Shells that subagents have put into the background, and whose each is. */
  readonly shellOwners: ReadonlyMap<string, string>;
  /** Subagents that were over and are at work again because of such a shell's end, and whose own has not been in it. */
  readonly wokenAgents: ReadonlySet<string>;
}

/** What is remembered of the child while it lives, whatever turn it is in. */
interface ChildMemory {
  /** When there was a sign of life last. */
  readonly lifeAt: number;
  /** Its last status, once its status file exists. */
  readonly status?: ChildStatus;
  /** The version of Claude Code, once its status file or its transcript has told it. */
  readonly version?: string;
  /** Names of the tools that run, by the ids of their calls. */
  readonly tools: ReadonlyMap<string, string>;
  readonly childQueue: ChildQueue;
  /**
   * When the child wakes the model, in milliseconds after its start, if it is to, and whether that is all that is still
   * waited for.
   */
  readonly wakeup?: { readonly at: number; readonly awaited?: true } | undefined;
  /** Whether the transcript has a goal that is not reached yet. */
  readonly pursuesGoal: boolean;
  /** How many turns the child has outlived. */
  readonly turns: number;
}

/** A queue that has had nothing in it. */
export const EMPTY_QUEUE: ChildQueue = {
  length: 0,
  hasNotice: false,
  runningTasks: new Set(),
  endedTasks: new Set(),
  shellOwners: new Map(),
  wokenAgents: new Set(),
};

/** A child that has not said anything. */
const UNHEARD_CHILD: ChildMemory = {
  lifeAt: 0,
  tools: new Map(),
  childQueue: EMPTY_QUEUE,
  pursuesGoal: false,
  turns: 0,
};

/** What is remembered of what the caller has asked for. */
interface RequestMemory {
  /** What the first initialization has asked for. */
  readonly initialization?: JsonObject;
  /** The helper's answer to the initialization of a caller that has yet to come. */
  readonly earlyInitialization?: Extract<Consulted, { readonly response: unknown }> | undefined;
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
  /** The id of the initialization in `consulted`. */
  readonly initialization: string;
  readonly answer: Effect;
}

/** A task in the background that the caller wants to be stopped. */
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

/** The caller has asked for nothing. */
const NOTHING_REQUESTED: RequestMemory = {
  deferredAnswers: [],
  consultedRequests: new Map(),
  taskStops: [],
  launchedCalls: new Map(),
  taskNames: new Map(),
};

/** What is remembered of money: what the conversation has cost, and which tools wait for the price of an answer. */
interface SpendingMemory {
  /** What the conversation has cost, in US dollars, as far as the child has told. */
  readonly spentUsd: number;
  /** How long it has spent in requests to the API, in milliseconds, as far as the child has told. */
  readonly apiDurationMs: number;
  /** PreToolUse hooks that wait for the price of the answer that calls their tools, and the agents of those. */
  readonly unpaidHooks: readonly { readonly id: string; readonly agent: string }[];
  /** The agents, by id, the main one's being empty, whose last answer has been paid or is waited for. */
  readonly paidAgents: ReadonlySet<string>;
}

/** The child has cost nothing. */
function nothingSpent({ paidUsd = 0 }: Pick<SessionOptions, "paidUsd">): SpendingMemory {
  return { spentUsd: paidUsd, apiDurationMs: 0, unpaidHooks: [], paidAgents: new Set() };
}

/** Whether the conversation has cost as much as it may: then no further request is made. */
export function isOverspent(
  { options: { maxBudgetUsd }, spentUsd }: Pick<SpendingMemory, "spentUsd"> & {
    readonly options: Pick<SessionOptions, "maxBudgetUsd">;
  },
): boolean {
  return maxBudgetUsd !== undefined && spentUsd >= maxBudgetUsd;
}
