import { heedChildren } from "../../../ffi/processes/own_signals.ts";
import { killGroup } from "../../../ffi/processes/process.ts";
import { CliError } from "../../cli_error.ts";
import type { Environment } from "../../sandbox/environment.ts";
import { type Examiner, SkippedError } from "./examiner.ts";

/** The exit code with which a command says that a version cannot be examined, as for `git bisect run`. */
const SKIP = 125;
/** The highest exit code that says that a version is bad; what is above it says that the command failed. */
const MOST_BAD = 127;
/** How long a command may take to end after SIGTERM, in milliseconds. */
const PATIENCE_MS = 2000;

/** Examines versions by a command of the shell: exit code 0 for good, 125 for skip, any other up to 127 for bad. */
export function examineByCommand(
  command: string,
  { env, cwd, signal }: {
    readonly env: Environment;
    readonly cwd: string;
    readonly signal: AbortSignal;
  },
): Examiner {
  const run = async (binary: string, version: string) => {
    const code = await runCommand(command, {
      // A version under examination must neither update itself nor what is installed.
      env: { DISABLE_AUTOUPDATER: "1", ...env, CLAUDE_BINARY: binary },
      ...{ cwd, signal },
    });
    if (code <= MOST_BAD) return code;
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
      if (code === SKIP) throw new SkippedError(`the command ended with exit code ${SKIP}`);
      return code === 0 ? [] : [{ where: "exit code", what: `${code} instead of 0` }];
    },
  };
}

/**
 * Runs a command of the shell to its end, and returns its exit code. What it prints goes to stderr: stdout is for the report.
 *
 * @throws the reason of the signal, after the command has ended
 */
async function runCommand(
  command: string,
  { env, cwd, signal }: {
    readonly env: Environment;
    readonly cwd: string;
    readonly signal: AbortSignal;
  },
): Promise<number> {
  signal.throwIfAborted();
  heedChildren();
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
    timer = setTimeout(() => killGroup(child.pid, "SIGKILL"), PATIENCE_MS);
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
