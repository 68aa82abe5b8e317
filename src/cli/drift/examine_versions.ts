import { type AgainOptions, type ComparedClaude, runCassetteAgain } from "./run_again.ts";
import { stopIgnoringSigchld } from "../../../ffi/processes/own_signals.ts";
import { killGroup } from "../../../ffi/processes/process.ts";
import { CliError } from "../../cli_error.ts";
import type { Environment } from "../../sandbox/environment.ts";
import type { FoundCassette } from "../../recording/cassette/read/find_cassettes.ts";
import { compareRuns, type RepeatedRun } from "../../recording/drift/repeated_run.ts";
import { removeFolder } from "../../sandbox/remove_folder.ts";

export interface Difference {
  /** The cassette that shows the difference; absent with `--run`. */
  readonly cassette?: string;
  /** The place of the difference, such as `exit code`. */
  readonly where: string;
  readonly what: string;
}

/** Finds out whether a version is good or bad. */
export interface Examiner {
  /** Cassettes that cannot be repeated, with the reasons. */
  readonly skipped: readonly { readonly path: string; readonly why: string }[];
  /**
   * Learns the behaviour of the good version.
   *
   * @throws {CliError} when it is not good
   */
  readonly learnGood: (claude: ComparedClaude) => Promise<void>;
  /**
   * Returns the differences of another version: none for a good one.
   *
   * @throws {SkippedError} when the version cannot be examined
   */
  readonly differences: (claude: ComparedClaude) => Promise<readonly Difference[]>;
}

/** A version that cannot be examined. The message is the reason. */
export class SkippedError extends Error {}

/** The exit code of a command that cannot examine a version, as for `git bisect run`. */
const SKIP_CODE = 125;
/** The highest exit code for a bad version. A higher one means that the command has failed. */
const MAX_BAD_CODE = 127;
/** The time from SIGTERM to SIGKILL, in milliseconds. */
const TERMINATION_MS = 2000;

/** Examines versions with a shell command: exit code 0 for good, 125 for skip, any other up to 127 for bad. */
export function examineByCommand(
  command: string,
  { env, cwd, signal }: {
    readonly env: Environment;
    readonly cwd: string;
    readonly signal: AbortSignal;
  },
): Examiner {
  const run = async (binary: string, version: string) => {
    const code = await runShellCommand(command, {
      // An examined version must not update itself or the installed one.
      env: { DISABLE_AUTOUPDATER: "1", ...env, CLAUDE_BINARY: binary },
      ...{ cwd, signal },
    });
    if (code <= MAX_BAD_CODE) return code;
    throw new CliError(
      `Cannot bisect: the command of --run ended with exit code ${code} for ${version}`,
      { suggestion: "Have it exit with 0 for good, 1 to 127 for bad, or 125 to skip a version" },
    );
  };
  return {
    skipped: [],
    learnGood: async ({ binary, version }) => {
      const code = await run(binary, version);
      if (code === 0) return;
      throw new CliError(
        `Cannot bisect: ${version} is not good: the command of --run ended with exit code ${code}`,
        { suggestion: "Name a good version with --good, or mend the command" },
      );
    },
    differences: async ({ binary, version }) => {
      const code = await run(binary, version);
      if (code === SKIP_CODE) {
        throw new SkippedError(`the command ended with exit code ${SKIP_CODE}`);
      }
      return code === 0 ? [] : [{ where: "exit code", what: `${code} instead of 0` }];
    },
  };
}

/**
 * Runs a shell command and returns its exit code. Its output goes to stderr, because stdout is for the report.
 *
 * @throws the reason of the signal, after the command has ended
 */
async function runShellCommand(
  command: string,
  { env, cwd, signal }: {
    readonly env: Environment;
    readonly cwd: string;
    readonly signal: AbortSignal;
  },
): Promise<number> {
  signal.throwIfAborted();
  stopIgnoringSigchld();
  const child = new Deno.Command("/bin/sh", {
    args: ["-c", 'exec /bin/sh -c "$1" >&2', "sh", command],
    cwd,
    env,
    clearEnv: true,
    stdin: "null",
    stdout: "inherit",
    stderr: "inherit",
    detached: true,
  }).spawn();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const end = () => {
    killGroup(child.pid, "SIGTERM");
    timer = setTimeout(() => killGroup(child.pid, "SIGKILL"), TERMINATION_MS);
  };
  signal.addEventListener("abort", end);
  try {
    const { code } = await child.status;
    signal.throwIfAborted();
    return code;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
  }
}

/** The minimum time limit of a turn, in seconds. The limit is also at least five times the time of the good version. */
const MIN_TURN_S = 60;
const TIMEOUT_FACTOR = 5;

/** The behaviour of the good version with a cassette. */
interface Reference {
  readonly cassette: FoundCassette;
  /** Two runs. Differences between these runs are random, and ignored. */
  readonly runs: readonly RepeatedRun[];
}

/**
 * Examines versions by repeating cassettes. The good version also repeats them, because a recording may come from any
 * version and have other flags and tools.
 *
 * @param options.folder a folder for the homes of the runs
 */
export function examineByCassettes(
  cassettes: readonly FoundCassette[],
  { folder, ...options }: Omit<AgainOptions, "claude" | "timeoutS"> & { readonly folder: string },
): Examiner {
  const references: Reference[] = [];
  const skipped: { path: string; why: string }[] = [];
  let runs = 0;
  let timeoutS: number | undefined;
  const again = async (cassette: FoundCassette, claude: ComparedClaude) => {
    const home = `${folder}/${runs++}`;
    try {
      const limit = timeoutS === undefined ? {} : { timeoutS };
      return await runCassetteAgain(cassette, { ...options, ...limit, claude, home });
    } finally {
      removeFolder(home);
    }
  };
  /** Returns why a cassette cannot be used; undefined if it can. */
  const learn = async (
    cassette: FoundCassette,
    claude: ComparedClaude,
  ): Promise<string | undefined> => {
    const pair: RepeatedRun[] = [];
    while (pair.length < 2) {
      const ran = await again(cassette, claude);
      const why = "why" in ran ? ran.why : whyNotGood(ran.again, claude);
      if (why !== undefined) return why;
      if ("again" in ran) pair.push(ran.again);
    }
    references.push({ cassette, runs: pair });
    return undefined;
  };
  return {
    skipped,
    learnGood: async (claude) => {
      const start = performance.now();
      for (const cassette of cassettes) {
        const why = await learn(cassette, claude);
        if (why !== undefined) skipped.push({ path: cassette.path, why });
      }
      if (references.length === 0) throw noUsableCassetteError(skipped);
      timeoutS = Math.max(
        MIN_TURN_S,
        Math.ceil((performance.now() - start) / 1000 * TIMEOUT_FACTOR),
      );
    },
    differences: async (claude) => {
      const found: Difference[] = [];
      for (const { cassette, runs } of references) {
        const ran = await again(cassette, claude);
        if ("why" in ran) continue;
        const [first = [], second = []] = runs.map((run) => compareRuns(run, ran.again));
        found.push(
          ...first.filter(({ where, what }) =>
            second.some((other) => other.where === where && other.what === what)
          ).map(({ where, what }) => ({ cassette: cassette.path, where, what })),
        );
      }
      return found;
    },
  };
}

/** Exit codes of a completed run: an answer, or a failure of the assistant. */
const COMPLETED_CODES: readonly number[] = [0, 1];

/** Returns why a run of the good version cannot be used for comparison; undefined if it can. */
function whyNotGood(
  { exitCode, problem, failure = `exit code ${exitCode}`, missed }: RepeatedRun,
  { version }: ComparedClaude,
): string | undefined {
  const why = problem ?? missed ?? (COMPLETED_CODES.includes(exitCode) ? undefined : failure);
  return why === undefined ? undefined : `${version} cannot run it again: ${why}`;
}

function noUsableCassetteError(skipped: Examiner["skipped"]): CliError {
  const [first] = skipped;
  const why = first === undefined ? "there is none" : `${first.path}: ${first.why}`;
  return new CliError(`Cannot bisect: no cassette can be run again: ${why}`, {
    suggestion: "Record one with the --good version: claude-print --record <folder> <prompt>",
  });
}
