import {
  type AskingMemory,
  type CallerOptions,
  NOTHING_ASKED,
} from "./control/questions/question.ts";
import { type GrowingMap, growingMap } from "../growing_map.ts";
import type { Answer, ChildChanges, Effect, Ending } from "./effect.ts";
import type { Consulted, Exit, HookPayload } from "./input.ts";
import type { JsonObject } from "../json_object.ts";
import type { Limits } from "./limits.ts";
import type { Message, Prompt, PromptPart } from "./message.ts";
import { ECHO_START, type EchoState } from "./terminal/paste.ts";
import type { Screen } from "./terminal/screen.ts";
import { SCANNER_START, type ScannerState } from "./terminal/terminal_scanner.ts";

/** What a session is told before it begins. */
export interface SessionOptions extends Limits {
  /**
   * Whether the caller sends further messages as it likes: then the child outlives its turns, the wall clock is that of
   * a turn, and what a turn cost is waited for.
   */
  readonly conversation?: true;
  /** Whether the child's status line is waited for after every turn: results tell what it says. */
  readonly asksStatus?: true;
  /** The version of Claude Code, where it is known before there is a child. */
  readonly version?: string;
  /** The child's terminal, in character cells. */
  readonly size: { readonly rows: number; readonly cols: number };
  /** How long to wait for tasks in the background, in milliseconds; 0 for no limit, absent as `claude -p` waits. */
  readonly backgroundCeilingMs?: number;
  /** Most requests to the model; absent for no limit. */
  readonly maxTurns?: number;
  /** How many of those another child has made in the first turn. */
  readonly requestsMade?: number;
  /** The skills that the model may load; absent for all. */
  readonly skills?: readonly string[];
  /** US dollars that the conversation may cost; absent for no limit. */
  readonly maxBudgetUsd?: number;
  /** What it had cost before this child, in US dollars. */
  readonly paidUsd?: number;
  /** Whether no hook tells anything: then the transcript says when a turn is over. */
  readonly hookless?: true;
  /** What a structured answer has to look like, and how often the model may try; absent where none is wanted. */
  readonly output?: { readonly schema: JsonObject; readonly maxTries: number };
  /** How many MCP servers the first request waits for at least; absent for none. */
  readonly mcpServers?: number;
  /** Whether the prompt's hook waits for them, and not that of the session's start. */
  readonly holdsPrompt?: true;
  /** Those of them that are bridged to this program, by their names. */
  readonly bridged?: readonly string[];
  /** Those of them that the first request waits for until they are there or have failed, by their names. */
  readonly awaited?: readonly string[];
  /** Whether the model is told that nobody is ever there to permit anything. */
  readonly unattended?: true;
  /** The caller, where it decides for the child. */
  readonly caller?: CallerOptions;
  /** The folder for images that the caller sends; absent where it cannot. */
  readonly imagesDir?: string;
  /** Whether the child reads no files because a message mentions them. */
  readonly readsNoMentions?: true;
  /** Whether the project has something that counts only where the user trusts it, which is nobody else's to say. */
  readonly needsTrust?: true;
  /** Whether other Stop hooks than ours may exist: then Stop is the end only once the child is idle. */
  readonly otherStopHooks: boolean;
  /** Whether the child never wakes the model, whatever it says to it. */
  readonly wakeless?: true;
  /** Whether a SessionEnd hook of ours keeps a child that was told to go until its transcript holds the turn. */
  readonly keptAtEnd?: true;
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
interface OpenPhase {
  readonly phase:
    | "starting"
    | "resting"
    | "pasted"
    | "entered"
    | "working"
    | "settling"
    | "aborting";
  readonly ending?: undefined;
}

/** A session whose ending is not known yet. */
export type OpenSession = SessionMemory & OpenPhase;

/** Everything a session remembers between two inputs. */
export type SessionState = SessionMemory & Phase;

/**
 * What is known of the child's own queue: of what the caller sends while a turn is under way, and of the ends of tasks
 * in the background, each of which starts a turn if none takes it up.
 */
export interface ChildQueue {
  /** How many things are in it. */
  readonly length: number;
  /** Whether the end of a task is among them, or has been since it was empty. */
  readonly noticed: boolean;
  /** When the child took such an end out of it last, in milliseconds since the epoch; absent since a turn has begun. */
  readonly leftAt?: number | undefined;
  /** Tasks that the session has started in the background, and whose ends have not been in it. */
  readonly running: ReadonlySet<string>;
  /** Tasks whose ends have been in it. */
  readonly over: ReadonlySet<string>;
  /** Shells that subagents have put into the background, and whose each is. */
  readonly shells: ReadonlyMap<string, string>;
  /** Subagents that were over and are at work again because of such a shell's end, and whose own has not been in it. */
  readonly woken: ReadonlySet<string>;
}

/** A queue that has had nothing in it. */
export const EMPTY_QUEUE: ChildQueue = {
  length: 0,
  noticed: false,
  running: new Set(),
  over: new Set(),
  shells: new Map(),
  woken: new Set(),
};

/** An answer that waits, and the initialization, by its id among what is asked, behind which it was asked for. */
export interface HeldAnswer {
  readonly behind: string;
  readonly answer: Effect;
}

/** What it remembers in every phase. */
export interface SessionMemory extends TurnMemory, AskingMemory {
  readonly options: SessionOptions;
  /** Whether there may be further messages. */
  readonly open: boolean;
  /** Whether the caller has ended the session: whatever else it says is not heard. */
  readonly dismissed?: true;
  /** Whether all that is asked has one time limit, which runs already. */
  readonly isBounded?: true;
  /** What Claude Code says to the initialization that a caller who is not there yet will ask for. */
  /** Answers to what was asked behind an initialization that has not been answered yet. */
  readonly heldAnswers?: readonly HeldAnswer[];
  /** What the first initialization has asked for. */
  readonly inForce?: JsonObject;
  readonly foretold?: Extract<Consulted, { readonly response: unknown }>;
  /** What the next message's child is to be started with otherwise. */
  readonly changes?: ChildChanges;
  /** Messages that wait, the next one first. */
  readonly queue: readonly Message[];
  /** What the child has been given and is not known to have taken yet. */
  readonly sent: readonly Prompt[];
  /** What it has taken, as a hook has told, and the transcript does not hold yet. */
  readonly unwritten: readonly Prompt[];
  /** The ids of the transcript's lines. */
  readonly lines: GrowingMap<string, true>;
  /** The ids of prompts in the transcript, by those that the caller gave them. */
  readonly lineIds: GrowingMap<string, string>;
  readonly scanner: ScannerState;
  /** What the child has written as long as it has no status. */
  readonly written: Uint8Array;
  readonly echo: EchoState;
  /** What of a prompt is still to be pasted, the part whose echo is awaited first. */
  readonly pasting: readonly PromptPart[];
  /** Whether Enter is pressed once more if the next screen asks nothing. */
  readonly entersAgain: boolean;
  /** How many images have been put into files, and the number that the child has given to the last of them. */
  readonly images: { readonly placed: number; readonly number: number };
  /** The size of the child's terminal, in character cells. */
  readonly size: { readonly rows: number; readonly cols: number };
  /** When the child wrote something for the first time, in milliseconds after its start; absent until it has. */
  readonly heardAt?: number;
  /**
   * The hook that holds the first request back, until it is answered, and how often the child was asked
   * whether it has run its timers, if it was.
   */
  readonly held?: {
    readonly id: string;
    readonly overdue: boolean;
    readonly pings?: number;
    /** Whether the child has begun connections that it is not done with. */
    readonly connecting?: boolean;
  };
  /**
   * Whether the first SessionStart hook has told what the child is started with, or is not waited for any longer: what a
   * compaction or a session after it starts is not held.
   */
  readonly introduced: boolean;
  /** The MCP servers that the child has done with connecting to, by their names. */
  readonly settled: Readonly<Record<string, "connected" | "failed">>;
  /** Whether the child has shown that it can take a prompt. */
  readonly ready: boolean;
  /** Whether the child's rendezvous socket takes a prompt. */
  readonly reachable: boolean;
  /** When there was a sign of life last. */
  readonly lifeAt: number;
  /** Calls that are to go into the background, by their ids, and how often the key for it was pressed. */
  readonly moving?: { readonly calls: ReadonlySet<string>; readonly presses: number };
  /** Ids of the tools that run. */
  readonly tools: ReadonlySet<string>;
  /** The child's last status, once its status file exists. */
  readonly status?: ChildStatus;
  /** The version of Claude Code, once its status file or its transcript has told it. */
  readonly version?: string;
  /** The last screen looked at, what it asks, and since when it has asked that. */
  readonly screen?: { readonly screen: Screen; readonly asks: string; readonly since: number };
  /** Keys pressed in dialogs since the child was busy last. */
  readonly dialogKeys: number;
  /** When the last of them was pressed. */
  readonly keyAt?: number;
  /** What the conversation has cost, in US dollars, as far as the child has told. */
  readonly spentUsd: number;
  /** How long it has spent in requests to the API, in milliseconds, as far as the child has told. */
  readonly apiDurationMs: number;
  /** PreToolUse hooks that wait for the price of the answer that calls their tools. */
  readonly unpaid: readonly string[];
  /** The agents, by id, the main one's being empty, whose last answer has been paid or is waited for. */
  readonly paidAgents: ReadonlySet<string>;
  readonly childQueue: ChildQueue;
  /**
   * When the child wakes the model, in milliseconds after its start, if it is to, and whether that is all that is still
   * waited for.
   */
  readonly wakeup?: { readonly at: number; readonly awaited?: true } | undefined;
  /** How many turns the child has outlived. */
  readonly turns: number;
  /** Whether the transcript has a goal that is not reached yet. */
  readonly pursues: boolean;
  readonly exit?: Exit;
  /** The SessionEnd hook that keeps the child until its transcript holds the last turn, until it is answered. */
  readonly endHook?: string | undefined;
  /** How often the child has been told to go, reminders apart. */
  readonly kills: number;
  /**
   * How much longer the child may take to go after the next reminder, in milliseconds; below zero once it takes longer
   * because its turn is not on record.
   */
  readonly exitLeftMs: number;
}

/** What the child says of itself. */
export interface ChildStatus {
  /** `idle`, `busy` or `waiting`. */
  readonly status: string;
  readonly waitingFor?: string;
  /** Since when, in milliseconds since the epoch, where the child says so. */
  readonly updatedAt?: number;
}

/** What it remembers of a turn, and of those that its tasks in the background start. */
export interface TurnMemory {
  /** What the child has taken as the turn's. */
  readonly taken: readonly Prompt[];
  /** How many requests to the model the turn has made that were answered, and whose tools have returned. */
  readonly requests: number;
  /** Whether the transcript says that the turn is complete, and nothing happened since. */
  readonly completed: boolean;
  /** Whether the transcript has said that it is complete: what came before that in the child is on record by then. */
  readonly summed: boolean;
  /** Whether a hook or the transcript has told of its prompt. */
  readonly prompted: boolean;
  /** Whether the transcript file holds its prompt. */
  readonly recorded: boolean;
  /** Whether it holds the first request; not before 2.1.330. */
  readonly requested: boolean;
  /** Whether it holds an answer since. */
  readonly answered: boolean;
  /** Whether it holds the output of the command that the prompt is, which Claude Code carries out by itself. */
  readonly carriedOut: boolean;
  /** Whether a hook has stopped the turn after a tool. */
  readonly halted: boolean;
  /** What it says in the place of an answer where a hook has blocked the prompt. */
  readonly blocked?: string | undefined;
  /** The assistant's last text in it, behind all calls of tools and their results. */
  readonly answer: string;
  /** What has become of its structured answer. */
  readonly output: OutputMemory;
  /** Whether the child has told what the turn cost since a hook announced its end. */
  readonly priced: boolean;
  /** The answer to the Stop hook that keeps the child from going on with what it has in its queue, until it is given. */
  readonly stopHook?: Answer | undefined;
  /** Whether the Stop hook that announced its end waits for an answer, or did so. */
  readonly isStopAsking: boolean;
  /** How often Escape was pressed to end it. */
  readonly escapes: number;
  /** Whether the child has drawn something since the last time. */
  readonly hasDrawn: boolean;
  /** For how many seconds the child has not come to where Escape can be pressed to end it, the first time or once more. */
  readonly stalls: number;
  /** Whether an Escape may have hit it that was meant for the turn before. */
  readonly shaken: boolean;
  /** Whether lines of the turn before it are still to be written: until its own prompt's line, none is its own. */
  readonly late: boolean;
  /** The Stop that will be the end once the child is idle. */
  readonly stop?: HookPayload | undefined;
  /** The StopFailure that will be the end once the child is idle. */
  readonly failure?: HookPayload | undefined;
  /** At which limit a hook of ours has stopped the turn, which will be the end once the child is idle. */
  readonly limited?: "max-turns" | "budget" | "output-tries" | undefined;
  /** Whether no other hook of its end may have it go on any more: what they have wanted, the end of its lines tells. */
  readonly atLimit: boolean;
  /** When the hook that announced its end ran, in milliseconds since the epoch, where that is known. */
  readonly announcedAt?: number | undefined;
  /** Whether, by the announced end of the turn, the session had started nothing that may be in the background. */
  readonly taskless: boolean;
  /** Whether the last Stop named tasks still running in the background. */
  readonly background: boolean;
  /** Whether nothing is under way but those. */
  readonly waits: boolean;
  /** Whether a Stop did, and the transcript does not hold a prompt since. */
  readonly unasked: boolean;
  /** Whether the turn is known to be that of a prompt that has waited for its time. */
  readonly woken: boolean;
  /** Whether it is known to be that of the end of a task. */
  readonly noticed: boolean;
  /** The last Stop that did. */
  readonly backgroundStop?: HookPayload | undefined;
  /** Since when nothing but shells has been waited for. */
  readonly shellsOnlySince?: number | undefined;
  /** The longest time that a call gave its shell in the background, in milliseconds. */
  readonly shellLimitMs?: number | undefined;
}

/** What is remembered of the structured answer that a turn owes. */
export interface OutputMemory {
  /** How often the model has tried to give it. */
  readonly tries: number;
  /** The call by which it has been given, and whether the transcript holds its result. */
  readonly accepted?: { readonly callId: string; readonly written: boolean };
  /** Whether the model was reminded of it. */
  readonly reminded: boolean;
}

/** A turn of which nothing is known yet. */
export const NO_TURN: TurnMemory = {
  taken: [],
  requests: 0,
  completed: false,
  summed: false,
  prompted: false,
  recorded: false,
  requested: false,
  answered: false,
  carriedOut: false,
  halted: false,
  blocked: undefined,
  answer: "",
  output: { tries: 0, reminded: false },
  priced: false,
  stopHook: undefined,
  isStopAsking: false,
  escapes: 0,
  hasDrawn: false,
  stalls: 0,
  shaken: false,
  late: false,
  stop: undefined,
  failure: undefined,
  limited: undefined,
  atLimit: false,
  announcedAt: undefined,
  taskless: false,
  background: false,
  waits: false,
  unasked: false,
  woken: false,
  noticed: false,
  backgroundStop: undefined,
  shellsOnlySince: undefined,
  shellLimitMs: undefined,
};

/** The session before its first input. */
export function startSession(options: SessionOptions): SessionState {
  return {
    ...NO_TURN,
    ...NOTHING_ASKED,
    options,
    requests: options.requestsMade ?? 0,
    open: true,
    queue: [],
    sent: [],
    unwritten: [],
    lines: growingMap(),
    lineIds: growingMap(),
    introduced: false,
    settled: {},
    ...(options.version === undefined ? {} : { version: options.version }),
    phase: "starting",
    scanner: SCANNER_START,
    written: new Uint8Array(),
    echo: ECHO_START,
    entersAgain: false,
    pasting: [],
    images: { placed: 0, number: 0 },
    size: options.size,
    ready: false,
    reachable: false,
    lifeAt: 0,
    tools: new Set(),
    dialogKeys: 0,
    spentUsd: options.paidUsd ?? 0,
    apiDurationMs: 0,
    unpaid: [],
    paidAgents: new Set(),
    childQueue: EMPTY_QUEUE,
    turns: 0,
    pursues: false,
    kills: 0,
    exitLeftMs: 0,
  };
}

/** Whether the conversation has cost as much as it may: then no further request is made. */
export function isOverspent(
  { options: { maxBudgetUsd }, spentUsd }: Pick<SessionMemory, "options" | "spentUsd">,
): boolean {
  return maxBudgetUsd !== undefined && spentUsd >= maxBudgetUsd;
}

/** Whether the turn under way, or the one just over, is the last of the conversation, and every request answered. */
export function isLast({ open, queue, sent, consulted, stops }: SessionState): boolean {
  return !open && queue.length + sent.length + stops.length + consulted.size === 0;
}
