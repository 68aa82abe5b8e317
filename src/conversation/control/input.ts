import type { Cost, Spent } from "../../claude/transcript/cost.ts";
import type { Entry } from "../../claude/transcript/entry.ts";
import type { StatusLineLimits } from "../../claude/wire/claude_limits.ts";
import type { JsonObject } from "../../json_object.ts";
import type { ControlAnswer, ControlRequest } from "../../claude/wire/control.ts";
import type { StopSignal } from "../../claude/wire/stop_signal.ts";
import type { LateTerms } from "./session_options.ts";
import type { Message } from "./message.ts";
import type { Screen } from "../terminal/screen.ts";

/** How a process ended, as `waitpid(2)` tells it. */
export type Exit =
  | { readonly kind: "exited"; readonly code: number }
  | {
    readonly kind: "signaled";
    readonly signal: number;
    /** The signal's name, such as `SIGKILL`; the first recordings have none. */
    readonly name?: string;
  };

/** An input without its time, as its source reports it. */
// deno-lint-ignore no-explicit-any -- each kind of them by itself
export type Untimed<Kind> = Kind extends any ? Omit<Kind, "at"> : never;

/**
 * What happens to a session. `at` is in milliseconds on a clock that only goes forward. It is part of the input, so that a
 * recorded run replays with its own times.
 */
export type Input =
  & { readonly at: number }
  & (
    /** The child is running. */
    | { readonly type: "spawned" }
    /** The caller of a warm child comes, with its limits and what it wants printed. */
    | { readonly type: "terms"; readonly terms: LateTerms }
    /** The caller sends a message. */
    | { readonly type: "message"; readonly message: Message }
    /** The caller sends a control request. */
    | { readonly type: "control"; readonly request: ControlRequest }
    /** The headless helper replies to a request of the caller's. */
    | { readonly type: "consulted"; readonly id: string; readonly said: HelperReply }
    /** The caller answers a question. */
    | { readonly type: "answer"; readonly answer: ControlAnswer }
    /** The child sends a message to an MCP server of the caller's, or to ours. */
    | {
      readonly type: "mcp-message";
      readonly server: string;
      readonly message: JsonObject;
      /** What is wrong with a structured answer that it hands over; absent for anything else. */
      readonly problems?: readonly OutputProblem[];
    }
    /** The caller sends no more messages. */
    | { readonly type: "closed" }
    /** The caller's input is invalid. */
    | { readonly type: "unreadable"; readonly reason: string }
    /** What the child has cost so far, from its status line. */
    | (Spent & {
      readonly type: "cost";
      /** The limits that the status line reports. */
      readonly limits?: StatusLineLimits;
      /** When the status line ran, in milliseconds since the epoch; absent where the file system does not tell. */
      readonly ranAt?: number;
    })
    /** Bytes the child wrote to its terminal. */
    | { readonly type: "terminal"; readonly bytes: Uint8Array }
    /** A hook of ours runs; `payload` is what Claude Code gave it, and `id` is there if it waits for an answer. */
    | {
      readonly type: "hook";
      readonly event: string;
      readonly payload: HookPayload;
      readonly id?: string;
      /** Which of the caller's hooks it stands for, by its place among them; absent for one of ours. */
      readonly callback?: number;
      /** When it ran, in milliseconds since the epoch; absent where the file system does not tell. */
      readonly ranAt?: number;
    }
    /** How many connections to MCP servers the child has begun, and how many of them it has done with. */
    | {
      readonly type: "mcp";
      readonly begun: number;
      readonly done: number;
      /** What became of those, by the name of the server; the first recordings do not say. */
      readonly settled?: Readonly<Record<string, "connected" | "failed">>;
    }
    /** Hooks of ours cannot report: their folder is full, or gone. */
    | { readonly type: "unheard" }
    /** The child's rendezvous socket takes prompts. */
    | { readonly type: "reachable" }
    /** The child's own status file was written (`sessions/<pid>.json`: idle, busy, waiting). */
    | {
      readonly type: "status";
      readonly status: string;
      readonly waitingFor?: string;
      /** Since when, in milliseconds since the epoch, where the file has it. */
      readonly updatedAt?: number;
      /** The version of Claude Code, where the file has it (2.1.330). */
      readonly version?: string;
    }
    /** The lines that earlier runs of a resumed session wrote; before any other line. */
    | { readonly type: "earlier"; readonly entries: readonly Entry[] }
    /** A line was added to the transcript of this session. */
    | { readonly type: "transcript"; readonly entry: Entry }
    /** A line was added to the transcript of a subagent. */
    | { readonly type: "subagent"; readonly line: SubagentLine }
    /** What Claude Code notes beside the transcript of a subagent, new or changed, if it is to be mirrored. */
    | { readonly type: "subagent-note"; readonly agentId: string; readonly note: JsonObject }
    /** All lines that the child has written so far were input. */
    | { readonly type: "read" }
    /** A line was added to the child's debug log, where that is to be told. */
    | { readonly type: "log"; readonly line: string }
    /** A request to the API failed; whether it is made again is not known yet. */
    | { readonly type: "fault"; readonly fault: ApiFault }
    /** A request to the API failed and will be made again. */
    | { readonly type: "retry"; readonly retry: ApiRetry }
    /** A part of what the API streams to the child for the conversation itself, by the number of its request. */
    | { readonly type: "stream"; readonly request: number; readonly part: StreamedPart }
    /**
     * The ids of the shells that run, in the order of their start, and of some that ran; after a `list-shells`. Each was
     * started at the time in its place in `startedAt`, in milliseconds since the epoch, as far as the file system tells:
     * otherwise that is 0. They are `unused` if neither a shell nor a subagent has run yet.
     */
    | {
      readonly type: "shells";
      readonly ids: readonly string[];
      readonly startedAt?: readonly number[];
      readonly unused?: true;
    }
    /**
     * The tool Bash ran a shell. Its id is that of the task; `command` is what its process was seen to carry out, absent
     * for one that was gone too soon. It is `running` if it still is, and has been for so long that all calls until its
     * start have been told.
     */
    | {
      readonly type: "shell";
      readonly id: string;
      readonly command?: string;
      readonly running: boolean;
    }
    /** What a shell has written; `stream` is absent where it was not looked at, or cannot be told. */
    | {
      readonly type: "shell-output";
      readonly id: string;
      readonly text: string;
      readonly stream?: "stdout" | "stderr";
    }
    /** All that a shell has written has been told; with `cut`, all that is ever told of so much. */
    | { readonly type: "shell-over"; readonly id: string; readonly cut?: true }
    /** The screen as a person would see it, after a `look`. */
    | { readonly type: "screen"; readonly screen: Screen }
    /** This program was stopped, or asleep with the machine, for so many milliseconds. */
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
   * `init` is the helper's description of the session, for an `initialize`. A reply that comes before the description has
   * `isUndescribed`, and is followed by a second one.
   */
  | { readonly response: JsonObject; readonly init?: JsonObject; readonly isUndescribed?: true }
  /** `model` is the model in force, if another one could not be chosen. */
  | { readonly error: string; readonly errorCode?: string; readonly model?: string }
  | { readonly failure: string };

/** A way in which a structured answer does not fit its schema. */
export interface OutputProblem {
  /** The place and what is asked for there. */
  readonly text: string;
  /** What was found there, as the rest of the sentence. */
  readonly found?: string;
}

/** A part of what the API streams: that it is asked, what it says of limits, an event, and that nothing more comes. */
export type StreamedPart =
  | { readonly kind: "request"; readonly offer?: RequestOffer }
  /** Nothing is said where a limit is used up. */
  | { readonly kind: "limits"; readonly limits?: HeardLimits }
  | { readonly kind: "event"; readonly event: JsonObject }
  | { readonly kind: "end" };

/** What the first request of a child offers the model. */
export interface RequestOffer {
  /** Names of tools. */
  readonly tools: readonly string[];
  /** Whether it asks for fast mode. */
  readonly fast: boolean;
}

/** What the API says of a subscription's limits with an answer, and when that was. */
export interface HeardLimits {
  /** The headers that are about them, by their names without what all of these begin with. */
  readonly headers: Readonly<Record<string, string>>;
  /** In seconds since the epoch. */
  readonly now: number;
}

/** A hook's payload: an object of Claude Code's making, so nothing about its fields is certain. */
export type HookPayload = Readonly<Record<string, unknown>>;

/** A subagent, as Claude Code notes it beside its transcript. */
export interface Subagent {
  readonly agentId: string;
  /** The call that started it, as its note says; that of a skill that runs as one says none. */
  readonly toolUseId?: string;
  /** Whether a skill runs as one that the turn does not wait for. */
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
  /** How many more than the first request there may be. */
  readonly maxRetries: number;
  /** The HTTP status; null when there was no response. */
  readonly status: number | null;
}

/** That a request to the API failed and is made again. */
export interface ApiRetry extends ApiFault {
  /** Milliseconds until the next request, rounded up to whole seconds: the screen shows no less. */
  readonly delayMs: number;
}

/** What a child leaves that has ended. */
export interface ChildRemains {
  /** What it cost, as `.claude.json` says; absent after SIGKILL. */
  readonly cost?: Cost;
  /** The version of the executable; absent where it names none, or where a transcript did. */
  readonly version?: string;
}

/**
 * Whether a hook tells that the turn has failed. That of an agent does not: the turn goes on without it, as it does when
 * the agent fails that makes the summary of a compaction (2.1.330).
 */
export function isTurnFailure(event: string, payload: HookPayload): boolean {
  return event === "StopFailure" && payload["agent_id"] === undefined;
}

/**
 * The deadlines a session sets for itself. These have a flag:
 *
 * - `timeout`: the wall clock, which nothing extends; of a turn where there may be many
 * - `start`: from the spawn to a usable prompt, extended by the first byte and by every answered dialog
 * - `delivery`: from there to the prompt being taken, extended by hooks, changes of status and the paste's echo
 * - `silence`: without any sign of life in a turn
 * - `drain`: from the announced end of the turn to the idle child
 * - `exit`: from the signal to the child's end
 *
 * The others are the machines' own, `init`, `shells`, `subagent`, `compaction`, `priced` and `beat` those of the frames; `background` runs
 * from the end of a turn to the end of the wait for tasks in the background, `renewal` from a change to the child that has it, `foreground` from the key that puts calls there,
 * `task` from a key in the list of them.
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
