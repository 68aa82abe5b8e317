import type { ToolUse } from "../../claude/transcript/turn.ts";
import type { Frame } from "../../claude/wire/frame.ts";
import type { Report, ReportOptions } from "./result/verdict.ts";
import type { Activity, OutputOptions } from "./output_options.ts";
import {
  type ExactState,
  NO_PARTIAL,
  NO_REQUESTS,
  NO_STREAM,
  type ObservedRequests,
  type PartialState,
} from "./live/answer_state.ts";
import { type KeptLines, noLines } from "./lines/kept_lines.ts";
import type { Message } from "../control/message.ts";
import type { ApiFault, SubagentLine } from "../control/input.ts";
import type { Cost, Spent } from "../../claude/transcript/cost.ts";
import type { StatusLineLimits } from "../../claude/wire/claude_limits.ts";
import type { JsonObject } from "../../json_object.ts";
import type { FastMode } from "./frames/init_frame.ts";
import type { Chain } from "../../chain.ts";
import type { Effect, Ending } from "../control/effect.ts";
import type { Entry, UserEntry } from "../../claude/transcript/entry.ts";
import type { SubagentStats } from "./result/turn_totals.ts";
import type { Step } from "../step.ts";
import { noFacts, type SharedFacts } from "../model/shared_facts.ts";
import type { Task, Tasks } from "./frames/tasks.ts";
import type { CallEnd } from "./frames/task_ends.ts";

/** The state of the output between two inputs, by subject. */
export interface OutputState
  extends
    SessionFields,
    MessageFields,
    TurnFields,
    LineFields,
    CompactionFields,
    CallFields,
    TaskFields,
    ShellFields,
    CostFields,
    AnswerFields {
  readonly options: OutputOptions;
  readonly reporting: ReportOptions;
  readonly facts: SharedFacts;
  /** The number of frame ids made from the seed. */
  readonly ids: number;
}

/** One call of the output: the state of the frames, and the frames that are emitted. */
export type OutputStep = Step<OutputState, Frame>;

/** The state in which no frame has named the messages of the turn. */
export const NOT_NAMED: OutputState["named"] = new Set();

/** Returns the state before the first input. */
export function startOutput(options: OutputOptions, reporting: ReportOptions): OutputState {
  return {
    options,
    reporting,
    facts: noFacts(),
    ...(options.version === undefined ? {} : { version: options.version }),
    ...(options.before?.commands === undefined ? {} : { commands: options.before.commands }),
    ...(options.before?.described === undefined ? {} : { described: options.before.described }),
    subagentsBefore: options.before?.subagents,
    reportedUsage: options.before === undefined ? {} : options.before.modelUsage,
    ...(options.output === undefined ? {} : { outputCalls: new Set<string>() }),
    ...(options.before?.activity === undefined ? {} : { activity: options.before.activity }),
    ids: 0,
    earlier: [],
    kept: noLines(),
    ownLines: undefined,
    subagentLines: undefined,
    unmirroredLines: undefined,
    uncalledLines: [],
    stopHookEnds: [],
    taskEndLines: [],
    hookedTasks: [],
    hasInit: false,
    framesAfterInit: [],
    compactions: [],
    awaitsSummary: false,
    deferredLines: undefined,
    preserved: new Map(),
    toolUses: new Map(),
    agentCalls: new Map(),
    skills: [],
    forks: new Map(),
    failed: undefined,
    tasks: new Map(),
    awaitsSubagent: false,
    isAmidAnswer: false,
    unstartedCall: undefined,
    allTasks: new Map(),
    taskEnds: new Map(),
    shells: new Map(),
    openCalls: new Map(),
    shellCalls: new Map(),
    seenShells: new Map(),
    shellOrders: [],
    results: 0,
    otherResults: options.before?.results ?? 0,
    awaited: [],
    lateTurns: [],
    taken: [],
    joined: [],
    named: NOT_NAMED,
    turnPrompts: new Set(),
    stopHooks: [],
    hasLinesSincePrompt: false,
    pendingEnds: [],
    endedAt: 0,
    isBetweenTurns: false,
    reports: [],
    isClosed: false,
    ...(options.partial === undefined ? {} : {
      streamed: [],
      requested: false,
      ...(options.partial === "exact" ? { exact: NO_STREAM } : { partial: NO_PARTIAL }),
    }),
    ...(options.heard === undefined ? {} : { observed: NO_REQUESTS }),
  };
}

/** Whether the first turn of the child has begun. Turns that needed no child may have been emitted earlier. */
export function isUnderWay({ hasInit, isBetweenTurns, prompt }: OutputState): boolean {
  return hasInit && !(isBetweenTurns && prompt === undefined);
}

/** Whether lines have been read whose frames have not been emitted. */
export function hasPendingLines({ ownLines, subagentLines }: OutputState): boolean {
  return ownLines !== undefined || subagentLines !== undefined;
}

/** Returns a call that has not returned, or that has started a subagent. */
export function knownCall({ toolUses, agentCalls }: OutputState, id: string): ToolUse | undefined {
  return toolUses.get(id) ?? agentCalls.get(id);
}

/** The shells of the tool Bash. */
interface ShellFields {
  /** Calls of shells for which the turn waits, by their ids. */
  readonly shells: ReadonlyMap<string, WaitedShell>;
  /** Calls whose output is printed while they run, by their ids, and the observed shells, by the ids of the shells. */
  readonly shellCalls: ReadonlyMap<string, ShellCall>;
  readonly seenShells: ReadonlyMap<string, SeenShell>;
  /** Orders about shells that have not been returned as effects. */
  readonly shellOrders: readonly ShellOrder[];
}

/** The messages of the caller. */
interface MessageFields {
  /** Whether the caller has closed its input. */
  readonly inputClosed?: true;
  /** Messages that the child is not known to have taken, and the messages of the turn. */
  readonly awaited: readonly Message[];
  readonly taken: readonly Message[];
  /** Messages of the turn that joined it after it had begun. */
  readonly joined: readonly Message[];
  /** The types of frames that have named the messages of the turn. Only the first frame of each type names them. */
  readonly named: ReadonlySet<Frame["type"]>;
}

/** Answers that are being written, and the requests for them. */
interface AnswerFields {
  /**
   * The emitted part of answers, from hooks or from the API's stream; absent if the caller wants no partial messages.
   */
  readonly partial?: PartialState;
  readonly exact?: ExactState;
  /** The observed requests; absent if the API's stream is not observed, or is emitted. */
  readonly observed?: ObservedRequests;
  /** The ids in `message_start` events since the last result; absent if the caller wants no partial messages. */
  readonly streamed?: readonly string[];
  /** Whether the status `requesting` has been emitted; absent if the caller wants no partial messages. */
  readonly requested?: boolean;
  /** The last failed request, until it is known whether Claude Code repeats it. */
  readonly fault?: ApiFault | undefined;
  /** The number of the failed request, once its retry was emitted although the screen has not announced it. */
  readonly emittedRetry?: number | undefined;
}

/** Costs and limits. */
interface CostFields {
  /** The usage of models in the last result; undefined if unknown. */
  readonly reportedUsage: Cost["modelUsage"] | undefined;
  /** The cost before this child, if the child does not include it. */
  readonly paid?: Spent;
  /** The last cost of the conversation that the child's status line reported. */
  readonly cost?: Spent;
  /** When the status line reported `cost`, in milliseconds since the epoch, by the time of its file. */
  readonly costReportedAt?: number | undefined;
  /** The end of a turn whose result waits for its cost, and the number of turns at that time. */
  readonly awaitingCost?: { readonly at: number; readonly turns: number } | undefined;
  /** The cost when the turn began, in US dollars; undefined if no status line had reported it. */
  readonly paidBefore?: number | undefined;
  /** When the budget was known to be used up, in milliseconds since the epoch. */
  readonly overspentAt?: number | undefined;
  /** The usage limits that the status line reported last. */
  readonly limits?: StatusLineLimits;
}

/** The session itself, as last emitted. */
interface SessionFields {
  /** Whether the initial title of the session has been emitted. */
  readonly isTitled?: true;
  /** The model as SessionStart names it, with the suffix `[1m]`, which the API leaves out. */
  readonly model?: string;
  /** The `system/init` of the headless helper, which was started with the same options as the child. */
  readonly described?: JsonObject;
  /** The commands that the caller knows. */
  readonly commands?: readonly unknown[];
  /** The last emitted state of the session. */
  readonly activity?: Activity;
  /** The version that the child gave in its transcript. */
  readonly version?: string;
  /** The permission mode; absent as long as it is the initial one. */
  readonly permissionMode?: string;
  /** Fast mode in the last `system/init`. */
  readonly fastMode?: FastMode;
  /** When the run began to end, in milliseconds since the child's start. Background tasks are stopped then. */
  readonly endingAt?: number;
  /**
   * When the hook ran that announced the last end before that, in milliseconds since the epoch, if known. A later
   * prompt does not belong to the run.
   */
  readonly endedBy?: number | undefined;
}

/** A skill that a subagent carries out. */
export interface ForkedSkill {
  readonly call: ToolUse;
  /** The skill's description in the list that the model received. */
  readonly description: string;
}

/** Calls of tools. */
interface CallFields {
  /** Ids of the calls that give structured answers; absent if the caller wants none. */
  readonly outputCalls?: ReadonlySet<string>;
  /** The calls that have not returned, by id. */
  readonly toolUses: ReadonlyMap<string, ToolUse>;
  /** Calls that have started subagents, and have returned. */
  readonly agentCalls: ReadonlyMap<string, ToolUse>;
  /** Calls of skills that have not returned and may run in subagents. */
  readonly skills: readonly ToolUse[];
  /** Skills that run in subagents, by the ids of the subagents. */
  readonly forks: ReadonlyMap<string, ForkedSkill>;
  /** The calls that have failed or were refused. */
  readonly failed: Chain<ToolUse> | undefined;
  /** Calls of the session itself that have not returned, by their ids. */
  readonly openCalls: ReadonlyMap<string, OpenCall>;
}

/** A line of the session's own transcript or of a subagent's, or the metadata of a subagent. */
export type MirroredLine =
  | { readonly agentId?: string; readonly entry: Entry }
  | { readonly agentId: string; readonly note: JsonObject };

/** Lines of transcripts: emitted and pending ones. */
interface LineFields {
  /** The lines of earlier runs of the session. */
  readonly earlier: readonly Entry[];
  /** The kept data of the emitted lines of this run. */
  readonly kept: KeptLines;
  /** Lines since the last `read` input. They are emitted in the order of their times. */
  readonly ownLines: Chain<Entry> | undefined;
  readonly subagentLines: Chain<SubagentLine> | undefined;
  /** Whether the answer continues after the line that is being emitted. */
  readonly isAmidAnswer: boolean;
  /** Lines that have been read and will be mirrored. */
  readonly unmirroredLines: Chain<MirroredLine> | undefined;
  /** Lines of subagents whose calls have not been emitted yet. */
  readonly uncalledLines: readonly SubagentLine[];
  /** Ends of Stop hooks, which are emitted when all Stop hooks have ended. */
  readonly stopHookEnds: readonly Entry[];
  /** Lines with ends of tasks whose beginnings have not been emitted. */
  readonly taskEndLines: readonly Entry[];
  /** Whether further lines do not belong to the run. */
  readonly isClosed: boolean;
}

/** A hook's report of a task: a subagent begins, or a call has returned that may have been a task. */
export type HookedTask =
  | {
    readonly kind: "begun";
    readonly agentId: string;
    readonly type: string;
    /** When the hook ran, in milliseconds since the epoch. */
    readonly at: number;
  }
  | (CallEnd & { readonly kind: "returned" });

/** Tasks, and subagents that begin and end. */
interface TaskFields {
  readonly tasks: Tasks;
  /** All tasks so far, in the state in which they began. */
  readonly allTasks: ReadonlyMap<string, Task>;
  /** The statuses of tasks that have ended and not begun again, by the ids of the tasks. */
  readonly taskEnds: ReadonlyMap<string, string>;
  /** Reports of hooks whose calls have not been emitted yet. */
  readonly hookedTasks: readonly HookedTask[];
  /** Whether the lines after a subagent's end wait for lines of this subagent. */
  readonly awaitsSubagent: boolean;
  /** The call whose subagent has not started, and the line that holds the call. Later lines wait for this subagent. */
  readonly unstartedCall: { readonly id: string; readonly line: Entry } | undefined;
  /** Counts of the subagents of earlier children, unless the conversation was reset since. */
  readonly subagentsBefore: SubagentStats | undefined;
}

/** A compaction that Claude Code has begun without a command, as hooks report it. */
export interface Compaction {
  /** When the compaction began, in milliseconds since the epoch. Lines from before it have no later time. */
  readonly since: number;
  /** Whether the beginning of the compaction has been emitted. */
  readonly isEmitted: boolean;
  /** Whether the compaction has succeeded. The lines that show it have not been read. */
  readonly hasSucceeded: boolean;
  /** The API's error, if the request for a summary failed. */
  readonly error?: string;
  /** Whether lines no longer wait for the error or the summary. */
  readonly isOverdue?: boolean;
}

/** Compactions, and typed commands that Claude Code carries out without the model. */
interface CompactionFields {
  /** Compactions whose outcome has not been emitted, the oldest first. */
  readonly compactions: readonly Compaction[];
  /** Whether the summary of a successful compaction is unread, and the lines that wait for an outcome. */
  readonly awaitsSummary: boolean;
  readonly deferredLines: Chain<Entry> | undefined;
  /** The typed command of the turn, and the text of its result, once it is known. */
  readonly typedCommand?: { readonly command: string; readonly result?: string } | undefined;
  /** Ids of the lines that the last compaction kept, and whether they have been emitted. */
  readonly preserved: ReadonlyMap<string, boolean>;
}

/** A Stop hook, and its meaning for the result of its turn. */
export interface TurnStop {
  /** When the hook ran, in milliseconds since the epoch; undefined if unknown. */
  readonly at: number | undefined;
  /**
   * When the result may be printed: after the turn (`printable`), once the subagents have ended (`deferred`), or, for
   * the last turn, at the end of the run.
   */
  readonly result: "printable" | "deferred" | "last";
}

/** The end of a turn that the child outlived. */
export interface TurnEnd {
  readonly ending: Ending;
  /** When the turn ended, in milliseconds from the start of the child. */
  readonly at: number;
  /** Tickets of the messages that the turn answers, if the control knows them. */
  readonly tickets?: readonly string[];
  /**
   * When the hook ran that announced the end, in milliseconds since the epoch. A later prompt belongs to another turn.
   * The hook of the next prompt cannot be used for this: a prompt's line has a time 2 to 168 ms before its hook.
   */
  readonly endedBy?: number;
  /** Messages of the turn whose lines were unread at its end. */
  readonly unwritten?: readonly Message[];
  /** The cost of the child at that time, as its status line reported it. */
  readonly cost?: Spent | undefined;
  /**
   * The number of pending lines that belong to the turn; absent unless these lines and the result wait for a subagent's
   * lines.
   */
  readonly lines?: number;
}

/** A turn whose result was emitted before its lines were read. A busy machine may write them seconds later. */
interface LateTurn {
  /** Messages of the turn whose lines have not been read. */
  readonly messages: readonly Message[];
  /** When the end of the turn was emitted, in milliseconds since the epoch. Later lines belong to another turn. */
  readonly at: number;
  /** Whether a line of these messages has been read. Then the turn counts as one in the transcript. */
  readonly counted: boolean;
}

/** Turns: their beginnings, ends and results. */
interface TurnFields {
  /** Whether the turn's `system/init` has been emitted, and the frames that wait for it. */
  readonly hasInit: boolean;
  readonly framesAfterInit: readonly Frame[];
  /**
   * The last prompt. Lines after the first prompt describe the session. The next line may be the text that a slash
   * command made of the prompt.
   */
  readonly prompt?: UserEntry;
  /** Ids of the prompts that followed a turn whose end was emitted. */
  readonly turnPrompts: ReadonlySet<string>;
  /** Whether an answer, or the result of a call, has followed the last prompt. */
  readonly hasLinesSincePrompt: boolean;
  /** Whether the next prompt begins a turn, with a `system/init` of its own. */
  readonly isBetweenTurns: boolean;
  /** When the model will be woken, in milliseconds since the epoch. */
  readonly wakeupAt?: number | undefined;
  /** The id of the prompt that woke the model, until the turn of the prompt ends. */
  readonly wakeupPrompt?: string | undefined;
  /** Stop hooks of turns whose last line has not been read. */
  readonly stopHooks: readonly TurnStop[];
  /** Ends of turns some of whose lines have not been read. */
  readonly pendingEnds: readonly TurnEnd[];
  /** The last turns whose results were emitted before their lines were read; the oldest first. */
  readonly lateTurns: readonly LateTurn[];
  /** When the last turn ended, in milliseconds from the start of the child. */
  readonly endedAt: number;
  /** The number of emitted results of turns in the transcript. These are the first turns. */
  readonly results: number;
  /** The number of all other emitted results. */
  readonly otherResults: number;
  /** Reports of turns that have not been returned as effects. */
  readonly reports: readonly Report[];
}

/** A shell in the foreground of the turn. */
export interface WaitedShell {
  /** When the shell was started, in milliseconds since the epoch; while this is unknown, when it was called. */
  readonly since: number;
  readonly description: string;
  /** The id of its task, once the task has been emitted. */
  readonly task?: string;
}

/** A call of the tool Bash whose output is not complete. */
export interface ShellCall {
  readonly command: string;
  /** The shell that runs the call, once known. */
  readonly shell?: string;
  /** Whether the turn continues without waiting for the call. */
  readonly background?: true;
  /** Whether the call has returned, or its background shell has ended, and only the rest of its output is missing. */
  readonly returned?: true;
}

/** Output of a shell, and the stream to which the shell wrote it, if known. */
export interface ShellText {
  readonly text: string;
  readonly stream?: "stdout" | "stderr";
}

/** An observed shell of the tool Bash. */
export interface SeenShell {
  /** The command of the shell's process; absent if the process ended before it was read. */
  readonly command?: string;
  /** Whether the shell has run for some time. */
  readonly running: boolean;
  /** Whether the shell's call is known. Then its output is printed. */
  readonly called: boolean;
  /** Output that has not been printed. */
  readonly unemitted: readonly ShellText[];
  /** Whether the shell's output is complete. */
  readonly over: boolean;
}

/** An effect of the output that is not a frame: a deadline, or a request for the running shells. */
export type OutputEffect = Extract<Effect, { readonly type: "deadline" | "list-shells" }>;

/** An order about a shell, or a line of the trace. */
export type ShellOrder = Extract<
  Effect,
  { readonly type: "follow-shell" | "leave-shell" | "trace" }
>;

/** A call that has not returned. */
export interface OpenCall {
  readonly name: string;
  /** When the call began to run, in milliseconds since the epoch; absent while it waits. */
  readonly since?: number;
  /** Whether the call waits for a permission. */
  readonly asked?: true;
  /** The number of emitted heartbeats of the call. */
  readonly heartbeats: number;
}
