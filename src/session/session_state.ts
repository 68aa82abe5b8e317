import type { Ending } from "./effect.ts";
import type { HookPayload } from "./input.ts";
import { ECHO_START, type EchoState } from "./paste.ts";
import type { Screen } from "./screen.ts";
import { SCANNER_START, type ScannerState } from "./terminal_scanner.ts";

/** What a session is told before it begins. */
export interface SessionOptions {
  /** How the prompt reaches the child: as its fd 0, or pasted into its input box. */
  readonly inject: "stdin" | "paste";
  /** The prompt. */
  readonly prompt: string;
  /** The child's terminal, in character cells. */
  readonly size: { readonly rows: number; readonly cols: number };
  /** The wall clock for the whole run, in milliseconds. */
  readonly timeoutMs: number;
  /** How long to wait for the turn to begin, in milliseconds. */
  readonly startTimeoutMs: number;
  /** Whether other Stop hooks than ours may exist: then Stop is the end only once the child is idle. */
  readonly otherStopHooks: boolean;
  /** Whether the session is a fork: 2.1.197 copies its history late, and loses all of it to an early SIGTERM. */
  readonly forked: boolean;
}

/**
 * Where a session stands.
 *
 * - `starting`: the child was started, no sign of a turn yet
 * - `pasted`: the prompt was pasted, its echo is awaited
 * - `entered`: Enter was pressed, UserPromptSubmit is awaited
 * - `working`: the turn is under way
 * - `settling`: Stop came, the child's idle status is awaited
 * - `ending`: the ending is known, the child has been told to go
 * - `ended`: the child is gone
 */
export type Phase = "starting" | "pasted" | "entered" | "working" | "settling" | "ending" | "ended";

/** Everything a session remembers between two inputs. */
export interface SessionState {
  readonly options: SessionOptions;
  readonly phase: Phase;
  readonly scanner: ScannerState;
  readonly echo: EchoState;
  /** Whether the child has written anything. */
  readonly heard: boolean;
  /** The child's last status, once its status file exists. */
  readonly status?: { readonly status: string; readonly waitingFor?: string };
  /** Whether the transcript holds a prompt of this run. */
  readonly prompted: boolean;
  /** The last screen looked at, and since when it has looked like that. */
  readonly screen?: { readonly screen: Screen; readonly text: string; readonly since: number };
  /** Keys pressed in dialogs so far. */
  readonly dialogKeys: number;
  /** Whether the transcript file holds a prompt of this run. */
  readonly recorded: boolean;
  /** The Stop that will be the end once the child is idle. */
  readonly stop?: HookPayload;
  /** The StopFailure that will be the end once the child is idle. */
  readonly failure?: HookPayload;
  /** Whether the last Stop named tasks still running in the background. */
  readonly background: boolean;
  readonly ending?: Ending;
  /** How often the child has been told to go. */
  readonly kills: number;
}

/** The session before its first input. */
export function startSession(options: SessionOptions): SessionState {
  return {
    options,
    phase: "starting",
    scanner: SCANNER_START,
    echo: ECHO_START,
    heard: false,
    prompted: false,
    recorded: false,
    dialogKeys: 0,
    background: false,
    kills: 0,
  };
}
