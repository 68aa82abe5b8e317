import type { Screen } from "./screen.ts";

/** How a process ended, as `waitpid(2)` tells it. */
export type Exit =
  | { readonly kind: "exited"; readonly code: number }
  | { readonly kind: "signaled"; readonly signal: number };

/** The deadlines a session sets for itself; `timeout` is the user's wall clock, the others are the machine's own. */
export type DeadlineName =
  | "timeout"
  | "start"
  | "look"
  | "echo"
  | "enter"
  | "idle"
  | "settle"
  | "exit";

/** The signals that ask a run to stop. */
export type StopSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

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
    /** The child's own status file was written (`sessions/<pid>.json`: idle, busy, waiting). */
    | { readonly type: "status"; readonly status: string; readonly waitingFor?: string }
    /** A line was added to the transcript of this session. */
    | { readonly type: "transcript"; readonly entry: TranscriptSign }
    /** The screen as a person would see it, after a `look`. */
    | { readonly type: "screen"; readonly screen: Screen }
    | { readonly type: "signal"; readonly signal: StopSignal }
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
}
