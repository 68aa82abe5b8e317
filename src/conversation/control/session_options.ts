import type { JsonObject } from "../../json_object.ts";
import type { CallerOptions } from "../protocol/caller_options.ts";

/** The options of a session. */
export interface SessionOptions extends Limits {
  /**
   * Whether the caller may send further messages at any time: then the child outlives its turns, each turn has a wall clock
   * of its own, and its result waits for its cost.
   */
  readonly conversation?: true;
  /** Whether every result waits for the child's status line, whose numbers it contains. */
  readonly asksStatus?: true;
  /** The version of Claude Code, where it is known before there is a child. */
  readonly version?: string;
  /** The child's terminal, in character cells. */
  readonly size: { readonly rows: number; readonly cols: number };
  /** How long to wait for tasks in the background, in milliseconds; 0 for no limit, absent for as long as `claude -p`. */
  readonly backgroundCeilingMs?: number;
  /** Most requests to the model; absent for no limit. */
  readonly maxTurns?: number;
  /** How many requests another child has made in the first turn. */
  readonly requestsMade?: number;
  /** Whether the child's permission mode allows calls that another mode would ask about. */
  readonly loose?: true;
  /** The skills that the model may load; absent for all. */
  readonly skills?: readonly string[];
  /** US dollars that the conversation may cost; absent for no limit. */
  readonly maxBudgetUsd?: number;
  /** What the conversation had cost before this child, in US dollars. */
  readonly paidUsd?: number;
  /** Whether the child has no hooks: then the transcript says when a turn is over. */
  readonly hookless?: true;
  /** The schema of the structured answer, and how often the model may try; absent where none is wanted. */
  readonly output?: { readonly schema: JsonObject; readonly maxTries: number };
  /** How many MCP servers the first request waits for at least; absent for none. */
  readonly mcpServers?: number;
  /** The names of the MCP servers that are bridged to this program. */
  readonly bridged?: readonly string[];
  /** The names of the MCP servers that the first request waits for until they are connected or have failed. */
  readonly awaited?: readonly string[];
  /** Whether the model is told that no person can permit anything. */
  readonly unattended?: true;
  /** The caller, where it speaks the control protocol. */
  readonly caller?: CallerOptions;
  /** The folder for images that the caller sends; absent where it cannot send any. */
  readonly imagesDir?: string;
  /** Whether a child of a conversation finds the first message on its fd 0. */
  readonly hasOnStdin?: true;
  /** Whether the child does not read the files that a message mentions. */
  readonly readsNoMentions?: true;
  /** Whether the project has settings that need the user's trust: only the user can give it. */
  readonly needsTrust?: true;
  /** Whether there may be other Stop hooks than ours: then Stop is the end only once the child is idle. */
  readonly otherStopHooks: boolean;
  /** Whether the child never wakes the model. */
  readonly wakeless?: true;
  /** Whether a SessionEnd hook of ours keeps a child that is about to go until its transcript holds the turn. */
  readonly keptAtEnd?: true;
}

/** How long each stage of a run may take, in milliseconds. */
export interface Limits {
  /** The wall clock for the whole run. */
  readonly timeoutMs: number;
  /** How long to wait for the child to be ready for the prompt. */
  readonly startTimeoutMs: number;
  /** How long from there to the prompt being taken. */
  readonly deliveryTimeoutMs: number;
  /** How long there may be no sign of life; absent for as long as the wall clock allows. */
  readonly idleTimeoutMs?: number;
  /** How long the child may take to be idle once a hook announced the end. */
  readonly drainTimeoutMs: number;
  /** How long the child may take to end once it was told to. */
  readonly exitTimeoutMs: number;
}

/** The options that can change after the child was started, because they ask nothing of it. */
export interface LateTerms extends Limits {
  /** Whether messages are printed again when Claude Code takes them. */
  readonly replayMessages?: boolean;
  /** Whether the text of subagents is printed, if the turn waits for their end. */
  readonly subagentText?: boolean;
  /** Whether the ends of hooks are printed. */
  readonly hookEvents?: boolean;
  /** Whether every failure is reported with the last screen. */
  readonly trace: boolean;
  /** The id of the caller's initialization; the child was started with the same one. Absent where there is none. */
  readonly initializedBy?: string;
}

export function limitsOf(
  { replayMessages: _, subagentText: __, hookEvents: ___, trace: ____, ...terms }: LateTerms,
): Limits {
  const { initializedBy: _____, ...limits } = terms;
  return limits;
}
