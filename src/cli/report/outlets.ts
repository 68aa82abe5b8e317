import type { RunReport } from "../../run/perform_run.ts";
import { fdStat } from "../../../ffi/descriptors/fd.ts";
import { Outlet } from "../../../ffi/descriptors/outlet.ts";
import { LibcUnavailableError } from "../../../ffi/platform.ts";
import { print, visible } from "./print.ts";
import { SIGNALS } from "../../../ffi/processes/signals.ts";
import { awaitReaders } from "../../run/waits.ts";
import type { StopSignals } from "../../driver/stop_signals.ts";
import { problemText } from "./report_error.ts";
import type { RunRequest } from "../arguments/run_request.ts";
import type { Redactor } from "../../recording/redaction/redact.ts";
import type { PreparedRun } from "../../run/prepare_run.ts";
import type { Environment } from "../../sandbox/environment.ts";

/** stdout and stderr of this program. */
const OWN = { stdout: 1, stderr: 2 } as const;

/** A stderr that nobody reads is told nothing more once it owes so many bytes. */
const MOST_UNTOLD = 1024 * 1024;

/**
 * stdout and stderr of this program, or of another one, written to without ever waiting for who reads them, so that signals and limits
 * go on. What is not read yet is kept: of stdout everything, which is no more than the run has said.
 *
 * Where both are one terminal, pipe or socket, one outlet serves both, and all stays in order.
 */
export class Outlets implements Disposable {
  /** Both absent where libc cannot be used: then nothing runs, and little is printed. */
  readonly stdout: Outlet | undefined;
  readonly stderr: Outlet | undefined;

  /** The fd of stderr. */
  readonly stderrFd: number;
  #isSilent = false;

  /** @param fds of this process, which are its own unless they are somebody else's */
  constructor({ stdout, stderr }: { readonly stdout: number; readonly stderr: number } = OWN) {
    this.stderrFd = stderr;
    try {
      this.stdout = new Outlet(stdout);
      // Two files on one path are written to at places of their own.
      const { kind, id } = fdStat(stdout);
      const isOne = kind !== "file" && id === fdStat(stderr).id;
      this.stderr = isOne ? this.stdout : new Outlet(stderr);
    } catch (error) {
      if (!(error instanceof LibcUnavailableError)) throw error;
    }
  }

  /** Both, or the one that serves both. */
  get all(): readonly Outlet[] {
    return [...new Set([this.stdout, this.stderr])].filter((outlet) => outlet !== undefined);
  }

  /** Prints a text on stdout, as it is. */
  print(text: string): void {
    if (this.#isSilent) return;
    if (this.stdout === undefined) print(Deno.stdout, text);
    else this.stdout.write(text);
  }

  /** Tells a person something on stderr; a stderr that takes nothing is none of the run's business. */
  tell(text: string): void {
    if (!this.#isSilent) this.tellLeft(text);
  }

  /** Tells a person what a run leaves behind, also where nothing else is said any more. */
  tellLeft(text: string): void {
    if (this.stderr === undefined) print(Deno.stderr, text);
    else if (this.stderr.pending < MOST_UNTOLD || this.stderr === this.stdout) {
      this.stderr.write(visible(text));
    }
  }

  /** From now on nothing is said but what is left behind, and nothing of what nobody has read yet. */
  silence(): void {
    this.#isSilent = true;
    for (const outlet of this.all) outlet.drop();
  }

  [Symbol.dispose](): void {
    this.stdout?.[Symbol.dispose]();
    this.stderr?.[Symbol.dispose]();
  }
}

/** Exit code of a program that could not say what it had to. */
const UNWRITTEN = 2;
/** Exit codes when the reader took too long, and above which those of signals begin. */
const TIMED_OUT = 124;
const SIGNALLED = 128;

/**
 * Waits until stdout has been read, and says with what exit code the program ends: with its own, unless some of its
 * output is lost. A stderr that nobody reads changes nothing. Whoever was signalled waits no longer than for a reader
 * that reads.
 *
 * @param exitCode of what was done
 * @param options.until how long a reader that takes nothing is waited for, as `performance.now()` tells time
 * @param options.signals what ends the wait before that
 */
export async function delivered(
  exitCode: number,
  { outlets, until, signals }: {
    readonly outlets: Outlets;
    readonly until: number;
    readonly signals: StopSignals;
  },
): Promise<number> {
  const { stdout, stderr } = outlets;
  if (stdout === undefined || stderr === undefined) return exitCode;
  const told = stderr === stdout ? [] : [{ outlet: stderr, until: 0 }];
  const patience = exitCode > SIGNALLED ? 0 : until;
  const signal = await awaitReaders([{ outlet: stdout, until: patience }, ...told], signals);
  const lost = stdout.pending;
  const isHeard = stderr.pending === 0;
  if (lost > 0) {
    stdout.drop();
    outlets.tell(problemText({
      message: `Cannot deliver the output: nobody reads it, and ${lost} bytes are lost`,
      suggestion: "Read stdout to its end, or give the reader more time with --timeout SECONDS",
    }));
  } else if (stdout.end !== undefined && stdout.end !== "unread") {
    outlets.tell(problemText({
      message: `Cannot write the output: ${stdout.end.description}`,
      suggestion: "Send stdout to a file on a disk with room, or to a program that reads it",
    }));
    exitCode = UNWRITTEN;
  }
  if (isHeard) await awaitReaders(told, signals);
  if (lost === 0 || exitCode !== 0) return exitCode;
  return signal === undefined ? TIMED_OUT : SIGNALLED + SIGNALS[signal];
}

/** Says under `--trace` what a run does, and nothing without. */
export interface Tracer {
  /** Takes a line. */
  readonly trace: (text: string) => void;
  /** Takes a run that is about to be started. */
  readonly prepared: (prepared: PreparedRun) => void;
  /** What takes secrets out of a text that is told. */
  readonly loadRedactor: () => Promise<Redactor>;
}

/**
 * Begins to count the time.
 *
 * @param options.tell takes a line for stderr, with a new line at its end
 */
export async function createTracer(
  request: RunRequest,
  { env, tell }: { readonly env: Environment; readonly tell: (text: string) => void },
): Promise<Tracer> {
  const begunAt = performance.now();
  const loadRedactor = async () => {
    const { createRedactor } = await import("../../recording/redaction/redact.ts");
    const { readCredentials, withSecrets } = await import(
      "../../sandbox/child/passed_credentials.ts"
    );
    // A problem with them is reported by the run.
    await readCredentials(env).catch(() => {});
    return createRedactor({
      env: withSecrets(env),
      args: [...request.forwarded, `--settings=${request.settings ?? ""}`],
    });
  };
  const redactor = request.trace ? await loadRedactor() : undefined;
  const trace = (text: string) => {
    if (redactor === undefined) return;
    const at = (performance.now() - begunAt).toFixed(0).padStart(6);
    tell(`[${at} ms] ${redactor.text(text)}\n`);
  };
  return {
    trace,
    prepared: ({ sandbox, binary, args }) => {
      if (redactor === undefined) return;
      trace(`sandbox ${sandbox.path}`);
      trace(`${binary} ${redactor.commandLine(args)}`);
    },
    loadRedactor,
  };
}

/** Exit code of a run whose output nobody reads any more: it ends as quietly as a program that SIGPIPE ends. */
const ABANDONED = 141;

/** Tells a failure on stderr, with the last screen where it explains more than words. */
export async function tellProblem(
  { problem, screen, exitCode }: Pick<RunReport, "problem" | "screen" | "exitCode">,
  { label, quiet, outlets, loadRedactor }: {
    readonly label: string;
    readonly quiet: boolean;
    readonly outlets: Outlets;
    readonly loadRedactor: () => Promise<Redactor>;
  },
): Promise<void> {
  if (problem === undefined || exitCode === ABANDONED || (quiet && exitCode === 0)) return;
  outlets.tell(problemText(problem, { label }));
  if (screen === undefined) return;
  const { visibleScreen } = await import("../../recording/redaction/visible_text.ts");
  const rows = visibleScreen(screen, await loadRedactor());
  if (rows.length === 0) return;
  outlets.tell(`  The last screen:\n${rows.map((row) => `  | ${row}\n`).join("")}`);
}
