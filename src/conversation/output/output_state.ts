import type { ToolUse } from "../../claude/transcript/turn.ts";
import type { Frame } from "../../claude/wire/frame.ts";
import type { Report, ReportOptions } from "./result/verdict.ts";
import type { Activity, OutputOptions } from "./output_options.ts";
import { type GrowingMap, growingMap } from "../../growing_map.ts";
import {
  type ExactState,
  NO_PARTS,
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
import type { CallDecision, Effect, Ending } from "../control/effect.ts";
import type { Entry, UserEntry } from "../../claude/transcript/entry.ts";
import type { SubagentStats } from "./result/turn_totals.ts";
import type { Step } from "../step.ts";
import type { Task, Tasks } from "./frames/tasks.ts";
import type { CallEnd } from "./frames/task_ends.ts";

/** Everything that has to be remembered to say what comes next, each of something else. */
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
  /** How many ids have been made of the seed. */
  readonly ids: number;
}

/** One call of the output: the state of the frames, and the frames that are emitted. */
export type OutputStep = Step<OutputState, Frame>;

/** No frame has named the messages of the turn. */
export const NOT_NAMED: OutputState["named"] = new Set();

/** Nothing has been said yet. */
export function startOutput(options: OutputOptions, reporting: ReportOptions): OutputState {
  return {
    options,
    reporting,
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
    givenIds: growingMap(),
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
    agentCalls: growingMap(),
    skills: [],
    forks: growingMap(),
    failed: undefined,
    tasks: new Map(),
    decisions: growingMap(),
    awaitsSubagent: false,
    isAmidAnswer: false,
    unstartedCall: undefined,
    allTasks: growingMap(),
    taskEnds: growingMap(),
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
      ...(options.partial === "exact" ? { exact: NO_STREAM } : { partial: NO_PARTS }),
    }),
    ...(options.heard === undefined ? {} : { observed: NO_REQUESTS }),
  };
}

/** Whether the first turn of the child has begun: before it, others may have been told that needed no child. */
export function isUnderWay({ hasInit, isBetweenTurns, prompt }: OutputState): boolean {
  return hasInit && !(isBetweenTurns && prompt === undefined);
}

/** Whether there are lines that have not been told. */
export function hasPendingLines({ ownLines, subagentLines }: OutputState): boolean {
  return ownLines !== undefined || subagentLines !== undefined;
}

/** A call that has not returned, or has started a subagent. */
export function knownCall({ toolUses, agentCalls }: OutputState, id: string): ToolUse | undefined {
  return toolUses.get(id) ?? agentCalls.get(id);
}

/** What is remembered of shells. */
interface ShellFields {
  /** Calls of shells that are waited for, by their ids. */
  readonly shells: ReadonlyMap<string, WaitedShell>;
  /** Calls whose output is told while they run, by their ids, and the shells that were seen, by theirs. */
  readonly shellCalls: ReadonlyMap<string, ShellCall>;
  readonly seenShells: ReadonlyMap<string, SeenShell>;
  /** What is to be done about shells since it was asked for last. */
  readonly shellOrders: readonly ShellOrder[];
}

/** What is remembered of the messages of the caller. */
interface MessageFields {
  /** Whether the caller says no more. */
  readonly inputClosed?: true;
  /** The ids that the caller gave prompts, by those that they have in the transcript. */
  readonly givenIds: GrowingMap<string, string>;
  /** Messages that the child is not known to have taken, and those of the turn. */
  readonly awaited: readonly Message[];
  readonly taken: readonly Message[];
  /** Those of them that have become a part of the turn when it had begun. */
  readonly joined: readonly Message[];
  /** Which kinds of frames have named the messages that the turn answers: the first of each does. */
  readonly named: ReadonlySet<Frame["type"]>;
}

/** What is remembered of answers that are being written, and of requests for them. */
interface AnswerFields {
  /** What has been told of answers that are being written, if that is wanted, in the one way or the other. */
  readonly partial?: PartialState;
  readonly exact?: ExactState;
  /** What is known of it where answers are not told by it. */
  readonly observed?: ObservedRequests;
  /** The ids that `message_start` told since the last result; absent where nobody wants answers live. */
  readonly streamed?: readonly string[];
  /** Whether it has been said that the model is asked; absent where nobody wants to hear of it. */
  readonly requested?: boolean;
  /** The last request that has failed, until it is known whether it is made again. */
  readonly fault?: ApiFault | undefined;
  /** The number of that request, once its retry has been told though the screen has not announced it. */
  readonly emittedRetry?: number | undefined;
}

/** What is remembered of money and limits. */
interface CostFields {
  /** What models had used when a result told it last; undefined where that is not known. */
  readonly reportedUsage: Cost["modelUsage"] | undefined;
  /** What was paid before this child, as far as it does not count it itself. */
  readonly paid?: Spent;
  /** What the conversation has cost, as the child's status line told last. */
  readonly cost?: Spent;
  /** When that status line ran, in milliseconds since the epoch, as far as the file system tells. */
  readonly costReportedAt?: number | undefined;
  /** The end of a turn whose result waits for what it has cost, and how many turns there were by then. */
  readonly awaitingCost?: { readonly at: number; readonly turns: number } | undefined;
  /** What it had cost when the turn began, in US dollars, as far as that was told. */
  readonly paidBefore?: number | undefined;
  /** When it was known to cost as much as it may, in milliseconds since the epoch; undefined as long as it does not. */
  readonly overspentAt?: number | undefined;
  /** What the status line has told of limits last. */
  readonly limits?: StatusLineLimits;
}

/** What is known of the session itself, as it was told last. */
interface SessionFields {
  /** Whether the title that it has from the start has been told. */
  readonly isTitled?: true;
  /** The model as SessionStart names it, with the `[1m]` that the API does not say. */
  readonly model?: string;
  /** What a headless Claude Code that was started like the child says of a session that begins. */
  readonly described?: JsonObject;
  /** The commands that there are, as the caller was told them last. */
  readonly commands?: readonly unknown[];
  /** What the session is at, as it was told last. */
  readonly activity?: Activity;
  /** What became of connections to MCP servers, by their names. */
  readonly connections?: Readonly<Record<string, "connected" | "failed">>;
  /** The version that the child gave in its transcript. */
  readonly version?: string;
  /** The permission mode, once it is another one than at the start. */
  readonly permissionMode?: string;
  /** How `system/init` has told of fast mode last. */
  readonly fastMode?: FastMode;
  /** Since when the run is ending, and with it what goes on in the background, in milliseconds since the epoch. */
  readonly endingAt?: number;
}

/** A skill that a subagent carries out. */
export interface ForkedSkill {
  readonly call: ToolUse;
  /** What the model has been told of the skill. */
  readonly description: string;
}

/** What is remembered of calls of tools, and of what has been decided on them. */
interface CallFields {
  /** Ids of the calls that hand over structured answers; absent where none is wanted. */
  readonly outputCalls?: ReadonlySet<string>;
  /** The calls that have not returned, by id. */
  readonly toolUses: ReadonlyMap<string, ToolUse>;
  /** Those by which subagents were started, and which have returned. */
  readonly agentCalls: GrowingMap<string, ToolUse>;
  /** Calls of skills that have not returned, and of which it is not known whether a subagent carries them out. */
  readonly skills: readonly ToolUse[];
  /** Skills that subagents carry out, by the ids of those. */
  readonly forks: GrowingMap<string, ForkedSkill>;
  /** The calls that have failed, or were refused. */
  readonly failed: Chain<ToolUse> | undefined;
  /** What the caller has decided on calls, by their ids. */
  readonly decisions: GrowingMap<string, CallDecision>;
  /** Calls of the session itself that have not returned, by their ids. */
  readonly openCalls: ReadonlyMap<string, OpenCall>;
}

/** A line of the session's own transcript or of a subagent's, or what is noted beside that. */
export type MirroredLine =
  | { readonly agentId?: string; readonly entry: Entry }
  | { readonly agentId: string; readonly note: JsonObject };

/** What is remembered of lines: of those that have been told, and of those that are to be. */
interface LineFields {
  /** The lines of earlier runs of the session. */
  readonly earlier: readonly Entry[];
  /** What is kept of the lines of this run that have been told. */
  readonly kept: KeptLines;
  /** Lines since the last `read`, which are told in the order of their times. */
  readonly ownLines: Chain<Entry> | undefined;
  readonly subagentLines: Chain<SubagentLine> | undefined;
  /** Whether an answer goes on after the line that is being told. */
  readonly isAmidAnswer: boolean;
  /** What has been read and is to be mirrored. */
  readonly unmirroredLines: Chain<MirroredLine> | undefined;
  /** Lines of subagents whose call is in a line that has not been written yet. */
  readonly uncalledLines: readonly SubagentLine[];
  /** Ends of Stop hooks that are told when all of them have ended. */
  readonly stopHookEnds: readonly Entry[];
  /** Lines that tell the ends of tasks whose beginnings have not been told. */
  readonly taskEndLines: readonly Entry[];
  /** Whether nothing that is still written belongs to the run. */
  readonly isClosed: boolean;
}

/** What a hook says of a task: that a subagent begins, or that a call has returned which may have been one. */
export type HookedTask =
  | {
    readonly kind: "begun";
    readonly agentId: string;
    readonly type: string;
    /** When, in milliseconds since the epoch. */
    readonly at: number;
  }
  | (CallEnd & { readonly kind: "returned" });

/** What is remembered of tasks, and of subagents that begin and end. */
interface TaskFields {
  readonly tasks: Tasks;
  /** All tasks so far, as they began. */
  readonly allTasks: GrowingMap<string, Task>;
  /** How tasks ended that are not at work again: their statuses, by their ids. */
  readonly taskEnds: GrowingMap<string, string>;
  /** What hooks have said of tasks, where the calls that they are about have not been told yet. */
  readonly hookedTasks: readonly HookedTask[];
  /** Whether what a subagent's end has led to waits for lines of the subagent. */
  readonly awaitsSubagent: boolean;
  /** The call whose subagent's beginning is waited for ahead of what was written behind it, and the line that holds it. */
  readonly unstartedCall: { readonly id: string; readonly line: Entry } | undefined;
  /** Counts of the subagents that children before this one had, unless the conversation has begun anew. */
  readonly subagentsBefore: SubagentStats | undefined;
}

/** A compaction that Claude Code has begun by itself, as hooks tell of it. */
export interface Compaction {
  /** When it began, in milliseconds since the epoch: what was written before is of that time at most. */
  readonly since: number;
  /** Whether its beginning has been printed. */
  readonly isEmitted: boolean;
  /** Whether it has succeeded; the lines that say so are yet to come. */
  readonly hasSucceeded: boolean;
  /** What the API said in the place of a summary. */
  readonly error?: string;
  /** Whether nobody waits any longer for why it failed, or for its summary. */
  readonly isOverdue?: boolean;
}

/** What is remembered of compactions, and of commands that Claude Code carries out as it does them. */
interface CompactionFields {
  /** Compactions whose outcome has not been told, the oldest first. */
  readonly compactions: readonly Compaction[];
  /** Whether a compaction has succeeded whose summary is yet to come, and the lines that have to wait for it. */
  readonly awaitsSummary: boolean;
  readonly deferredLines: Chain<Entry> | undefined;
  /** Set once a command is known to be typed that Claude Code carries out; what its result says, once that is known. */
  readonly typedCommand?: { readonly command: string; readonly result?: string } | undefined;
  /** Ids of the lines that the last compaction left as they are, and whether they have been told. */
  readonly preserved: ReadonlyMap<string, boolean>;
}

/** What a Stop hook says of the result of its turn. */
export interface TurnStop {
  /** When the hook ran, in milliseconds since the epoch, where that is known. */
  readonly at: number | undefined;
  /** Whether the result may be told when the turn is over, has to wait, or is that of the last turn. */
  readonly result: "printable" | "deferred" | "last";
}

/** The end of a turn that the child outlived. */
export interface TurnEnd {
  readonly ending: Ending;
  /** Milliseconds from the start of the child. */
  readonly at: number;
  /** Tickets of the messages that it answers, as far as the session knows them. */
  readonly tickets?: readonly string[];
  /** Those of its messages whose lines had not been read by then. */
  readonly unwritten?: readonly Message[];
  /** What the child had cost by then, as its status line told. */
  readonly cost?: Spent | undefined;
  /** How many of the lines that are to be told are its own, where they and its result wait for those of a subagent. */
  readonly lines?: number;
}

/** A turn whose result has been told ahead of its lines, which a busy machine may have written seconds later. */
interface LateTurn {
  /** Its messages whose lines have not been read. */
  readonly messages: readonly Message[];
  /** When its end was told, in milliseconds since the epoch: what is written later is of another turn. */
  readonly at: number;
  /** Whether the line of one of them has been read: then the turn counts as one that the transcript holds. */
  readonly counted: boolean;
}

/** What is remembered of turns: how they begin, and the ends that have been told. */
interface TurnFields {
  /** Whether the turn's `system/init` has been told, and what has to wait for it. */
  readonly hasInit: boolean;
  readonly framesAfterInit: readonly Frame[];
  /**
   * The last prompt, with which the transcript holds all that is told about the session at its start. What follows it
   * may be the text that a slash command made of it.
   */
  readonly prompt?: UserEntry;
  /** Ids of the prompts that followed a turn whose end was told. */
  readonly turnPrompts: ReadonlySet<string>;
  /** Whether anything was said since the last prompt. */
  readonly hasLinesSincePrompt: boolean;
  /** Whether the next prompt begins a turn, with a `system/init` of its own. */
  readonly isBetweenTurns: boolean;
  /** When the model is woken, in milliseconds since the epoch, if it is to. */
  readonly wakeupAt?: number | undefined;
  /** The id of the prompt with which it was woken, as long as the turn of that is not over. */
  readonly wakeupPrompt?: string | undefined;
  /** What Stop hooks have said of turns of which the transcript has yet to say that they are over. */
  readonly stopHooks: readonly TurnStop[];
  /** Ends of turns whose lines have not all been read yet. */
  readonly pendingEnds: readonly TurnEnd[];
  /** The last turns, where their results have been told ahead of their lines and these have not been read, the oldest first. */
  readonly lateTurns: readonly LateTurn[];
  /** When the last turn ended, in milliseconds from the start of the child. */
  readonly endedAt: number;
  /** How many results have been told of turns that the transcript holds, which are those of as many first turns. */
  readonly results: number;
  /** How many have been told of other messages. */
  readonly otherResults: number;
  /** What became of turns since it was asked for last. */
  readonly reports: readonly Report[];
}

/** A shell in the foreground of the turn. */
export interface WaitedShell {
  /** When it was started, in milliseconds since the epoch; as long as that is not known, when it was called. */
  readonly since: number;
  readonly description: string;
  /** The id of its task, once that has been told. */
  readonly task?: string;
}

/** A call of the tool Bash that has not been told to be over. */
export interface ShellCall {
  readonly command: string;
  /** The shell that carries it out, once that is known. */
  readonly shell?: string;
  /** Whether the turn goes on without waiting for it. */
  readonly background?: true;
  /** Whether it has returned, or ended in the background, and only the rest of its output is awaited. */
  readonly returned?: true;
}

/** What a shell has written, to one of its streams where that is known. */
export interface ShellText {
  readonly text: string;
  readonly stream?: "stdout" | "stderr";
}

/** A shell of the tool Bash, as it was seen to run. */
export interface SeenShell {
  /** What its process carried out; absent for one that was gone too soon. */
  readonly command?: string;
  /** Whether it was seen to run for some time. */
  readonly running: boolean;
  /** Whether it is known whose it is: then what it writes is told. */
  readonly called: boolean;
  /** What it has written and nobody has been told. */
  readonly unemitted: readonly ShellText[];
  /** Whether that is all it wrote. */
  readonly over: boolean;
}

/** What the output waits for, or wants to know. */
export type OutputEffect = Extract<Effect, { readonly type: "deadline" | "list-shells" }>;

/** What is to be done about a shell, or noted of it. */
export type ShellOrder = Extract<
  Effect,
  { readonly type: "follow-shell" | "leave-shell" | "trace" }
>;

/** A call that has not returned. */
export interface OpenCall {
  readonly name: string;
  /** Since when it is at work, in milliseconds since the epoch; absent where it waits. */
  readonly since?: number;
  /** Whether it waits for a permission. */
  readonly asked?: true;
  /** How often it has been told. */
  readonly heartbeats: number;
}
