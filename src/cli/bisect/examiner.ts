import type { ClaudeAgainst } from "../drift/claude_against.ts";

/** Something that a version does differently from the good one. */
export interface Difference {
  /** The cassette with which it was found; absent where there is none. */
  readonly cassette?: string;
  /** In what it was found, such as `exit code`. */
  readonly where: string;
  readonly what: string;
}

/** How versions are told to be good or bad. */
export interface Examiner {
  /** Cassettes that cannot be run again, and why not. */
  readonly skipped: readonly { readonly path: string; readonly why: string }[];
  /**
   * Learns what the good version does.
   *
   * @throws {CliError} when it is not good
   */
  readonly learnGood: (claude: ClaudeAgainst) => Promise<void>;
  /**
   * What another version does differently; nothing for a good one.
   *
   * @throws {SkippedError} when the version cannot be examined
   */
  readonly differences: (claude: ClaudeAgainst) => Promise<readonly Difference[]>;
}

/** A version that cannot be examined; the message says why. */
export class SkippedError extends Error {}
