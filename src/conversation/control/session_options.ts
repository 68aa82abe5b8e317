import type { JsonObject } from "../../json_object.ts";
import type { CallerOptions } from "../protocol/caller_options.ts";

/** The options of a session. */
export interface SessionOptions extends Limits {
  /**
   * Whether the caller may send further messages at any time. Then the child outlives its turns, each turn has its own
   * time limit, and its result waits for its cost.
   */
  readonly conversation?: true;
  /** Whether every result waits for the child's status line, because it contains numbers from it. */
  readonly asksStatus?: true;
  /** The version of Claude Code, if known before the child starts. */
  readonly version?: string;
  /** The child's terminal, in character cells. */
  readonly size: { readonly rows: number; readonly cols: number };
  /** The maximum wait for background tasks, in milliseconds; 0 for no limit, absent for the limit of `claude -p`. */
  readonly backgroundCeilingMs?: number;
  /** The maximum number of requests to the model; absent for no limit. */
  readonly maxTurns?: number;
  /** The number of requests that another child has made in the first turn. */
  readonly requestsMade?: number;
  /** Whether the child's permission mode allows calls about which another mode would ask. */
  readonly loose?: true;
  /** The skills that the model may load; absent for all. */
  readonly skills?: readonly string[];
  /** The maximum cost of the conversation, in US dollars; absent for no limit. */
  readonly maxBudgetUsd?: number;
  /** The cost of the conversation before this child, in US dollars. */
  readonly paidUsd?: number;
  /** Whether the child has no hooks. Then the transcript shows when a turn has ended. */
  readonly hookless?: true;
  /** The schema of the structured answer, and the maximum number of attempts; absent if the caller wants none. */
  readonly output?: { readonly schema: JsonObject; readonly maxTries: number };
  /** The minimum number of MCP servers for which the first request waits; absent for none. */
  readonly mcpServers?: number;
  /** The names of the MCP servers that are bridged to this program. */
  readonly bridged?: readonly string[];
  /** The names of the MCP servers for which the first request waits until they are connected or have failed. */
  readonly awaited?: readonly string[];
  /** Whether denials to the model say that no person can give a permission. */
  readonly unattended?: true;
  /** The caller, if it uses the control protocol. */
  readonly caller?: CallerOptions;
  /** The folder for images that the caller sends; absent if the caller cannot send any. */
  readonly imagesDir?: string;
  /** Whether a child of a conversation reads the first message from its fd 0. */
  readonly hasOnStdin?: true;
  /** Whether the child does not read the files that a message mentions. */
  readonly readsNoMentions?: true;
  /** Whether the project has settings that need the user's trust. Only the user can give it. */
  readonly needsTrust?: true;
  /** Whether there may be other Stop hooks than ours. Then a Stop hook is the end only once the child is idle. */
  readonly otherStopHooks: boolean;
  /** Whether the child never wakes the model. */
  readonly wakeless?: true;
  /** Whether a SessionEnd hook of ours delays the child's exit until its transcript holds the turn. */
  readonly keptAtEnd?: true;
}

/** The time limits of the stages of a run, in milliseconds. */
export interface Limits {
  /** The time limit of the whole run. */
  readonly timeoutMs: number;
  /** The maximum time until the child is ready for the prompt. */
  readonly startTimeoutMs: number;
  /** The maximum time from readiness until the child takes the prompt. */
  readonly deliveryTimeoutMs: number;
  /** The maximum time without a sign of life; absent for no limit other than `timeoutMs`. */
  readonly idleTimeoutMs?: number;
  /** The maximum time until the child is idle after a hook announced the end of the turn. */
  readonly drainTimeoutMs: number;
  /** The maximum time until the child exits after it was asked to. */
  readonly exitTimeoutMs: number;
}

/** The options that can change after the child was started, because they do not affect the child. */
export interface LateTerms extends Limits {
  /** Whether messages are printed again when Claude Code takes them. */
  readonly replayMessages?: boolean;
  /** Whether the text of subagents is printed, if the turn waits for their end. */
  readonly subagentText?: boolean;
  /** Whether the ends of hooks are printed. */
  readonly hookEvents?: boolean;
  /** Whether every failure report includes the last screen. */
  readonly trace: boolean;
  /** The id of the caller's initialization. The child was started with an equal one. Absent if there is none. */
  readonly initializedBy?: string;
}

export function limitsOf(
  { replayMessages: _, subagentText: __, hookEvents: ___, trace: ____, ...terms }: LateTerms,
): Limits {
  const { initializedBy: _____, ...limits } = terms;
  return limits;
}
