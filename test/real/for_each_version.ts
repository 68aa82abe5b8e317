import { CLAUDE_VERSIONS } from "../../fixtures/programs/claude_binary.ts";
import { namedClaude } from "./named_claude.ts";
import { RealClaude, type RealClaudeOptions } from "./real_claude.ts";

/**
 * The versions of Claude Code that the real layer runs: the oldest supported one and the newest, or the one that CLAUDE_CODE
 * names, with which every test is run.
 *
 * The oldest runs what a version decides and only a live child can show: the ways in (fd 0, a paste, later messages),
 * dialogs, ends, what the model is asked, and the rows of `parity`. What is made of its bytes, hooks and lines is tested by
 * replaying recorded runs. What is done before a child starts and after it has ended is the same code for all versions, so
 * the newest runs it alone.
 */
export const REAL_VERSIONS: readonly string[] = namedClaude === undefined
  ? CLAUDE_VERSIONS
  : [namedClaude.version];

/** Whether `deno task test:all` runs, in which the oldest version runs all that {@linkcode forEachVersion} registers. */
const IS_ALL = Deno.env.get("TEST_ALL") === "1";

/**
 * Registers a test for each of the versions, in the default suite for the newest alone. Afterwards nothing of `claude-print`
 * may be left in TMPDIR or among the processes.
 *
 * @param versions the versions that the default suite runs
 */
export function forEachVersion(
  name: string,
  test: (real: RealClaude) => Promise<void>,
  { versions = REAL_VERSIONS.slice(-1), ...options }: RealClaudeOptions & {
    readonly versions?: readonly string[];
  } = {},
): void {
  for (const version of IS_ALL ? REAL_VERSIONS : versions) {
    register(version, { name, test, options });
  }
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
  Deno.test({
    name: `${version}: ${name}`,
    fn: async () => {
      await using real = await RealClaude.set(version, options);
      await test(real);
    },
  });
}
