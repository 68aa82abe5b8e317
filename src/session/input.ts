import type { StopSignal } from "../wire/stop_signal.ts";
import type { DeadlineName } from "./deadline_names.ts";
import type { Screen } from "./screen.ts";

/** How a process ended, as `waitpid(2)` tells it. */
export type Exit =
  | { readonly kind: "exited"; readonly code: number }
  | { readonly kind: "signaled"; readonly signal: number };

/**
 * Whatever the world tells a run. `at` is milliseconds on a clock that only goes forward; it is part of the
 * input, so that a recorded run replays with its own times.
 */
export type Input =
  & { readonly at: number }
  & (
    /** The child is running. */
    | { readonly type: "spawned" }
    /** Bytes the child wrote to its terminal. */
    | { readonly type: "terminal"; readonly bytes: Uint8Array }
    /** A hook of ours ran; `payload` is what Claude Code gave it. */
    | { readonly type: "hook"; readonly event: string; readonly payload: HookPayload }
    /** Hooks of ours have something to tell, but nowhere to put it: their folder is full, or gone. */
    | { readonly type: "unheard" }
    /** The child's rendezvous socket takes a prompt, if the session was told to send it there. */
    | { readonly type: "reachable" }
    /** The child's own status file was written (`sessions/<pid>.json`: idle, busy, waiting). */
    | { readonly type: "status"; readonly status: string; readonly waitingFor?: string }
    /** A line was added to the transcript of this session. */
    | { readonly type: "transcript"; readonly entry: TranscriptSign }
    /** The screen as a person would see it, after a `look`. */
    | { readonly type: "screen"; readonly screen: Screen }
    | { readonly type: "signal"; readonly signal: StopSignal }
    /** The user's terminal has another size now, in character cells. */
    | {
      readonly type: "resized";
      readonly size: { readonly rows: number; readonly cols: number };
    }
    | { readonly type: "deadline"; readonly name: DeadlineName }
    /** The child ended and has been reaped; its terminal and hooks have been read to their end. */
    | { readonly type: "exit"; readonly exit: Exit }
  );

/** A hook's payload: an object of Claude Code's making, so nothing about its fields is certain. */
export type HookPayload = Readonly<Record<string, unknown>>;

/** What the session needs to know of a transcript line. */
export interface TranscriptSign {
  /** The line's `type`. */
  readonly type: string;
  /** The line's `subtype`, which `system` lines have. */
  readonly subtype?: string;
  /** Whether the line is a prompt: a `user` line whose content is not a tool's result. */
  readonly prompt: boolean;
  /** The text of an `assistant` line; absent for none. */
  readonly text?: string;
  /** How the turn ended, on a line that says so. */
  readonly end?: "completed" | "interrupted";
  /** The version of Claude Code, on a line that says how a turn ended. */
  readonly version?: string;
  /** The longest time, in milliseconds, that calls on the line give a shell in the background; absent for none. */
  readonly shellLimitMs?: number;
  /** Ids of the tools that the line calls, or whose results it holds; absent for none. */
  readonly called?: readonly string[];
  readonly returned?: readonly string[];
}
