import type { Input } from "../../conversation/control/input.ts";
import type { StopSignals } from "../../driver/stop_signals.ts";
import type { UserTerminal } from "../../driver/user_terminal.ts";
import type { holdConversation, HoldOptions } from "../../library/hold_conversation.ts";
import { currentFolder } from "../../run/facts/this_process.ts";
import { callerEnvironment, type Environment } from "../../sandbox/environment.ts";
import type { Outlets } from "../report/outlets.ts";
import { Teardown } from "../../run/teardown.ts";

/** The surroundings of a run: those of this program, or of another program that delegated the run to this server. */
export interface Invocation {
  readonly env: () => Environment;
  /**
   * Returns the working directory.
   *
   * @throws {CliError} when the directory was removed
   */
  readonly cwd: () => string;
  readonly outlets: Outlets;
  readonly signals: StopSignals;
  /** The fd from which the caller's input is read. */
  readonly stdin: number;
  /** Which of the standard streams are terminals. */
  readonly isTerminal: {
    readonly stdin: boolean;
    readonly stdout: boolean;
    readonly stderr: boolean;
  };
  /** When the run began, on the clock of `performance.now()`. `--timeout` counts from there. */
  readonly startedAt: number;
  /** Observes a run of this program; `trace` prints a line of `--trace`. */
  readonly onInput?: ((input: Input, trace: (text: string) => void) => void) | undefined;
  /** Present only in the server. A bug of this program ends a run in its own process, but not the server. */
  readonly delegation?: Delegation;
}

/** How the server carries out the run of another program, its client. */
export interface Delegation {
  /** The client's terminal. */
  readonly terminal: UserTerminal;
  readonly hold: typeof holdConversation;
  /**
   * Must be awaited before output is printed or input reaches Claude Code. Before it resolves, the client may still
   * carry out the run itself.
   *
   * @throws when the client already does so, or has disconnected
   */
  readonly commit: () => Promise<void>;
  readonly isCommitted: () => boolean;
  /** Takes work that continues after the client has stopped waiting. */
  readonly continueInBackground: (rest: Promise<unknown>) => void;
  /** Logs a sentence about background work, for the owner of the server. */
  readonly log: (text: string) => void;
  /** The process of the client. */
  readonly pid: number;
}

/** `performance.now()` counts from the start of this program. */
const START_OF_PROGRAM = 0;

/** Returns the surroundings of a run of this program itself. */
export function ownInvocation(
  { outlets, signals, onInput }: Pick<Invocation, "outlets" | "signals" | "onInput">,
): Invocation {
  return {
    env: callerEnvironment,
    cwd: currentFolder,
    outlets,
    signals,
    onInput,
    stdin: 0,
    isTerminal: {
      stdin: Deno.stdin.isTerminal(),
      stdout: Deno.stdout.isTerminal(),
      stderr: Deno.stderr.isTerminal(),
    },
    startedAt: START_OF_PROGRAM,
  };
}

/** Options of a conversation that change when its client stops waiting. */
type ChangingOptions = Required<
  Pick<HoldOptions, "teardown" | "onOutputComplete" | "warn" | "trace">
>;

/** Holds a conversation with these options. */
export type HoldRun = (
  options: Omit<ChangingOptions, "onOutputComplete"> & Partial<ChangingOptions>,
) => Promise<number>;

/**
 * Holds a conversation and returns its exit code. A delegated run returns before its last child has exited: as soon as
 * its output is complete and its transcript is saved. The server does the rest in the background.
 *
 * @param delegation undefined for a run of this program, which ends together with its child
 */
export async function returnWhenComplete(
  delegation: Delegation | undefined,
  { hold, teardown, warn, trace }: Pick<HoldOptions, "warn" | "trace"> & {
    readonly teardown: Teardown;
    readonly hold: HoldRun;
  },
): Promise<number> {
  if (delegation === undefined) return await hold({ teardown, warn, trace });
  /** Tears down in the background; undefined while the client waits. */
  let background: Teardown | undefined;
  const { promise: completed, resolve: complete } = Promise.withResolvers<number>();
  const ended = hold({
    teardown: {
      own: (run) => (background ?? teardown).own(run),
      saveAtEnd: (save) => (background ?? teardown).saveAtEnd(save),
      childEnded: () => (background ?? teardown).childEnded(),
      run: () => (background ?? teardown).run(),
    },
    onOutputComplete: (exitCode) => {
      if (!teardown.bringHome()) return;
      trace("whole: its Claude Code ends by itself");
      background = new Teardown({ warn: delegation.log });
      teardown.passTo(background);
      complete(exitCode());
    },
    warn: (text) => background === undefined ? warn(text) : delegation.log(text),
    trace: (text) => {
      if (background === undefined) trace(text);
    },
  });
  const exitCode = await Promise.race([ended, completed]);
  if (background !== undefined) {
    delegation.continueInBackground(ended.finally(background[Symbol.dispose].bind(background)));
  }
  return exitCode;
}
