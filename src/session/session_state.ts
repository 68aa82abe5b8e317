import type { Ending } from "./effect.ts";
import type { Exit, HookPayload } from "./input.ts";
import type { Limits } from "./limits.ts";
import { ECHO_START, type EchoState } from "./paste.ts";
import type { Screen } from "./screen.ts";
import { SCANNER_START, type ScannerState } from "./terminal_scanner.ts";

/**
 * How a prompt reaches the child:
 *
 * - `stdin`: as its fd 0
 * - `paste`: pasted into its input box
 * - `rendezvous`: by the socket on which a Claude Code in the background takes its user's replies
 */
export type WayIn = "stdin" | "paste" | "rendezvous";

/** What a session is told before it begins. */
export interface SessionOptions extends Limits {
  /** How the prompt reaches the child. */
  readonly inject: WayIn;
  /** The prompt. */
  readonly prompt: string;
  /** The child's terminal, in character cells. */
  readonly size: { readonly rows: number; readonly cols: number };
  /** How long to wait for tasks in the background, in milliseconds; 0 for no limit, absent as `claude -p` waits. */
  readonly backgroundCeilingMs?: number;
  /** Most requests to the model; absent for no limit. */
  readonly maxTurns?: number;
  /** How many MCP servers the first request waits for at least; absent for none. */
  readonly mcpServers?: number;
  /** Whether other Stop hooks than ours may exist: then Stop is the end only once the child is idle. */
  readonly otherStopHooks: boolean;
}

/**
 * Where a session stands.
 *
 * - `starting`: the child was started, no sign of a turn yet
 * - `pasted`: the prompt was pasted, its echo is awaited
 * - `entered`: Enter was pressed or the prompt sent to the socket, UserPromptSubmit is awaited
 * - `working`: the turn is under way
 * - `settling`: Stop came, the child's idle status is awaited
 * - `interrupting`: Escape was pressed to end the turn, the child's idle status is awaited
 * - `ending`: the ending is known, the child has been told to go
 * - `reading`: the child is gone, the rest of its transcript is awaited
 * - `ended`: nothing more will happen
 */
export type Phase =
  | OpenPhase
  | { readonly phase: "interrupting" | "ending" | "reading" | "ended"; readonly ending: Ending };

/** A phase in which the ending is not known yet. */
interface OpenPhase {
  readonly phase: "starting" | "pasted" | "entered" | "working" | "settling";
  readonly ending?: undefined;
}

/** A session whose ending is not known yet. */
export type OpenSession = SessionMemory & OpenPhase;

/** Everything a session remembers between two inputs. */
export type SessionState = SessionMemory & Phase;

/** What it remembers in every phase. */
export interface SessionMemory {
  readonly options: SessionOptions;
  readonly scanner: ScannerState;
  readonly echo: EchoState;
  /** The size of the child's terminal, in character cells. */
  readonly size: { readonly rows: number; readonly cols: number };
  /** Whether the child has written anything. */
  readonly heard: boolean;
  /** The SessionStart hook that holds the first request back, until it is answered. */
  readonly held?: string;
  /** How many requests to the model the turn has made whose tools have returned. */
  readonly requests: number;
  /** Whether the child has shown that it can take a prompt. */
  readonly ready: boolean;
  /** Whether the child's rendezvous socket takes a prompt. */
  readonly reachable: boolean;
  /** When there was a sign of life last. */
  readonly lifeAt: number;
  /** Ids of the tools that run. */
  readonly tools: ReadonlySet<string>;
  /** Whether the transcript says that the turn is complete, and nothing happened since. */
  readonly completed: boolean;
  /** The child's last status, once its status file exists. */
  readonly status?: { readonly status: string; readonly waitingFor?: string };
  /** The version of Claude Code, once its status file or its transcript has told it. */
  readonly version?: string;
  /** Whether the transcript holds a prompt of this run. */
  readonly prompted: boolean;
  /** The last screen looked at, what it asks, and since when it has asked that. */
  readonly screen?: { readonly screen: Screen; readonly asks: string; readonly since: number };
  /** Keys pressed in dialogs so far. */
  readonly dialogKeys: number;
  /** When the last of them was pressed. */
  readonly keyAt?: number;
  /** Whether the transcript file holds a prompt of this run. */
  readonly recorded: boolean;
  /** Whether it holds an answer since. */
  readonly answered: boolean;
  /** Whether it holds the output of the command that the prompt is, which Claude Code carries out by itself. */
  readonly carriedOut?: true;
  /** The assistant's last text in it. */
  readonly answer: string;
  /** The Stop that will be the end once the child is idle. */
  readonly stop?: HookPayload;
  /** The StopFailure that will be the end once the child is idle. */
  readonly failure?: HookPayload;
  /** Whether a hook of ours has stopped the turn at its limit, which will be the end once the child is idle. */
  readonly limited?: true;
  /** Whether the last Stop named tasks still running in the background. */
  readonly background: boolean;
  /** The last Stop that did. */
  readonly backgroundStop?: HookPayload;
  /** Since when nothing but shells has been waited for. */
  readonly shellsOnlySince?: number;
  /** The longest time that a call gave its shell in the background, in milliseconds. */
  readonly shellLimitMs?: number;
  readonly exit?: Exit;
  /** How often the child has been told to go, reminders apart. */
  readonly kills: number;
  /** How much longer the child may take to go after the next reminder, in milliseconds. */
  readonly exitLeftMs: number;
}

/** The session before its first input. */
export function startSession(options: SessionOptions): SessionState {
  return {
    options,
    phase: "starting",
    scanner: SCANNER_START,
    echo: ECHO_START,
    size: options.size,
    heard: false,
    requests: 0,
    ready: false,
    reachable: false,
    lifeAt: 0,
    tools: new Set(),
    completed: false,
    prompted: false,
    recorded: false,
    answered: false,
    answer: "",
    dialogKeys: 0,
    background: false,
    kills: 0,
    exitLeftMs: 0,
  };
}
