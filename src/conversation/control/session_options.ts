import type { JsonObject } from "../../json_object.ts";
import type { CallerOptions } from "../protocol/caller_options.ts";

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
  /** Whether the child carries out calls without a question that it would ask about in another permission mode. */
  readonly loose?: true;
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
  /** Whether a child of a conversation finds the first message on its fd 0. */
  readonly hasOnStdin?: true;
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

/** What a conversation can be told after its child was started: it asks nothing of the child. */
export interface LateTerms extends Limits {
  /** Whether messages are printed again once Claude Code has taken them. */
  readonly replayMessages?: boolean;
  /** Whether what subagents say is told, whose end the turn waits for. */
  readonly subagentText?: boolean;
  /** Whether the ends of hooks are told. */
  readonly hookEvents?: boolean;
  /** Whether the last screen is wanted with every failure. */
  readonly trace: boolean;
  /** The id of the caller's initialization, by whose like the child was started; absent where there is none. */
  readonly initializedBy?: string;
}

/** The limits among terms. */
export function limitsOf(
  { replayMessages: _, subagentText: __, hookEvents: ___, trace: ____, ...terms }: LateTerms,
): Limits {
  const { initializedBy: _____, ...limits } = terms;
  return limits;
}
