import type { RunReport } from "../../run/perform_run.ts";
import { fdStat } from "../../../ffi/descriptors/fd.ts";
import { Outlet } from "../../../ffi/descriptors/outlet.ts";
import { LibcUnavailableError } from "../../../ffi/platform.ts";
import { makeVisible, outputError, print } from "./print.ts";
import { EXIT } from "../../cli_error.ts";
import { SIGNALS } from "../../../ffi/processes/signals.ts";
import { awaitReaders } from "../../run/waits.ts";
import type { StopSignals } from "../../driver/stop_signals.ts";
import { problemText } from "./report_error.ts";
import type { RunRequest } from "../arguments/run_request.ts";
import type { Redactor } from "../../recording/redaction/redact.ts";
import type { PreparedRun } from "../../run/prepare_run.ts";
import type { Environment } from "../../sandbox/environment.ts";

const OWN_FDS = { stdout: 1, stderr: 2 } as const;

/** The number of pending bytes of an unread stderr above which further texts for it are dropped. */
const MAX_PENDING_BYTES = 1024 * 1024;

/**
 * stdout and stderr of this program, or of another one. Writing never waits for the reader, so that signals and time
 * limits still work. Unread text is buffered. The buffer of stdout has no limit, because it never exceeds the output of
 * the run.
 *
 * If both are the same terminal, pipe or socket, one outlet serves both, which keeps the order.
 */
export class Outlets implements Disposable {
  /** stdout and stderr are both undefined if libc cannot be loaded. Then nothing runs, and only errors are printed. */
  readonly stdout: Outlet | undefined;
  readonly stderr: Outlet | undefined;

  readonly stderrFd: number;
  /** Called before each text. */
  onText: (stream: "stdout" | "stderr") => void = () => {};
  /** Whether both are the same terminal. */
  readonly #shareTerminal: boolean = false;
  /** Whether the last text on that terminal has not ended its line. */
  #isLineOpen = false;
  #isSilent = false;

  /** @param fds open in this process; by default its own stdout and stderr */
  constructor({ stdout, stderr }: { readonly stdout: number; readonly stderr: number } = OWN_FDS) {
    this.stderrFd = stderr;
    try {
      this.stdout = new Outlet(stdout);
      // A file that was opened twice has two positions.
      const { kind, id } = fdStat(stdout);
      const isSame = kind !== "file" && id === fdStat(stderr).id;
      this.stderr = isSame ? this.stdout : new Outlet(stderr);
      this.#shareTerminal = isSame && kind === "terminal";
    } catch (error) {
      if (!(error instanceof LibcUnavailableError)) throw error;
    }
  }

  /** Both outlets, or the one that serves both. */
  get all(): readonly Outlet[] {
    return [...new Set([this.stdout, this.stderr])].filter((outlet) => outlet !== undefined);
  }

  /** Prints a text on stdout, unchanged. */
  print(text: string): void {
    if (this.#isSilent || text === "") return;
    this.onText("stdout");
    if (this.stdout === undefined) print(Deno.stdout, text);
    else this.stdout.write(text);
    this.#isLineOpen = this.#shareTerminal && !text.endsWith("\n");
  }

  /** Prints lines for a person on stderr. At a terminal they begin on a new line. Errors of stderr are ignored. */
  notify(text: string): void {
    if (!this.#isSilent) this.notifyAlways(text);
  }

  /** Like {@linkcode notify}, also after {@linkcode silence}: for files that a run leaves on the disk. */
  notifyAlways(lines: string): void {
    this.onText("stderr");
    const text = this.#isLineOpen ? `\n${lines}` : lines;
    this.#isLineOpen = false;
    if (this.stderr === undefined) print(Deno.stderr, text);
    else if (this.stderr.pending < MAX_PENDING_BYTES || this.stderr === this.stdout) {
      this.stderr.write(makeVisible(text));
    }
  }

  /** Drops all unread output, and ignores further output. */
  silence(): void {
    this.#isSilent = true;
    for (const outlet of this.all) outlet.drop();
  }

  /**
   * Raises SIGPIPE once the reader of stdout has disconnected. A full disk does not stop the run, because its
   * transcript still has to be saved.
   */
  stopWhenUnread(signals: StopSignals): void {
    const { stdout } = this;
    if (stdout === undefined) return;
    stdout.onEnd = () => {
      if (stdout.end === "unread") signals.raise("SIGPIPE");
    };
  }

  [Symbol.dispose](): void {
    this.stdout?.[Symbol.dispose]();
    this.stderr?.[Symbol.dispose]();
  }
}

/**
 * Waits until stdout has been read, and returns the exit code of the program: the given one, unless output was lost. An
 * unread stderr changes nothing. After a signal, the program waits only while the reader continues to read.
 *
 * @param options.until when to abandon a reader that reads nothing, on the clock of `performance.now()`
 * @param options.signals end the wait earlier
 */
export async function awaitDelivery(
  exitCode: number,
  { outlets, until, signals }: {
    readonly outlets: Outlets;
    readonly until: number;
    readonly signals: StopSignals;
  },
): Promise<number> {
  const { stdout, stderr } = outlets;
  if (stdout === undefined || stderr === undefined) return exitCode;
  const readersOfStderr = stderr === stdout ? [] : [{ outlet: stderr, until: 0 }];
  const reader = { outlet: stdout, until: exitCode > EXIT.signal ? 0 : until };
  const signal = await awaitReaders([reader, ...readersOfStderr], signals);
  const lost = stdout.pending;
  const isStderrRead = stderr.pending === 0;
  if (lost > 0) {
    stdout.drop();
    outlets.notify(problemText({
      message: `Cannot deliver the output: nobody reads it, and ${lost} bytes are lost`,
      suggestion: "Read stdout to its end, or give the reader more time with --timeout SECONDS",
    }));
  } else if (stdout.end !== undefined && stdout.end !== "unread") {
    outlets.notify(problemText(outputError(stdout.end.description)));
    exitCode = 2;
  }
  if (isStderrRead) await awaitReaders(readersOfStderr, signals);
  if (lost === 0 || exitCode !== 0) return exitCode;
  return signal === undefined ? EXIT.timedOut : EXIT.signal + SIGNALS[signal];
}

/** Prints the steps of a run on stderr, with `--trace`. Without it, `trace` and `tracePrepared` do nothing. */
export interface Tracer {
  readonly trace: (text: string) => void;
  /** Traces the command line of a run that is about to start. */
  readonly tracePrepared: (prepared: PreparedRun) => void;
  /** Loads the redactor of secrets, even without `--trace`. */
  readonly loadRedactor: () => Promise<Redactor>;
}

/** Creates a tracer, whose times count from this call. */
export async function createTracer(
  request: RunRequest,
  { env, outlets }: { readonly env: Environment; readonly outlets: Pick<Outlets, "notify"> },
): Promise<Tracer> {
  const startedAt = performance.now();
  const loadRedactor = async () => {
    const [{ createRedactor }, { readCredentials, replaceDescriptors }] = await Promise
      .all([
        import("../../recording/redaction/redact.ts"),
        import("../../sandbox/child/passed_credentials.ts"),
      ]);
    // Ignored here: the run itself reports unreadable credentials.
    await readCredentials(env).catch(() => {});
    return createRedactor({
      env: replaceDescriptors(env),
      args: [...request.forwarded, `--settings=${request.settings ?? ""}`],
    });
  };
  const redactor = request.trace ? await loadRedactor() : undefined;
  const trace = (text: string) => {
    if (redactor === undefined) return;
    const elapsed = (performance.now() - startedAt).toFixed(0).padStart(6);
    outlets.notify(`[${elapsed} ms] ${redactor.text(text)}\n`);
  };
  return {
    trace,
    tracePrepared: ({ sandbox, binary, args }) => {
      if (redactor === undefined) return;
      trace(`sandbox ${sandbox.path}`);
      trace(`${binary} ${redactor.commandLine(args)}`);
    },
    loadRedactor,
  };
}

/** Prints the problem of a run or turn on stderr, with the child's last screen if the report has one. */
export async function reportProblem(
  { problem, screen, exitCode }: Pick<RunReport, "problem" | "screen" | "exitCode">,
  { label, quiet, outlets, loadRedactor }: {
    readonly label: string;
    readonly quiet: boolean;
    readonly outlets: Outlets;
    readonly loadRedactor: () => Promise<Redactor>;
  },
): Promise<void> {
  // If the reader of a run has disconnected, the run ends as quietly as a program that SIGPIPE ends.
  if (problem === undefined || exitCode === EXIT.abandoned || (quiet && exitCode === 0)) return;
  outlets.notify(problemText(problem, { label }));
  if (screen === undefined) return;
  const { visibleScreen } = await import("../../recording/redaction/visible_text.ts");
  const rows = visibleScreen(screen, await loadRedactor());
  if (rows.length === 0) return;
  outlets.notify(`  The last screen:\n${rows.map((row) => `  | ${row}\n`).join("")}`);
}
