import { namedClaude } from "./named_claude.ts";
import { RealClaude, type RealClaudeOptions } from "./real_claude.ts";

/**
 * The versions of Claude Code that the real layer runs: those that are pinned, or the one that CLAUDE_CODE names, of which
 * then everything is asked.
 *
 * Of an earlier one is asked what a version decides and only a child that lives can show: the ways in (fd 0, a paste, what
 * is said later), dialogs, ends, what the model is asked, the control protocol once, and every row of the table beside
 * `claude -p` (`parity`) but those in which the newest one says it all. What is made of its bytes, hooks and
 * lines is seen where recorded runs are replayed, which all versions have (`test/cassette/recorded_runs_test.ts`); what is
 * done before a child starts and once it has ended (plans, sessions, forks, recordings, the relay, a server) is the same
 * code for all. Both are asked of the newest alone.
 */
export const REAL_VERSIONS: readonly string[] = namedClaude === undefined
  ? ["2.1.197", "2.1.330"]
  : [namedClaude.version];

/**
 * Registers a test for each of the versions, with surroundings of its own; afterwards nothing of
 * `claude-print` may be left in TMPDIR or among the processes.
 */
export function forEachVersion(
  name: string,
  test: (real: RealClaude) => Promise<void>,
  options: RealClaudeOptions = {},
): void {
  for (const version of REAL_VERSIONS) register(version, { name, test, options });
}

/** The same with all but the newest version, for what the Agent SDKs, which are of the newest one, prove of that. */
export function forEarlierVersions(
  name: string,
  test: (real: RealClaude) => Promise<void>,
  options: RealClaudeOptions = {},
): void {
  const earlier = REAL_VERSIONS.length === 1 ? REAL_VERSIONS : REAL_VERSIONS.slice(0, -1);
  for (const version of earlier) register(version, { name, test, options });
}

/** The same with the newest version alone: each start of Claude Code takes a second. */
export function forNewestVersion(
  name: string,
  test: (real: RealClaude) => Promise<void>,
  options: RealClaudeOptions = {},
): void {
  register(REAL_VERSIONS.at(-1) ?? "", { name, test, options });
}

function register(
  version: string,
  { name, test, options }: {
    readonly name: string;
    readonly test: (real: RealClaude) => Promise<void>;
    readonly options: RealClaudeOptions;
  },
): void {
  Deno.test(`${version}: ${name}`, async () => {
    await using real = await RealClaude.set(version, options);
    await test(real);
  });
}
