import type { FoundCassette } from "../../recording/cassette/read/find_cassettes.ts";
import { TAPE_FILE } from "../../recording/cassette/cassette.ts";
import { CliError } from "../../cli_error.ts";
import type { OnFrame } from "../../recording/drift/examine/look_for_drift.ts";
import type { Findings } from "../../recording/drift/findings.ts";
import type { KnownClaude } from "../../recording/drift/known.ts";
import { declaredCheck } from "../../recording/drift/sdk/check_declared.ts";
import { readDeclarations } from "../../recording/drift/sdk/declarations.ts";
import type { InstalledSdk } from "../../recording/drift/sdk/installed_sdks.ts";
import { pythonVerdict } from "../../recording/drift/sdk/python_sdk.ts";

/** Agent SDKs that are asked what they make of frames. */
export interface AskedSdks {
  /** Takes each frame that is looked at. */
  readonly onFrame: OnFrame;
  /** Waits for those that look for themselves, and gives the names of all. */
  readonly asked: (
    cassettes: readonly FoundCassette[],
    signal?: AbortSignal,
  ) => Promise<readonly string[]>;
}

/** @throws {CliError} when one that was named cannot be asked */
export function askSdks(
  sdks: readonly InstalledSdk[],
  { known, findings }: { readonly known: KnownClaude; readonly findings: Findings },
): AskedSdks {
  const checks = sdks.flatMap((sdk) => {
    if (sdk.kind !== "typescript") return [];
    const check = declaredCheck(readDeclarations(sdk.declarations), known);
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
        const name = await askPython(sdk, { cassettes, findings, signal });
        if (name !== undefined) names.push(name);
      }
      return names;
    },
  };
}

/** Gives the SDK's name; nothing where the interpreter was only found and has none. */
async function askPython(
  { python, isNamed }: Extract<InstalledSdk, { readonly kind: "python" }>,
  { cassettes, findings, signal }: {
    readonly cassettes: readonly FoundCassette[];
    readonly findings: Findings;
    readonly signal: AbortSignal | undefined;
  },
): Promise<string | undefined> {
  const tapes = new Map(cassettes.flatMap(({ kind, path }) => {
    const tape = kind === "tape" ? path : `${path}/${TAPE_FILE}`;
    const real = regularFile(tape);
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

/** The path of a file without links; nothing for what an interpreter would wait for. */
function regularFile(path: string): string | undefined {
  try {
    return Deno.statSync(path).isFile ? Deno.realPathSync(path) : undefined;
  } catch {
    return undefined;
  }
}
