import type { StopSignals } from "../../driver/stop_signals.ts";
import type { UserTerminal } from "../../driver/user_terminal.ts";
import type { holdConversation, HoldOptions } from "../../library/hold_conversation.ts";
import { currentFolder } from "../../run/facts/this_process.ts";
import { callerEnvironment, type Environment } from "../../sandbox/environment.ts";
import type { Outlets } from "../report/outlets.ts";
import { Teardown } from "../../run/teardown.ts";

/** What a run has of whoever started it: this program's own, or what another one has handed over. */
export interface Invocation {
  readonly env: () => Environment;
  /**
   * The working directory.
   *
   * @throws {CliError} when there is none to work in
   */
  readonly cwd: () => string;
  /** Where the run is printed, and what is to be told of it is told. */
  readonly outlets: Outlets;
  readonly signals: StopSignals;
  /** The fd on which a caller speaks. */
  readonly stdin: number;
  /** Which of the standard streams are terminals. */
  readonly isTerminal: {
    readonly stdin: boolean;
    readonly stdout: boolean;
    readonly stderr: boolean;
  };
  /** When it began, as `performance.now()` tells time: `--timeout` counts from there. */
  readonly startedAt: number;
  /** What was handed over; absent for a run of this program's own, whose every mistake is the end of the program. */
  readonly handedOver?: Handover;
}

/** How a run is carried out that another program has handed over. */
export interface Handover {
  readonly terminal: UserTerminal;
  readonly hold: typeof holdConversation;
  /**
   * To be awaited before anything is printed or reaches Claude Code: from then on the other program does not carry it out
   * itself any more.
   *
   * @throws when it does so already, or is gone
   */
  readonly commit: () => Promise<void>;
  /** Whether that has been done. */
  readonly isCommitted: () => boolean;
  /** Takes what of it goes on when the other program need not wait any more. */
  readonly leave: (rest: Promise<unknown>) => void;
  /** Takes a sentence that is told by then, which concerns whoever runs the server. */
  readonly tell: (text: string) => void;
  /** The process of the other program. */
  readonly pid: number;
}

/** When this program began, as `performance.now()` tells time. */
const START_OF_PROGRAM = 0;

/** The run that this program was started for. */
export function ownInvocation(
  { outlets, signals }: Pick<Invocation, "outlets" | "signals">,
): Invocation {
  return {
    env: callerEnvironment,
    cwd: currentFolder,
    outlets,
    signals,
    stdin: 0,
    isTerminal: {
      stdin: Deno.stdin.isTerminal(),
      stdout: Deno.stdout.isTerminal(),
      stderr: Deno.stderr.isTerminal(),
    },
    startedAt: START_OF_PROGRAM,
  };
}

/** What of a conversation's options hangs on whether anybody waits for it still. */
type WaitedFor = Required<Pick<HoldOptions, "teardown" | "onWhole" | "warn" | "trace">>;

/** Holds a conversation, with these in the place of its own. */
export type HoldRun = (
  options: Omit<WaitedFor, "onWhole"> & Partial<WaitedFor>,
) => Promise<number>;

/**
 * Has a run that was handed over be over before its last Claude Code is: as soon as all is said, and what that leaves is
 * at home. The rest of it goes on in the server.
 *
 * @param handedOver the run; absent for one of this program's own, which ends with its Claude Code
 * @returns the exit code
 */
export async function lettingGo(
  handedOver: Handover | undefined,
  { hold, teardown, warn, trace }: Pick<HoldOptions, "warn" | "trace"> & {
    readonly teardown: Teardown;
    readonly hold: HoldRun;
  },
): Promise<number> {
  if (handedOver === undefined) return await hold({ teardown, warn, trace });
  /** What tears down what goes on once nobody waits for it any more. */
  let rest: Teardown | undefined;
  const { promise: whole, resolve: letGo } = Promise.withResolvers<number>();
  const held = hold({
    teardown: {
      own: (run) => (rest ?? teardown).own(run),
      keep: (save) => (rest ?? teardown).keep(save),
      childEnded: () => (rest ?? teardown).childEnded(),
      run: () => (rest ?? teardown).run(),
    },
    onWhole: (say) => {
      if (!teardown.bringHome()) return;
      trace("whole: its Claude Code ends by itself");
      rest = new Teardown({ warn: handedOver.tell });
      teardown.passTo(rest);
      letGo(say());
    },
    warn: (text) => rest === undefined ? warn(text) : handedOver.tell(text),
    trace: (text) => {
      if (rest === undefined) trace(text);
    },
  });
  const exitCode = await Promise.race([held, whole]);
  if (rest !== undefined) handedOver.leave(held.finally(rest[Symbol.dispose].bind(rest)));
  return exitCode;
}
