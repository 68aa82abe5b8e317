import { listenToSignals } from "../../../ffi/processes/own_signals.ts";
import { SIGNALS } from "../../../ffi/processes/signals.ts";
import { findCassettes } from "../../recording/cassette/read/find_cassettes.ts";
import {
  type FetchedRelease,
  fetchRelease,
  listReleases,
  UnusableReleaseError,
} from "../../claude/program/releases.ts";
import { compareVersions, OLDEST_VERSION } from "../../claude/versions/compare_versions.ts";
import type { BisectOptions } from "../arguments/parsed_arguments.ts";
import { CliError, EXIT } from "../../cli_error.ts";
import { currentFolder } from "../../run/facts/this_process.ts";
import { callerEnvironment, type Environment } from "../../sandbox/environment.ts";
import { borrowFolder } from "../../sandbox/folder/sweep.ts";
import { makeVisible, print, printLines, stringifyVisibly } from "../report/print.ts";
import {
  type Difference,
  examineByCassettes,
  examineByCommand,
  type Examiner,
  SkippedError,
} from "./examine_versions.ts";
import { createRedactor } from "../../recording/redaction/redact.ts";
import { Outlet } from "../../../ffi/descriptors/outlet.ts";
import { windowSize } from "../../../ffi/terminal/pty.ts";
import { isInForeground, RedrawnLine, renderStep } from "../watch/live_line.ts";

/**
 * Finds the first version of Claude Code that behaves differently from a good one, and prints it.
 *
 * @returns the exit code: 0 if it was found, 1 if the good and the bad version behave the same, 128 + n for a signal
 * @throws {CliError} when the versions cannot be fetched or examined
 */
export async function bisect(options: BisectOptions): Promise<number> {
  const env = callerEnvironment();
  const stop = new AbortController();
  let exitCode = 0;
  let report: BisectReport;
  {
    using _listener = listenToSignals(["SIGINT", "SIGTERM", "SIGHUP"], (signal) => {
      exitCode ||= EXIT.signal + SIGNALS[signal];
      stop.abort();
    });
    try {
      report = await findFirstBad(options, { env, signal: stop.signal });
    } catch (error) {
      if (!stop.signal.aborted) throw error;
      return exitCode;
    }
  }
  printReport(report, { json: options.json, env });
  return report.found ? 0 : 1;
}

async function findFirstBad(
  options: BisectOptions,
  { env, signal }: { readonly env: Environment; readonly signal: AbortSignal },
): Promise<BisectReport> {
  const { run, keep, allowedTools: allowed } = options;
  const cassettes = run === undefined ? findCassettes(options.paths) : [];
  if (run === undefined) requireSupported(options.good);
  using folder = borrowFolder(env);
  using steps = showSteps(env);
  // The output of a command would mix with the redrawn line.
  const begin = run === undefined
    ? steps.begin
    : (step: string) => void print(Deno.stderr, `claude-print: ${step}\n`);
  begin("asking npm for the versions");
  const versions = versionsBetween(await listReleases({ env, signal }), options);
  const examiner = run === undefined
    ? examineByCassettes(cassettes, { folder: folder.path, allowed, env, signal })
    : examineByCommand(run, { env, cwd: currentFolder(), signal });
  const candidates = new Candidates(examiner, {
    begin,
    fetch: (version, stop = signal) => fetchRelease(version, { env, keep, signal: stop }),
  });
  const [good = "", bad = ""] = [versions[0], versions.at(-1)];
  const verdict = await examineEnds(candidates, { good, bad, signal });
  const { tested } = candidates;
  const common = { good, bad, versions: versions.length, cassettes: examiner.skipped, tested };
  if (verdict === "good") return { found: false, ...common };
  const { lastGood, firstBad, undecided } = await findBoundary(
    versions.length,
    (index) => candidates.examine(versions[index] ?? ""),
  );
  const first = versions[firstBad] ?? "";
  return {
    found: true,
    first,
    lastGood: versions[lastGood] ?? "",
    undecided: undecided.map((index) => versions[index] ?? ""),
    differences: candidates.differences(first),
    ...common,
  };
}

/** Learns the behaviour of the good version, and examines the bad one, which is downloaded at the same time. */
async function examineEnds(
  candidates: Candidates,
  { good, bad, signal }: {
    readonly good: string;
    readonly bad: string;
    readonly signal: AbortSignal;
  },
): Promise<Verdict> {
  const early = new AbortController();
  let release: Promise<FetchedRelease> | undefined;
  try {
    await candidates.learnGood(good, () => {
      release = candidates.fetch(bad, AbortSignal.any([signal, early.signal]));
      // The download is awaited later. Until then, Deno must not report its rejection as unhandled.
      release.catch(() => {});
    });
    const verdict = await candidates.examine(bad, release);
    if (verdict !== "skipped") return verdict;
    throw new CliError(
      `Cannot bisect: ${bad} cannot be examined: ${candidates.tested.at(-1)?.why}`,
      {
        suggestion: "Name another version with --bad",
      },
    );
  } finally {
    early.abort();
    (await release?.catch(() => undefined))?.[Symbol.dispose]();
  }
}

/** Fetches and examines versions, and collects the verdicts. */
class Candidates {
  /** The examined versions, in the order of examination. */
  readonly tested: TestedVersion[] = [];
  readonly fetch: (version: string, signal?: AbortSignal) => Promise<FetchedRelease>;
  readonly #examiner: Examiner;
  readonly #begin: (step: string) => void;
  readonly #differences = new Map<string, readonly Difference[]>();

  constructor(
    examiner: Examiner,
    { begin, fetch }: Pick<Candidates, "fetch"> & { readonly begin: (step: string) => void },
  ) {
    this.#examiner = examiner;
    this.#begin = begin;
    this.fetch = fetch;
  }

  /** @param onFetched called once the version is fetched */
  async learnGood(version: string, onFetched: () => void): Promise<void> {
    this.#begin(`fetching ${version}`);
    using release = await this.fetch(version);
    onFetched();
    this.#begin(`running ${version}`);
    await this.#examiner.learnGood(release);
    this.tested.push({ version, verdict: "good" });
  }

  /** @param release the download of the version, if it has already begun */
  async examine(version: string, release?: Promise<FetchedRelease>): Promise<Verdict> {
    try {
      this.#begin(`fetching ${version}`);
      using claude = await (release ?? this.fetch(version));
      this.#begin(`running ${version}`);
      const differences = await this.#examiner.differences(claude);
      this.#differences.set(version, differences);
      const verdict = differences.length === 0 ? "good" : "bad";
      this.tested.push({ version, verdict });
      return verdict;
    } catch (error) {
      if (!(error instanceof SkippedError || error instanceof UnusableReleaseError)) throw error;
      this.tested.push({ version, verdict: "skipped", why: error.message });
      return "skipped";
    }
  }

  /** Returns the differences between an examined version and the good one. */
  differences(version: string): readonly Difference[] {
    return this.#differences.get(version) ?? [];
  }
}

/** @throws {CliError} when this program does not support a version, and so cannot repeat recordings with it */
function requireSupported(good: string): void {
  if (compareVersions(good, OLDEST_VERSION) >= 0) return;
  throw new CliError(
    `Cannot bisect: ${good} is too old: claude-print needs ${OLDEST_VERSION} or newer`,
    { suggestion: `Name a newer version with --good, or use a command of your own: --run` },
  );
}

/**
 * Returns the versions from the good one to the bad one.
 *
 * @throws {CliError} when one of the two does not exist, or they are in the wrong order
 */
export function versionsBetween(
  all: readonly string[],
  { good, bad = all.at(-1) ?? "" }: Pick<BisectOptions, "good" | "bad">,
): readonly string[] {
  for (const [flag, version] of [["--good", good], ["--bad", bad]] as const) {
    if (all.includes(version)) continue;
    const older = all.findLast((each) => compareVersions(each, version) < 0);
    const newer = all.find((each) => compareVersions(each, version) > 0);
    throw new CliError(`Cannot bisect: the registry has no version ${version}`, {
      suggestion: `Name another one with ${flag}, such as ${
        [older, newer].filter((each) => each !== undefined).join(" or ")
      }`,
    });
  }
  if (compareVersions(good, bad) < 0) return all.slice(all.indexOf(good), all.indexOf(bad) + 1);
  throw new CliError(`Cannot bisect: --good ${good} is not older than --bad ${bad}`, {
    suggestion: "Name a version with --good in which all was well, and a later one with --bad",
  });
}

interface TestedVersion {
  readonly version: string;
  readonly verdict: Verdict;
  /** Why the version was skipped. */
  readonly why?: string;
}

type BisectReport =
  & {
    readonly good: string;
    readonly bad: string;
    /** The number of versions from the good one to the bad one. */
    readonly versions: number;
    /** The cassettes that were not repeated, with the reasons. */
    readonly cassettes: Examiner["skipped"];
    /** The examined versions, in the order of examination. */
    readonly tested: readonly TestedVersion[];
  }
  & ({ readonly found: false } | {
    readonly found: true;
    /** The first version that differs. */
    readonly first: string;
    readonly lastGood: string;
    /** Versions between these two that could not be examined. Each may be the first that differs. */
    readonly undecided: readonly string[];
    /** How the first version differs from the good one. */
    readonly differences: readonly Difference[];
  });

function printReport(
  report: BisectReport,
  { json, env }: { readonly json: boolean; readonly env: Environment },
): void {
  const { text: redact } = createRedactor({ env });
  printLines(redact(`${json ? stringifyVisibly(report) : makeVisible(formatReport(report))}\n`));
}

function formatReport(report: BisectReport): string {
  const { good, bad, versions, cassettes, tested } = report;
  const judged = tested.filter(({ verdict }) => verdict !== "skipped")
    .map(({ version, verdict }) => `${version} ${verdict}`);
  return [
    ...(report.found ? formatFound(report) : [`${bad} does the same as ${good}.`]),
    "",
    `Examined ${judged.length} of ${versions} versions: ${judged.join(", ")}`,
    ...tested.flatMap(({ version, why }) =>
      why === undefined ? [] : [`Skipped ${version}: ${why}`]
    ),
    ...cassettes.map(({ path, why }) => `Skipped ${path}: ${why}`),
  ].join("\n");
}

function formatFound(
  { first, lastGood, undecided, differences }: Extract<BisectReport, { readonly found: true }>,
): readonly string[] {
  return [
    undecided.length === 0
      ? `${first} is the first version that differs, ${lastGood} the last good one.`
      : `${first} differs, ${lastGood} is the last good one. In between, ${
        undecided.join(" and ")
      } could not be examined.`,
    ...differences.map(({ cassette, where, what }) =>
      `  ${[...(cassette === undefined ? [] : [cassette]), where, what].join(": ")}`
    ),
  ];
}

/** "skipped" is a version that cannot be examined. */
export type Verdict = "good" | "bad" | "skipped";

/** The indexes between which versions become bad. */
interface Boundary {
  readonly lastGood: number;
  readonly firstBad: number;
  /** The versions between the last good and the first bad one. All were skipped, so the result is a range. */
  readonly undecided: readonly number[];
}

/**
 * Finds where versions become bad, by a binary search. If they become bad and good again several times, it finds one of the
 * places.
 *
 * @param count the number of versions; the first one is good and the last one is bad
 * @param test examines a version, each at most once
 */
export async function findBoundary(
  count: number,
  test: (index: number) => Promise<Verdict>,
): Promise<Boundary> {
  let [lastGood, firstBad] = [0, count - 1];
  const skipped = new Set<number>();
  for (;;) {
    const between = Array.from({ length: firstBad - lastGood - 1 }, (_, at) => lastGood + 1 + at);
    const next = nearest((lastGood + firstBad) / 2, between.filter((each) => !skipped.has(each)));
    if (next === undefined) return { lastGood, firstBad, undecided: between };
    const verdict = await test(next);
    if (verdict === "good") lastGood = next;
    else if (verdict === "bad") firstBad = next;
    else skipped.add(next);
  }
}

function nearest(middle: number, numbers: readonly number[]): number | undefined {
  return numbers.toSorted((one, other) => Math.abs(one - middle) - Math.abs(other - middle))[0];
}

/** The fd of this program's stderr. */
const STDERR = 2;

interface ShownSteps extends Disposable {
  /** Shows a step, and how long it has been running. */
  readonly begin: (step: string) => void;
}

/**
 * Shows the current step of a command in one line on stderr, which is redrawn in place and erased when it is disposed.
 * Without a terminal, shows nothing.
 */
function showSteps(env: Readonly<Record<string, string | undefined>>): ShownSteps {
  const { TERM } = env;
  if (!Deno.stderr.isTerminal() || TERM === undefined || TERM === "dumb") {
    return { begin: () => {}, [Symbol.dispose]: () => {} };
  }
  let [step, since] = ["", 0];
  const stack = new DisposableStack();
  const line = stack.use(
    new RedrawnLine({
      output: stack.use(new Outlet(STDERR)),
      isOurs: () => isInForeground(),
      render: () =>
        renderStep(step, {
          columns: windowSize(STDERR)?.cols ?? 80,
          elapsedMs: performance.now() - since,
          color: !env["NO_COLOR"],
        }),
    }),
  );
  return {
    begin: (next) => {
      [step, since] = [next, performance.now()];
      line.draw();
    },
    [Symbol.dispose]: () => stack.dispose(),
  };
}
