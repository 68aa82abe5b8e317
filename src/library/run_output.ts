import type { Frame } from "../claude/wire/frame.ts";
import type { ResultFrame } from "../claude/wire/result_frame.ts";
import type { RunRequest } from "../cli/arguments/run_request.ts";
import { createRedactor } from "../recording/redaction/redact.ts";
import { visibleScreen } from "../recording/redaction/visible_text.ts";
import type { RunReport } from "../run/perform_run.ts";
import { replaceDescriptors } from "../sandbox/child/passed_credentials.ts";
import type { Environment } from "../sandbox/environment.ts";
import { CliError, toCliError } from "../cli_error.ts";
import { definedFields } from "../defined_fields.ts";

/** Options of a run. */
export interface RunOptions {
  /**
   * Flags, exactly as on the command line of `claude-print`: `["--model", "haiku", "--allowedTools", "Bash"]`.
   *
   * Flags for the input and output of a program are refused with an error that names them: `--output-format`,
   * `--input-file`, `--show` and similar ones. So is a prompt.
   */
  readonly args?: readonly string[];
  /** The working directory, where relative paths in `args` begin; that of the process by default. */
  readonly cwd?: string;
  /**
   * The complete environment; that of the process by default. It determines which `claude` is found (`PATH`), the login
   * (`HOME`, `CLAUDE_CONFIG_DIR`, `ANTHROPIC_API_KEY`), and the place of the private folder (`TMPDIR`).
   */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Ends the run when it is aborted, as Ctrl-C would: Escape stops the turn, and the result has the text so far. If it is
   * aborted before Claude Code has started, `result` rejects with its reason.
   */
  readonly signal?: AbortSignal;
}

/** The description of a failure. */
export interface RunProblem {
  /** What failed and why, in one line. */
  readonly message: string;
  /** What to do about it, in one line. */
  readonly suggestion?: string;
}

/** The result of a run that was started. */
export interface RunResult {
  /** The answer. If the run failed, the text so far, which may be empty. */
  readonly text: string;
  /**
   * The exit code that the program would have: 0 for an answer, 1 if the assistant or the API failed, 2 if this library or
   * its environment failed, 124 for a timeout, 130 when `signal` was aborted, 141 when the iteration was left early.
   */
  readonly exitCode: number;
  /** The last frame of the last turn, as `--output-format json` prints it. */
  readonly frame: ResultFrame;
  /** Why the exit code is not 0. */
  readonly problem?: RunProblem;
  /** The last screen of Claude Code's terminal if it explains a failure: rows of visible text. */
  readonly screen?: readonly string[];
  /** Warnings, a sentence each. */
  readonly warnings: readonly string[];
}

/**
 * A run that was started.
 *
 * Iterating yields the frames that `--output-format stream-json` prints, as they happen. Frames that nobody has read yet
 * wait. Each frame is yielded once, also to several iterations. Leaving the loop early ends the run, and waits until nothing
 * of it is left. So does the end of the scope with `await using`.
 *
 * A run continues whether or not its frames are read or its result is awaited.
 */
export interface Run extends AsyncIterable<Frame>, AsyncDisposable {
  /**
   * The result. It resolves when nothing of the run is left: no process, no folder.
   *
   * Failures of Claude Code, of the API and of this library are results. It rejects only when the run did not start: with a
   * {@linkcode RunError} that says what to do, or with the reason of `signal`. The iteration fails in the same way.
   */
  readonly result: Promise<RunResult>;
  /** The frames, each of them once. */
  [Symbol.asyncIterator](): AsyncIterator<Frame, undefined>;
  /** Ends the run if it is still running, and resolves when nothing of it is left. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Creates the result of a run or a turn. Secrets on its screen are redacted. */
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
      env: replaceDescriptors(env),
      args: [...request.forwarded, `--settings=${request.settings ?? ""}`],
    });
  return {
    text: result.result ?? "",
    exitCode,
    frame: result,
    ...definedFields({ problem, screen: screen && visibleScreen(screen, redactor()) }),
    warnings,
  };
}

/**
 * Why a run did not start: a flag or a prompt that is not supported, no Claude Code, no login, no folder. Or why a recording
 * cannot be replayed.
 *
 * @example Print what to do about it
 * ```ts
 * import { run, RunError } from "jsr:@claude-print/cli/library";
 *
 * try {
 *   await run("Hello", { args: ["--modle", "haiku"] }).result;
 * } catch (error) {
 *   if (!(error instanceof RunError)) throw error;
 *   console.error(error.message); // unknown flag --modle
 *   console.error(error.suggestion); // Did you mean --model? "claude-print --help" lists all flags
 * }
 * ```
 */
export class RunError extends Error {
  /** The name of the class. */
  override readonly name = "RunError";
  /** The exit code of the program `claude-print` for the same error. */
  readonly exitCode: number;
  /** What to do about it, in one line. */
  readonly suggestion: string | undefined;

  /**
   * Creates an error. Only this library needs to.
   *
   * @param message what failed and why, in one line
   * @param options.cause the original error
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

/** Converts an error that a user can act on into a `RunError`. Returns any other error unchanged. */
export function asRunError(thrown: unknown): unknown {
  if (thrown instanceof RunError) return thrown;
  const error = toCliError(thrown);
  if (!(error instanceof CliError)) return error;
  const { message, exitCode, suggestion } = error;
  return new RunError(message, { exitCode, suggestion, cause: error });
}

/** A queue of frames between a run and the iterations over it. */
interface FrameQueue {
  readonly push: (frame: Frame) => void;
  /** Ends the queue. A failure is reported once, after the last frame. */
  readonly end: (failure?: { readonly error: unknown }) => void;
  /** Discards the frames that are not read yet, and all later ones. */
  readonly drop: () => void;
  /** Waits for the next frame. */
  readonly next: () => Promise<IteratorResult<Frame, undefined>>;
}

type Reader = PromiseWithResolvers<IteratorResult<Frame, undefined>>;

const DONE = { done: true, value: undefined } as const;

export function createFrameQueue(): FrameQueue {
  let frames: Frame[] = [];
  const readers: Reader[] = [];
  let failure: { readonly error: unknown } | undefined;
  let isEnded = false;
  let isDropped = false;
  return {
    push: (frame) => {
      if (isEnded || isDropped) return;
      const reader = readers.shift();
      if (reader === undefined) frames.push(frame);
      else reader.resolve({ done: false, value: frame });
    },
    end: (reason) => {
      isEnded = true;
      const [first, ...others] = readers.splice(0);
      if (first === undefined) failure = isDropped ? undefined : reason;
      else if (reason === undefined) first.resolve(DONE);
      else first.reject(reason.error);
      for (const reader of others) reader.resolve(DONE);
    },
    drop: () => {
      isDropped = true;
      frames = [];
      failure = undefined;
      for (const reader of readers.splice(0)) reader.resolve(DONE);
    },
    next: async () => {
      const frame = frames.shift();
      if (frame !== undefined) return { done: false, value: frame };
      if (failure !== undefined) {
        const { error } = failure;
        failure = undefined;
        throw error;
      }
      if (isEnded || isDropped) return DONE;
      const reader: Reader = Promise.withResolvers();
      readers.push(reader);
      return await reader.promise;
    },
  };
}
