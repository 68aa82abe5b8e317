import type { Frame } from "../claude/wire/frame.ts";
import type { ResultFrame } from "../claude/wire/result_frame.ts";
import type { RunRequest } from "../cli/arguments/run_request.ts";
import { createRedactor } from "../recording/redaction/redact.ts";
import { visibleScreen } from "../recording/redaction/visible_text.ts";
import type { RunReport } from "../run/perform_run.ts";
import { withSecrets } from "../sandbox/child/passed_credentials.ts";
import type { Environment } from "../sandbox/environment.ts";
import { asCliError, CliError } from "../cli_error.ts";

/** What a run can be told beside its prompt. */
export interface RunOptions {
  /**
   * Flags, exactly as on the command line of `claude-print`: `["--model", "haiku", "--allowedTools", "Bash"]`.
   *
   * What says how a program reads and writes is refused by name: `--output-format`, `--input-file`, `--show` and
   * their like, and a prompt.
   */
  readonly args?: readonly string[];
  /** The working directory; that of the process by default. Relative paths in `args` begin here. */
  readonly cwd?: string;
  /**
   * The whole environment: where `claude` is looked for (`PATH`), the login (`HOME`, `CLAUDE_CONFIG_DIR`,
   * `ANTHROPIC_API_KEY`), the place for the private folder (`TMPDIR`). That of the process by default.
   */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Ends the run when it is aborted, as Ctrl-C would: the turn is stopped as a person stops it, and the result has the
   * text so far. A signal that is aborted before Claude Code was started makes `result` reject with its reason.
   */
  readonly signal?: AbortSignal;
}

/** A failure in words. */
export interface RunProblem {
  /** What failed and why, in one line. */
  readonly message: string;
  /** What to do about it, in one line. */
  readonly suggestion?: string;
}

/** What became of a run that was started. */
export interface RunResult {
  /** The answer; of a run that failed what there is of it, which may be nothing: "". */
  readonly text: string;
  /**
   * What the program would exit with: 0 for an answer, 1 if the assistant or the API failed, 2 if this library or its
   * surroundings did, 124 for a timeout, 130 when `signal` was aborted, 141 when nobody wanted the rest.
   */
  readonly exitCode: number;
  /** The last frame of the last turn, as `--output-format json` prints it. */
  readonly frame: ResultFrame;
  /** Why the exit code is not 0. */
  readonly problem?: RunProblem;
  /** What the terminal of Claude Code showed last, where that explains a failure: rows of visible text. */
  readonly screen?: readonly string[];
  /** What is worth knowing though the run did not fail of it, a sentence each. */
  readonly warnings: readonly string[];
}

/**
 * A run under way.
 *
 * Iterating over it gives the frames that `--output-format stream-json` prints, as they happen; those that nobody has
 * asked for yet wait. Each frame is given once, however many iterate. Leaving the loop early ends the run, and goes
 * on when nothing of it is left. So does the end of the scope with `await using`.
 *
 * A run goes its way whether or not anybody iterates or awaits its result.
 */
export interface Run extends AsyncIterable<Frame>, AsyncDisposable {
  /**
   * What became of the run, once nothing of it is left: no process, no folder.
   *
   * Failures of Claude Code, of the API and of this library are results. It rejects only when there was no run, with
   * a {@linkcode RunError} that says what to do, or with the reason of `signal`; and so does the iteration.
   */
  readonly result: Promise<RunResult>;
  /** The frames, each of them once. */
  [Symbol.asyncIterator](): AsyncIterator<Frame, undefined>;
  /** Ends the run, if it has not ended, and resolves when nothing of it is left. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** What a program is told of a run or a turn, without the secrets that a screen may show. */
export function createRunResult(
  report: Omit<RunReport, "unprinted">,
  { warnings, env, request }: {
    readonly warnings: readonly string[];
    readonly env: Environment;
    readonly request: Pick<RunRequest, "forwarded" | "settings">;
  },
): RunResult {
  const { result, exitCode, problem, screen } = report;
  const redactor = () =>
    createRedactor({
      env: withSecrets(env),
      args: [...request.forwarded, `--settings=${request.settings ?? ""}`],
    });
  return {
    text: result.result ?? "",
    exitCode,
    frame: result,
    ...(problem === undefined ? {} : { problem }),
    ...(screen === undefined ? {} : { screen: visibleScreen(screen, redactor()) }),
    warnings,
  };
}

/**
 * What kept a run from starting: a flag or a prompt that cannot be honoured, no Claude Code, no login, no folder to
 * work in; or a recording from being replayed.
 *
 * @example Tell what to do about it
 * ```ts
 * import { run, RunError } from "jsr:@claude-print/cli/library";
 *
 * try {
 *   await run("Hello", { args: ["--modle", "haiku"] }).result;
 * } catch (error) {
 *   if (!(error instanceof RunError)) throw error;
 *   console.error(error.message); // Cannot read the command line: unknown flag --modle
 *   console.error(error.suggestion); // Did you mean --model? "claude-print --help" lists all flags
 * }
 * ```
 */
export class RunError extends Error {
  /** The class by its name. */
  override readonly name = "RunError";
  /** The exit code that the program `claude-print` ends with for the same reason. */
  readonly exitCode: number;
  /** What to do about it, in one line. */
  readonly suggestion: string | undefined;

  /**
   * Makes an error; only {@linkcode run} has reason to.
   *
   * @param message names what failed and why, in one line
   * @param options.cause the error that gave rise to it
   */
  constructor(
    message: string,
    options: {
      readonly exitCode?: number;
      readonly suggestion?: string | undefined;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.exitCode = options.exitCode ?? 2;
    this.suggestion = options.suggestion;
  }
}

/** The error that a caller gets: what a user can act on becomes a `RunError`, anything else is passed on as it is. */
export function asRunError(thrown: unknown): unknown {
  if (thrown instanceof RunError) return thrown;
  const error = asCliError(thrown);
  if (!(error instanceof CliError)) return error;
  const { message, exitCode, suggestion } = error;
  return new RunError(message, { exitCode, suggestion, cause: error });
}

/** Frames on their way from a run to whoever asks for them, in order; none waits for the other. */
interface FrameQueue {
  /** Takes a frame. */
  readonly push: (frame: Frame) => void;
  /** Takes word that there are no more frames; what went wrong is told once, after the last of them. */
  readonly end: (failure?: { readonly error: unknown }) => void;
  /** Forgets the frames that nobody has asked for yet, and those to come. */
  readonly drop: () => void;
  /** The next frame, as soon as there is one. */
  readonly next: () => Promise<IteratorResult<Frame, undefined>>;
}

type Taker = PromiseWithResolvers<IteratorResult<Frame, undefined>>;

const DONE = { done: true, value: undefined } as const;

/** An empty queue. */
export function createFrameQueue(): FrameQueue {
  let frames: Frame[] = [];
  const takers: Taker[] = [];
  let failure: { readonly error: unknown } | undefined;
  let ended = false;
  let dropped = false;
  return {
    push: (frame) => {
      if (ended || dropped) return;
      const taker = takers.shift();
      if (taker === undefined) frames.push(frame);
      else taker.resolve({ done: false, value: frame });
    },
    end: (reason) => {
      ended = true;
      const [first, ...others] = takers.splice(0);
      if (first === undefined) failure = dropped ? undefined : reason;
      else if (reason === undefined) first.resolve(DONE);
      else first.reject(reason.error);
      for (const taker of others) taker.resolve(DONE);
    },
    drop: () => {
      dropped = true;
      frames = [];
      failure = undefined;
      for (const taker of takers.splice(0)) taker.resolve(DONE);
    },
    next: async () => {
      const frame = frames.shift();
      if (frame !== undefined) return { done: false, value: frame };
      if (failure !== undefined) {
        const { error } = failure;
        failure = undefined;
        throw error;
      }
      if (ended || dropped) return DONE;
      const taker: Taker = Promise.withResolvers();
      takers.push(taker);
      return await taker.promise;
    },
  };
}
