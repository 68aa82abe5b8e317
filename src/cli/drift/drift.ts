import { listenToSignals } from "../../../ffi/processes/own_signals.ts";
import { SIGNALS } from "../../../ffi/processes/signals.ts";
import { findCassettes, type FoundCassette } from "../../recording/cassette/read/find_cassettes.ts";
import type { DriftOptions } from "../arguments/parsed_arguments.ts";
import { lookForDrift } from "../../recording/drift/examine/look_for_drift.ts";
import type { Finding } from "../../recording/drift/finding.ts";
import { Findings } from "../../recording/drift/findings.ts";
import { knownShapes } from "../../recording/drift/known_shapes.ts";
import { foundSdks, namedSdk } from "../../recording/drift/sdk/installed_sdks.ts";
import { currentFolder } from "../../run/facts/current_folder.ts";
import { callerEnvironment, type Environment } from "../../sandbox/environment.ts";
import { borrowFolder } from "../../sandbox/folder/borrow_folder.ts";
import { askSdks } from "./ask_sdks.ts";
import { claudeAgainst } from "./claude_against.ts";
import { type DriftReport, isEmptyReport } from "./drift_report.ts";
import { runAgain } from "./run_again.ts";
import { sayDrift } from "./say_drift.ts";

/**
 * Looks what cassettes and tapes hold that is not as it is known, and what another Claude Code does otherwise.
 *
 * @returns the exit code: 1 when something is not, or when there was nothing to look at
 * @throws {CliError} when a path does not exist, its layout cannot be told, or who was named cannot be asked
 */
export async function drift(options: DriftOptions): Promise<number> {
  const stop = new AbortController();
  let exitCode = 0;
  const listen = () =>
    listenToSignals(["SIGINT", "SIGTERM", "SIGHUP"], (signal) => {
      exitCode = 128 + SIGNALS[signal];
      stop.abort();
    });
  using undo = new DisposableStack();
  try {
    return await look(options, { signal: stop.signal, listen, undo });
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    return exitCode;
  }
}

async function look(
  options: DriftOptions,
  { signal, listen, undo }: {
    readonly signal: AbortSignal;
    /** From now on a signal aborts this, and does not end the program. */
    readonly listen: () => Disposable;
    readonly undo: DisposableStack;
  },
): Promise<number> {
  const env = callerEnvironment();
  const cwd = currentFolder();
  const { inputName, against, allowedTools: allowed } = options;
  const known = knownShapes();
  const findings = new Findings();
  const named = findCassettes(options.paths, inputName === undefined ? {} : { inputName });
  const sdks = askSdks(options.sdks?.map(namedSdk) ?? foundSdks({ env, cwd }), { known, findings });
  // Where it only reads, a signal ends the program at once.
  if (against !== undefined) undo.use(listen());
  const again = against === undefined
    ? undefined
    : await runThemAgain(named, { against, allowed, env, cwd, findings, signal, undo });
  const cassettes = [...named, ...again?.cassettes ?? []];
  const { versions, ...checked } = lookForDrift(cassettes, {
    known,
    findings,
    onFrame: sdks.onFrame,
  });
  if (against === undefined) undo.use(listen());
  const names = await sdks.asked(cassettes, signal);
  const report: DriftReport = {
    ...checked,
    versions: Object.fromEntries(versions),
    sdks: names,
    ...(again === undefined ? {} : { against: again.told }),
    findings: again === undefined ? findings.sorted() : findings.sorted().map(again.named),
    left: findings.left,
  };
  const ok = report.findings.length === 0 && (options.allowEmpty || !isEmptyReport(report));
  // Whoever does not read on holds up the program, which then hears of no signal itself: it is to end by one.
  undo.dispose();
  sayDrift({ ...report, ok }, { json: options.json, env });
  return ok ? 0 : 1;
}

/** What another Claude Code does: the recordings of it, which are gone once all is said. */
async function runThemAgain(
  cassettes: readonly FoundCassette[],
  { against, undo, ...options }: {
    readonly against: string;
    readonly allowed: readonly string[];
    readonly env: Environment;
    readonly cwd: string;
    readonly findings: Findings;
    readonly signal: AbortSignal;
    readonly undo: DisposableStack;
  },
) {
  const folder = undo.use(borrowFolder(options.env)).path;
  const claude = undo.use(await claudeAgainst(against, options));
  const { recorded, skipped } = await runAgain(cassettes, { ...options, folder, claude });
  return {
    told: { version: claude.version, again: recorded.size, skipped },
    cassettes: [...recorded.keys()].map((path) => ({ kind: "folder", path, name: path }) as const),
    /** A finding with the name of the cassette in the place of the recording's. */
    named: (finding: Finding): Finding => {
      const { path, line } = finding.first;
      const [from, to] = [...recorded].find(([from]) => path.startsWith(`${from}/`)) ?? [];
      return from === undefined
        ? finding
        : { ...finding, first: { path: `${to}${path.slice(from.length)} run again`, line } };
    },
  };
}
