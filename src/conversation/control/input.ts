import type { Cost, Spent } from "../../claude/transcript/cost.ts";
import type { Entry } from "../../claude/transcript/entry.ts";
import type { StatusLineLimits } from "../../claude/wire/claude_limits.ts";
import type { JsonObject } from "../../json_object.ts";
import type { ControlAnswer, ControlRequest } from "../../claude/wire/control.ts";
import type { StopSignal } from "../../claude/wire/stop_signal.ts";
import type { LateTerms } from "./session_options.ts";
import type { Message } from "./message.ts";
import type { Screen } from "../terminal/screen.ts";

/** How a process ended, from `waitpid(2)`. */
export type Exit =
  | { readonly kind: "exited"; readonly code: number }
  | {
    readonly kind: "signaled";
    readonly signal: number;
    /** The signal's name, such as `SIGKILL`; absent in the first recordings. */
    readonly name?: string;
  };

/** An input without its time, as its source reports it. */
// deno-lint-ignore no-explicit-any -- each kind of them by itself
export type Untimed<Kind> = Kind extends any ? Omit<Kind, "at"> : never;

/**
 * An event of a session. `at` is in milliseconds on a clock that only goes forward. It is part of the input, so that a
 * recorded run replays with its own times.
 */
export type Input =
  & { readonly at: number }
  & (
    /** The child is running. */
    | { readonly type: "spawned" }
    /** A caller takes the warm child. `terms` are the caller's limits and choice of output. */
    | { readonly type: "terms"; readonly terms: LateTerms }
    /** The caller sends a message. */
    | { readonly type: "message"; readonly message: Message }
    /** The caller sends a control request. */
    | { readonly type: "control"; readonly request: ControlRequest }
    /** The headless helper replies to a request of the caller. */
    | { readonly type: "consulted"; readonly id: string; readonly said: HelperReply }
    /** The caller answers a question. */
    | { readonly type: "answer"; readonly answer: ControlAnswer }
    /** The child sends a message to an MCP server of the caller, or to ours. */
    | {
      readonly type: "mcp-message";
      readonly server: string;
      readonly message: JsonObject;
      /** The problems of the structured answer in the message; absent for other messages. */
      readonly problems?: readonly OutputProblem[];
    }
    /** The caller has closed its input. */
    | { readonly type: "closed" }
    /** The caller's input is invalid. */
    | { readonly type: "unreadable"; readonly reason: string }
    /** The child's cost so far, from its status line. */
    | (Spent & {
      readonly type: "cost";
      /** The limits that the status line reports. */
      readonly limits?: StatusLineLimits;
      /** When the status line ran, in milliseconds since the epoch; absent if the file system has no times. */
      readonly ranAt?: number;
    })
    /** Bytes the child wrote to its terminal. */
    | { readonly type: "terminal"; readonly bytes: Uint8Array }
    /** One of our hooks runs. `payload` is from Claude Code; `id` is present if the hook waits for an answer. */
    | {
      readonly type: "hook";
      readonly event: string;
      readonly payload: HookPayload;
      readonly id?: string;
      /** The index of the caller's hook in whose place this hook runs; absent for our own hooks. */
      readonly callback?: number;
      /** When the hook ran, in milliseconds since the epoch; absent if the file system has no times. */
      readonly ranAt?: number;
    }
    /** The numbers of connections to MCP servers that the child has begun and finished. */
    | {
      readonly type: "mcp";
      readonly begun: number;
      readonly done: number;
      /** Whether they are connected, by server; absent in the first recordings. */
      readonly settled?: Readonly<Record<string, "connected" | "failed">>;
    }
    /** Hooks of ours cannot report: their folder is full or missing. */
    | { readonly type: "unheard" }
    /** The child's rendezvous socket takes prompts. */
    | { readonly type: "reachable" }
    /** The child's own status file was written (`sessions/<pid>.json`: idle, busy, waiting). */
    | {
      readonly type: "status";
      readonly status: string;
      readonly waitingFor?: string;
      /** When the status was set, in milliseconds since the epoch, if the file has it. */
      readonly updatedAt?: number;
      /** The version of Claude Code, if the file has it (2.1.330). */
      readonly version?: string;
    }
    /** The lines that earlier runs of a resumed session wrote. They come before any other line. */
    | { readonly type: "earlier"; readonly entries: readonly Entry[] }
    /** A line was added to the transcript of this session. */
    | { readonly type: "transcript"; readonly entry: Entry }
    /** A line was added to the transcript of a subagent. */
    | { readonly type: "subagent"; readonly line: SubagentLine }
    /** The note about a subagent was written or changed. Claude Code keeps it next to the subagent's transcript. */
    | { readonly type: "subagent-note"; readonly agentId: string; readonly note: JsonObject }
    /** All lines that the child has written so far have been received. */
    | { readonly type: "read" }
    /** A line was added to the child's debug log, if the log is read. */
    | { readonly type: "log"; readonly line: string }
    /** A request to the API failed. Whether Claude Code repeats it is not known yet. */
    | { readonly type: "fault"; readonly fault: ApiFault }
    /** A request to the API failed and will be repeated. */
    | { readonly type: "retry"; readonly retry: ApiRetry }
    /** A part of the API's stream for the conversation itself; `request` counts the API requests. */
    | { readonly type: "stream"; readonly request: number; readonly part: StreamedPart }
    /**
     * The answer to `list-shells`: ids of the running shells in the order of their start, including some that have
     * ended. `startedAt` has the time of each start in milliseconds since the epoch, or 0 if the file system has no
     * times. `unused` if neither a shell nor a subagent has run yet.
     */
    | {
      readonly type: "shells";
      readonly ids: readonly string[];
      readonly startedAt?: readonly number[];
      readonly unused?: true;
    }
    /**
     * The Bash tool ran a shell. Its id is that of the task. `command` comes from its process; absent if the process
     * ended too soon. `running` if it has run for so long that all earlier calls are in the transcript.
     */
    | {
      readonly type: "shell";
      readonly id: string;
      readonly command?: string;
      readonly running: boolean;
    }
    /** Output of a shell; `stream` is absent if stdout and stderr are not separated. */
    | {
      readonly type: "shell-output";
      readonly id: string;
      readonly text: string;
      readonly stream?: "stdout" | "stderr";
    }
    /** All output of a shell was reported; `cut` if it was too long and its rest is left out. */
    | { readonly type: "shell-over"; readonly id: string; readonly cut?: true }
    /** The screen as a person would see it, after a `look`. */
    | { readonly type: "screen"; readonly screen: Screen }
    /** This program was suspended, or the machine was asleep, for this many milliseconds. */
    | { readonly type: "suspended"; readonly ms: number }
    | { readonly type: "signal"; readonly signal: StopSignal }
    /** The user's terminal has another size now, in character cells. */
    | {
      readonly type: "resized";
      readonly size: { readonly rows: number; readonly cols: number };
    }
    | { readonly type: "deadline"; readonly name: DeadlineName }
    /** The child ended and has been reaped; its terminal, hooks and files have been read to their end. */
    | { readonly type: "exit"; readonly exit: Exit; readonly remains?: ChildRemains }
  );

/** The reply of the headless helper to a request, or why the helper could not be asked. */
export type HelperReply =
  /**
   * `init` is the helper's description of the session, for an `initialize`. A reply that comes before the description
   * has `isUndescribed`; a second reply follows it.
   */
  | { readonly response: JsonObject; readonly init?: JsonObject; readonly isUndescribed?: true }
  /** `model` is the model in force, if another one could not be chosen. */
  | { readonly error: string; readonly errorCode?: string; readonly model?: string }
  | { readonly failure: string };

/** A violation of the schema by a structured answer. */
export interface OutputProblem {
  /** The place of the violation, and the requirement there. */
  readonly text: string;
  /** The value found there, as the end of the sentence. */
  readonly found?: string;
}

/** A part of the API's stream: the request, the limits, an event, or the end. */
export type StreamedPart =
  | { readonly kind: "request"; readonly offer?: RequestOffer }
  /** Without `limits` if a limit is used up. */
  | { readonly kind: "limits"; readonly limits?: ApiLimits }
  | { readonly kind: "event"; readonly event: JsonObject }
  | { readonly kind: "end" };

/** The tools and options in the child's first API request. */
export interface RequestOffer {
  /** Names of tools. */
  readonly tools: readonly string[];
  /** Whether the request asks for fast mode. */
  readonly fast: boolean;
}

/** The subscription's limits in the headers of an answer, and the time of the answer. */
export interface ApiLimits {
  /** The headers by name, without their common prefix. */
  readonly headers: Readonly<Record<string, string>>;
  /** When the answer arrived, in seconds since the epoch. */
  readonly now: number;
}

/** A hook's payload. Claude Code makes the object, so none of its fields is certain. */
export type HookPayload = Readonly<Record<string, unknown>>;

/** A subagent, according to the note next to its transcript. */
export interface Subagent {
  readonly agentId: string;
  /** The call that started the subagent; absent for a skill that runs as a subagent. */
  readonly toolUseId?: string;
  /** Whether the subagent is a skill for which the turn does not wait. */
  readonly background?: true;
  readonly type: string;
  readonly description: string;
}

/** A line of a subagent's transcript. */
export interface SubagentLine {
  readonly subagent: Subagent;
  readonly entry: Entry;
}

/** A request to the API that failed. */
export interface ApiFault {
  /** The number of the request that failed, from 1. */
  readonly attempt: number;
  /** The maximum number of retries. */
  readonly maxRetries: number;
  /** The HTTP status; null without a response. */
  readonly status: number | null;
}

/** A request to the API failed, and Claude Code will repeat it. */
export interface ApiRetry extends ApiFault {
  /** Milliseconds until the next request, rounded up to whole seconds, because the screen shows whole seconds. */
  readonly delayMs: number;
}

/** The facts that a child leaves behind at its end. */
export interface ChildRemains {
  /** The child's cost from `.claude.json`; absent after SIGKILL. */
  readonly cost?: Cost;
  /** The version of the executable; absent if it names none, or if a transcript has named it. */
  readonly version?: string;
}

/**
 * Whether a hook reports that the turn has failed. The failure of an agent does not end the turn, nor does a failure of
 * the agent that writes the summary of a compaction (2.1.330).
 */
export function isTurnFailure(event: string, payload: HookPayload): boolean {
  return event === "StopFailure" && payload["agent_id"] === undefined;
}

/**
 * The deadlines of a session. These have a flag:
 *
 * - `timeout`: wall clock, which nothing extends; of each turn if the conversation has many
 * - `start`: from the spawn to a usable prompt; the first byte and each answered dialog extend it
 * - `delivery`: from there until the child takes the prompt; hooks, status changes and the paste's echo extend it
 * - `silence`: without any sign of life in a turn
 * - `drain`: from the announced end of the turn to the idle child
 * - `exit`: from the signal to the child's end
 *
 * Some of the others: `background` runs from the end of a turn to the end of the wait for background tasks, `renewal` from a
 * change to the child that has it, `foreground` from the key that puts calls into the background, `task` from a key in the
 * list of tasks. Output has `init`, `shells`, `subagent`, `compaction`, `priced` and `beat`.
 */
export const DEADLINE_NAMES = [
  "timeout",
  "start",
  "delivery",
  "silence",
  "drain",
  "exit",
  "look",
  "echo",
  "enter",
  "rendezvous",
  "renewal",
  "servers",
  "idle",
  "interrupt",
  "background",
  "foreground",
  "task",
  "record",
  "cost",
  "budget",
  "told",
  "callback",
  "init",
  "shells",
  "subagent",
  "compaction",
  "priced",
  "beat",
] as const;

/** A deadline by its name. */
export type DeadlineName = (typeof DEADLINE_NAMES)[number];
