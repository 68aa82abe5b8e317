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
  /** How many ids of frames have been made from the seed. */
  readonly ids: number;
}

/** One call of the output: the state of the frames, and the frames that are emitted. */
export type OutputStep = Step<OutputState, Frame>;

/** No frame has named the messages of the turn. */
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

/** Whether the first turn of the child has begun. Turns that needed no child may have been emitted before it. */
export function isUnderWay({ hasInit, isBetweenTurns, prompt }: OutputState): boolean {
  return hasInit && !(isBetweenTurns && prompt === undefined);
}

/** Whether there are lines that have been read, and whose frames have not been emitted. */
export function hasPendingLines({ ownLines, subagentLines }: OutputState): boolean {
  return ownLines !== undefined || subagentLines !== undefined;
}

/** Returns a call that has not returned, or that has started a subagent. */
export function knownCall({ toolUses, agentCalls }: OutputState, id: string): ToolUse | undefined {
  return toolUses.get(id) ?? agentCalls.get(id);
}

/** The shells of the tool Bash. */
interface ShellFields {
  /** Calls of shells that are waited for, by their ids. */
  readonly shells: ReadonlyMap<string, WaitedShell>;
  /** Calls whose output is printed while they run, by their ids, and the observed shells, by theirs. */
  readonly shellCalls: ReadonlyMap<string, ShellCall>;
  readonly seenShells: ReadonlyMap<string, SeenShell>;
  /** Orders about shells that have not been handed out as effects. */
  readonly shellOrders: readonly ShellOrder[];
}

/** The messages of the caller. */
interface MessageFields {
  /** Whether the caller sends no more. */
  readonly inputClosed?: true;
  /** Messages that the child is not known to have taken, and the messages of the turn. */
  readonly awaited: readonly Message[];
  readonly taken: readonly Message[];
  /** Messages of the turn that joined it after it had begun. */
  readonly joined: readonly Message[];
  /** The types of frames that have named the messages of the turn: the first frame of each type does. */
  readonly named: ReadonlySet<Frame["type"]>;
}

/** Answers that are being written, and the requests for them. */
interface AnswerFields {
  /** What has been emitted of answers, from hooks or from the API's stream; absent where partial messages are not wanted. */
  readonly partial?: PartialState;
  readonly exact?: ExactState;
  /** The observed requests; absent where the API's stream is not observed, or is emitted. */
  readonly observed?: ObservedRequests;
  /** The ids in `message_start` events since the last result; absent where partial messages are not wanted. */
  readonly streamed?: readonly string[];
  /** Whether the status `requesting` has been emitted; absent where partial messages are not wanted. */
  readonly requested?: boolean;
  /** The last failed request, until it is known whether it is made again. */
  readonly fault?: ApiFault | undefined;
  /** The number of that request, once its retry was emitted though the screen has not announced it. */
  readonly emittedRetry?: number | undefined;
}

/** Costs and limits. */
interface CostFields {
  /** The usage of models in the last result; undefined where it is not known. */
  readonly reportedUsage: Cost["modelUsage"] | undefined;
  /** The cost before this child, if the child does not count it itself. */
  readonly paid?: Spent;
  /** The cost of the conversation, as the child's status line reported it last. */
  readonly cost?: Spent;
  /** When that status line ran, in milliseconds since the epoch, by the time of its file. */
  readonly costReportedAt?: number | undefined;
  /** The end of a turn whose result waits for its cost, and how many turns there were by then. */
  readonly awaitingCost?: { readonly at: number; readonly turns: number } | undefined;
  /** The cost when the turn began, in US dollars; undefined where no status line has reported it. */
  readonly paidBefore?: number | undefined;
  /** When the budget was known to be used up, in milliseconds since the epoch. */
  readonly overspentAt?: number | undefined;
  /** The usage limits, as the status line reported them last. */
  readonly limits?: StatusLineLimits;
}

/** The session itself, as it was emitted last. */
interface SessionFields {
  /** Whether the title that the session has from the start has been emitted. */
  readonly isTitled?: true;
  /** The model as SessionStart names it, with the `[1m]` that the API does not say. */
  readonly model?: string;
  /** The `system/init` of the headless helper, which was started like the child. */
  readonly described?: JsonObject;
  /** The commands that the caller knows. */
  readonly commands?: readonly unknown[];
  /** The last emitted state of the session. */
  readonly activity?: Activity;
  /** The version that the child gave in its transcript. */
  readonly version?: string;
  /** The permission mode, once it is another one than at the start. */
  readonly permissionMode?: string;
  /** Fast mode in the last `system/init`. */
  readonly fastMode?: FastMode;
  /** Since when the run is ending, which stops tasks in the background, in milliseconds since the child's start. */
  readonly endingAt?: number;
  /**
   * When the hook ran that announced the last end before that, in milliseconds since the epoch, where that is known: a later
   * prompt does not belong to the run.
   */
  readonly endedBy?: number | undefined;
}

/** A skill that a subagent carries out. */
export interface ForkedSkill {
  readonly call: ToolUse;
  /** The skill's description in the list that the model was given. */
  readonly description: string;
}

/** Calls of tools. */
interface CallFields {
  /** Ids of the calls that give structured answers; absent where none is wanted. */
  readonly outputCalls?: ReadonlySet<string>;
  /** The calls that have not returned, by id. */
  readonly toolUses: ReadonlyMap<string, ToolUse>;
  /** Calls that have started subagents, and have returned. */
  readonly agentCalls: ReadonlyMap<string, ToolUse>;
  /** Calls of skills that have not returned, and may be carried out by subagents. */
  readonly skills: readonly ToolUse[];
  /** Skills that subagents carry out, by the ids of the subagents. */
  readonly forks: ReadonlyMap<string, ForkedSkill>;
  /** The calls that have failed, or were refused. */
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
  /** What is kept of the emitted lines of this run. */
  readonly kept: KeptLines;
  /** Lines since the last `read` input, which are emitted in the order of their times. */
  readonly ownLines: Chain<Entry> | undefined;
  readonly subagentLines: Chain<SubagentLine> | undefined;
  /** Whether an answer goes on after the line that is being emitted. */
  readonly isAmidAnswer: boolean;
  /** Lines that have been read and are to be mirrored. */
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
    /** When, in milliseconds since the epoch. */
    readonly at: number;
  }
  | (CallEnd & { readonly kind: "returned" });

/** Tasks, and subagents that begin and end. */
interface TaskFields {
  readonly tasks: Tasks;
  /** All tasks so far, as they began. */
  readonly allTasks: ReadonlyMap<string, Task>;
  /** The statuses of tasks that have ended and not begun again, by their ids. */
  readonly taskEnds: ReadonlyMap<string, string>;
  /** Reports of hooks whose calls have not been emitted yet. */
  readonly hookedTasks: readonly HookedTask[];
  /** Whether the lines after a subagent's end wait for lines of the subagent. */
  readonly awaitsSubagent: boolean;
  /** The call for whose subagent the later lines wait, and the line that holds it. */
  readonly unstartedCall: { readonly id: string; readonly line: Entry } | undefined;
  /** Counts of the subagents that children before this one had, unless the conversation has begun anew. */
  readonly subagentsBefore: SubagentStats | undefined;
}

/** A compaction that Claude Code has begun by itself, as hooks report it. */
export interface Compaction {
  /** When it began, in milliseconds since the epoch: lines from before it are not later. */
  readonly since: number;
  /** Whether its beginning has been emitted. */
  readonly isEmitted: boolean;
  /** Whether it has succeeded; the lines that show it are yet to come. */
  readonly hasSucceeded: boolean;
  /** The API's error in the place of a summary. */
  readonly error?: string;
  /** Whether lines wait no longer for its error or its summary. */
  readonly isOverdue?: boolean;
}

/** Compactions, and typed commands that Claude Code carries out without the model. */
interface CompactionFields {
  /** Compactions whose outcome has not been emitted, the oldest first. */
  readonly compactions: readonly Compaction[];
  /** Whether a compaction has succeeded whose summary is yet to come, and the lines that wait for an outcome. */
  readonly awaitsSummary: boolean;
  readonly deferredLines: Chain<Entry> | undefined;
  /** The typed command of the turn, and the text of its result, once it is known. */
  readonly typedCommand?: { readonly command: string; readonly result?: string } | undefined;
  /** Ids of the lines that the last compaction left as they are, and whether they have been emitted. */
  readonly preserved: ReadonlyMap<string, boolean>;
}

/** A Stop hook, and what it means for the result of its turn. */
export interface TurnStop {
  /** When the hook ran, in milliseconds since the epoch; undefined where it is not known. */
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
  /** Milliseconds from the start of the child. */
  readonly at: number;
  /** Tickets of the messages that it answers, as far as the control knows them. */
  readonly tickets?: readonly string[];
  /**
   * When the hook ran that announced the end, in milliseconds since the epoch. A later prompt belongs to another turn. The
   * hook of the next prompt does not count: the time of a prompt's line is 2 to 168 ms before its hook.
   */
  readonly endedBy?: number;
  /** Messages of the turn whose lines had not been read by then. */
  readonly unwritten?: readonly Message[];
  /** The cost of the child by then, as its status line reported it. */
  readonly cost?: Spent | undefined;
  /** How many of the pending lines belong to the turn; absent unless they and its result wait for a subagent's lines. */
  readonly lines?: number;
}

/** A turn whose result was emitted before its lines were read: a busy machine may write them seconds later. */
interface LateTurn {
  /** Messages of the turn whose lines have not been read. */
  readonly messages: readonly Message[];
  /** When its end was emitted, in milliseconds since the epoch: later lines are of another turn. */
  readonly at: number;
  /** Whether a line of these messages has been read: then the turn counts as one that the transcript holds. */
  readonly counted: boolean;
}

/** Turns: their beginnings, ends and results. */
interface TurnFields {
  /** Whether the turn's `system/init` has been emitted, and the frames that wait for it. */
  readonly hasInit: boolean;
  readonly framesAfterInit: readonly Frame[];
  /**
   * The last prompt. The transcript describes the session in lines after the first one. The next line may be the text
   * that a slash command made of the prompt.
   */
  readonly prompt?: UserEntry;
  /** Ids of the prompts that followed a turn whose end was emitted. */
  readonly turnPrompts: ReadonlySet<string>;
  /** Whether there has been an answer, or a result of a call, since the last prompt. */
  readonly hasLinesSincePrompt: boolean;
  /** Whether the next prompt begins a turn, with a `system/init` of its own. */
  readonly isBetweenTurns: boolean;
  /** When the model is to be woken, in milliseconds since the epoch. */
  readonly wakeupAt?: number | undefined;
  /** The id of the prompt with which the model was woken, until the turn of the prompt is over. */
  readonly wakeupPrompt?: string | undefined;
  /** Stop hooks of turns whose last line has not been read. */
  readonly stopHooks: readonly TurnStop[];
  /** Ends of turns whose lines have not all been read yet. */
  readonly pendingEnds: readonly TurnEnd[];
  /** The last turns, if their results were emitted before their lines, which have not been read; the oldest first. */
  readonly lateTurns: readonly LateTurn[];
  /** When the last turn ended, in milliseconds from the start of the child. */
  readonly endedAt: number;
  /** How many results of turns that the transcript holds have been emitted: those of as many first turns. */
  readonly results: number;
  /** How many other results have been emitted. */
  readonly otherResults: number;
  /** Reports of turns that have not been handed out as effects. */
  readonly reports: readonly Report[];
}

/** A shell in the foreground of the turn. */
export interface WaitedShell {
  /** When it was started, in milliseconds since the epoch; as long as this is not known, when it was called. */
  readonly since: number;
  readonly description: string;
  /** The id of its task, once the task has been emitted. */
  readonly task?: string;
}

/** A call of the tool Bash whose output is not complete. */
export interface ShellCall {
  readonly command: string;
  /** The shell that carries it out, once that is known. */
  readonly shell?: string;
  /** Whether the turn goes on without waiting for it. */
  readonly background?: true;
  /** Whether it has returned, or ended in the background, and only the rest of its output is awaited. */
  readonly returned?: true;
}

/** Output of a shell, and the stream that it was written to, where that is known. */
export interface ShellText {
  readonly text: string;
  readonly stream?: "stdout" | "stderr";
}

/** An observed shell of the tool Bash. */
export interface SeenShell {
  /** The command of its process; absent if the process ended too soon. */
  readonly command?: string;
  /** Whether it has run for some time. */
  readonly running: boolean;
  /** Whether its call is known: then its output is printed. */
  readonly called: boolean;
  /** Output that has not been printed. */
  readonly unemitted: readonly ShellText[];
  /** Whether its output is complete. */
  readonly over: boolean;
}

/** An effect of the output besides frames: a deadline, or a look at the running shells. */
export type OutputEffect = Extract<Effect, { readonly type: "deadline" | "list-shells" }>;

/** An order about a shell, or a line of the trace. */
export type ShellOrder = Extract<
  Effect,
  { readonly type: "follow-shell" | "leave-shell" | "trace" }
>;

/** A call that has not returned. */
export interface OpenCall {
  readonly name: string;
  /** Since when it runs, in milliseconds since the epoch; absent while it waits. */
  readonly since?: number;
  /** Whether it waits for a permission. */
  readonly asked?: true;
  /** How many heartbeats of it have been emitted. */
  readonly heartbeats: number;
}
