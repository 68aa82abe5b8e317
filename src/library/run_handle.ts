import type { Frame } from "../claude/wire/frame.ts";
import type { ResultFrame } from "../claude/wire/result_frame.ts";

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
