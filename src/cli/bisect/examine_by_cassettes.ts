import type { FoundCassette } from "../../recording/cassette/read/find_cassettes.ts";
import { CliError } from "../../cli_error.ts";
import { compareRuns, type TalkAgain } from "../../recording/drift/again/compare_talks.ts";
import { removeFolder } from "../../sandbox/on_disk.ts";
import { type AgainOptions, runCassetteAgain } from "../drift/run_again.ts";
import type { ClaudeAgainst } from "../drift/claude_against.ts";
import type { Difference, Examiner } from "./examiner.ts";

/** Least time that a turn may take, in seconds, and how many times longer than with the good version. */
const LEAST_S = 60;
const TIMES_LONGER = 5;

/** What the good version does with a cassette. */
interface Reference {
  readonly cassette: FoundCassette;
  /** Two runs: what differs between them comes by chance, and is no difference. */
  readonly runs: readonly TalkAgain[];
}

/**
 * Examines versions by what they do when cassettes are run again. They are compared with the good version, which is run
 * again too: a recording may have been made by any version, and with flags and tools of its own.
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
  const again = async (cassette: FoundCassette, claude: ClaudeAgainst) => {
    const home = `${folder}/${runs++}`;
    try {
      const limit = timeoutS === undefined ? {} : { timeoutS };
      return await runCassetteAgain(cassette, { ...options, ...limit, claude, home });
    } finally {
      removeFolder(home);
    }
  };
  /** Says why a cassette is of no use, if it is not. */
  const learn = async (
    cassette: FoundCassette,
    claude: ClaudeAgainst,
  ): Promise<string | undefined> => {
    const pair: TalkAgain[] = [];
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
      if (references.length === 0) throw nothingRunsAgain(skipped);
      timeoutS = Math.max(LEAST_S, Math.ceil((performance.now() - start) / 1000 * TIMES_LONGER));
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

/** Exit codes of a run that came to its end: an answer, or a failure of the assistant. */
const ENDED: readonly number[] = [0, 1];

/** Why nothing can be compared with a run of the good version, if nothing can. */
function whyNotGood(
  { exitCode, problem, failure = `exit code ${exitCode}`, missed }: TalkAgain,
  { version }: ClaudeAgainst,
): string | undefined {
  const why = problem ?? missed ?? (ENDED.includes(exitCode) ? undefined : failure);
  return why === undefined ? undefined : `${version} cannot run it again: ${why}`;
}

function nothingRunsAgain(skipped: Examiner["skipped"]): CliError {
  const [first] = skipped;
  const why = first === undefined ? "there is none" : `${first.path}: ${first.why}`;
  return new CliError(`Cannot bisect: no cassette can be run again: ${why}`, {
    suggestion: "Record one with the --good version: claude-print --record <folder> <prompt>",
  });
}
