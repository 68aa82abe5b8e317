import { type DriftReport, isEmptyReport, printDrift } from "./drift_report.ts";
import { listenToSignals } from "../../../ffi/processes/own_signals.ts";
import { SIGNALS } from "../../../ffi/processes/signals.ts";
import { findCassettes, type FoundCassette } from "../../recording/cassette/read/find_cassettes.ts";
import type { DriftOptions } from "../arguments/parsed_arguments.ts";
import { examineRecordings, type OnFrame } from "../../recording/drift/examine_recordings.ts";
import { type Finding, Findings } from "../../recording/drift/findings.ts";
import { type KnownClaude, knownShapes } from "../../recording/drift/known_shapes.ts";
import { findSdks, type InstalledSdk, sdkAt } from "../../recording/drift/installed_sdks.ts";
import { currentFolder } from "../../run/facts/this_process.ts";
import { callerEnvironment, type Environment } from "../../sandbox/environment.ts";
import { borrowFolder } from "../../sandbox/folder/sweep.ts";
import { findComparedClaude, runAgain } from "./run_again.ts";
import { TAPE_FILE } from "../../recording/cassette/cassette_format.ts";
import { CliError, EXIT } from "../../cli_error.ts";
import { createDeclarationCheck, readDeclarations } from "../../recording/drift/typescript_sdk.ts";
import { pythonVerdict } from "../../recording/drift/python_sdk.ts";

/**
 * Reports the parts of cassettes and tapes that this version does not recognise, and how another Claude Code differs
 * from them.
 *
 * @returns the exit code: 1 for a difference, or when there was nothing to check
 * @throws {CliError} when a path does not exist or is ambiguous, or a named SDK or Claude Code cannot be used
 */
export async function drift(options: DriftOptions): Promise<number> {
  const stop = new AbortController();
  let exitCode = 0;
  const listen = () =>
    listenToSignals(["SIGINT", "SIGTERM", "SIGHUP"], (signal) => {
      exitCode = EXIT.signal + SIGNALS[signal];
      stop.abort();
    });
  using undo = new DisposableStack();
  try {
    return await checkForDrift(options, { signal: stop.signal, listen, undo });
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    return exitCode;
  }
}

async function checkForDrift(
  options: DriftOptions,
  { signal, listen, undo }: {
    readonly signal: AbortSignal;
    /** Makes signals abort `signal` instead of ending the program. */
    readonly listen: () => Disposable;
    readonly undo: DisposableStack;
  },
): Promise<number> {
  const env = callerEnvironment();
  const cwd = currentFolder();
  const { inputName, against, allowedTools: allowed } = options;
  const known = knownShapes();
  const findings = new Findings();
  const named = findCassettes(options.paths, { inputName });
  const sdks = prepareSdks(options.sdks?.map(sdkAt) ?? findSdks({ env, cwd }), { known, findings });
  // While the program only reads files, a signal ends it immediately.
  if (against !== undefined) undo.use(listen());
  const again = against === undefined
    ? undefined
    : await compareWithClaude(named, { against, allowed, env, cwd, findings, signal, undo });
  const cassettes = [...named, ...again?.cassettes ?? []];
  const { versions, ...checked } = examineRecordings(cassettes, {
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
  // A caller that does not read blocks the program in a write. Only the default action of a signal can end it then.
  undo.dispose();
  printDrift({ ...report, ok }, { json: options.json, env });
  return ok ? 0 : 1;
}

/** Repeats cassettes with another Claude Code. Its recordings are removed after the report. */
async function compareWithClaude(
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
  const claude = undo.use(await findComparedClaude(against, options));
  const { recorded, skipped } = await runAgain(cassettes, { ...options, folder, claude });
  return {
    told: { version: claude.version, again: recorded.size, skipped },
    cassettes: [...recorded.keys()].map((path) => ({ kind: "folder", path, name: path }) as const),
    /** Names the original cassette in a finding, instead of its repetition. */
    named: (finding: Finding): Finding => {
      const { path, line } = finding.first;
      const [from, to] = [...recorded].find(([from]) => path.startsWith(`${from}/`)) ?? [];
      return from === undefined
        ? finding
        : { ...finding, first: { path: `${to}${path.slice(from.length)} run again`, line } };
    },
  };
}

/** The checks of Agent SDKs. */
interface SdkChecks {
  /** Checks a frame against the declarations of TypeScript SDKs. */
  readonly onFrame: OnFrame;
  /** Runs the Python SDKs, and returns the names of all SDKs. */
  readonly asked: (
    cassettes: readonly FoundCassette[],
    signal?: AbortSignal,
  ) => Promise<readonly string[]>;
}

/** Prepares the checks of SDKs. */
export function prepareSdks(
  sdks: readonly InstalledSdk[],
  { known, findings }: { readonly known: KnownClaude; readonly findings: Findings },
): SdkChecks {
  const checks = sdks.flatMap((sdk) => {
    if (sdk.kind !== "typescript") return [];
    const check = createDeclarationCheck(readDeclarations(sdk.declarations), known);
    return check === undefined ? [] : [{ by: sdk.name, check }];
  });
  return {
    onFrame: (frame, place) => {
      for (const { by, check } of checks) {
        for (const found of check(frame)) findings.add(found, { place, by });
      }
    },
    asked: async (cassettes, signal) => {
      const names = checks.map(({ by }) => by);
      for (const sdk of sdks) {
        if (sdk.kind !== "python") continue;
        const name = await askPythonSdk(sdk, { cassettes, findings, signal });
        if (name !== undefined) names.push(name);
      }
      return names;
    },
  };
}

/** Returns the SDK's name; undefined for an interpreter that was found by a search and has no SDK. */
async function askPythonSdk(
  { python, isNamed }: Extract<InstalledSdk, { readonly kind: "python" }>,
  { cassettes, findings, signal }: {
    readonly cassettes: readonly FoundCassette[];
    readonly findings: Findings;
    readonly signal: AbortSignal | undefined;
  },
): Promise<string | undefined> {
  const tapes = new Map(cassettes.flatMap(({ kind, path }) => {
    const tape = kind === "tape" ? path : `${path}/${TAPE_FILE}`;
    const real = realPathOfFile(tape);
    return real === undefined ? [] : [[real, tape]];
  }));
  const verdict = await pythonVerdict(python, { tapes: [...tapes.keys()], signal });
  if (verdict === undefined) {
    if (!isNamed) return undefined;
    throw new CliError(`Cannot ask the Agent SDK of ${python}: it has none`, {
      suggestion: "Install it there: pip install claude-agent-sdk",
    });
  }
  const { name: by, found, left } = verdict;
  for (const { place: { path, line }, count, ...rest } of found) {
    findings.add(rest, { by, count, place: { path: tapes.get(path) ?? path, line } });
  }
  findings.leave(left);
  return by;
}

/** Returns the real path of a regular file, because an interpreter would block on a FIFO. */
function realPathOfFile(path: string): string | undefined {
  try {
    return Deno.statSync(path).isFile ? Deno.realPathSync(path) : undefined;
  } catch {
    return undefined;
  }
}
