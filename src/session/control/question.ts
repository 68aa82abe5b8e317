import type { HookPayload } from "../input.ts";

/** What a session knows of a caller that decides for it. */
export interface CallerOptions {
  /** What the ids of questions begin with: no other child of the conversation may have given the same. */
  readonly idPrefix: string;
  /** Whether the caller is asked for permissions, which are refused otherwise. */
  readonly permissions?: true;
  /** Whether the caller may have the mode in which no permission is needed. */
  readonly mayBypass?: true;
  /** The caller's hooks, each with a place by which the child's hooks name it. */
  readonly callbacks: readonly CallbackHook[];
  /** The initialization by which the child was started, and why it could not be as it was asked for. */
  readonly initialized?: { readonly id: string; readonly error?: string };
}

/** A hook of the caller's: an event, and whom to call. */
export interface CallbackHook {
  readonly event: string;
  /** What of the event it is for, as in settings; absent for all. */
  readonly matcher?: string;
  /** The caller's name for it. */
  readonly id: string;
  /** How long its answer may take, in seconds; absent for as long as Claude Code gives a hook. */
  readonly timeoutS?: number;
}

/** A call of a tool that the model has made. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  /** The subagent that has made it; absent for the session itself. */
  readonly agentId?: string;
}

/** What somebody has asked the caller, and the hook that waits for the answer. */
export type Question =
  | {
    readonly kind: "permission";
    readonly hookId: string;
    readonly tool: unknown;
    readonly input: unknown;
    readonly call: ToolCall | undefined;
  }
  | {
    readonly kind: "callback";
    readonly hookId: string;
    readonly callback: CallbackHook;
    /** The call that it is about. */
    readonly toolUseId?: string;
    /** When its time is up; absent where Claude Code alone bounds it. */
    readonly due?: number;
  }
  | {
    readonly kind: "server";
    readonly server: string;
    /** The id of the request in JSON-RPC; absent where the server is only told something. */
    readonly rpcId?: unknown;
  };

/** A hook that waits for the caller, who is not asked before what it is about has been told. */
export interface WaitingHook {
  readonly hookId: string;
  readonly payload: HookPayload;
  /** The caller's hook that it stands for; absent where a permission is asked for. */
  readonly callback?: CallbackHook;
}

/** What is remembered of questions and of what they may be about. */
export interface AskingMemory {
  /** How many have been asked. */
  readonly questions: number;
  /** Those that are not answered, by their ids, the oldest first. */
  readonly asked: ReadonlyMap<string, Question>;
  readonly waiting: readonly WaitingHook[];
  /** Calls that have not returned and whose permission has not been asked for, the oldest first. */
  readonly calls: readonly ToolCall[];
}

/** Nothing has been asked. */
export const NOTHING_ASKED: AskingMemory = {
  questions: 0,
  asked: new Map(),
  waiting: [],
  calls: [],
};
