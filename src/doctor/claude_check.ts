import { askVersion } from "../claude/ask_version.ts";
import { findClaude } from "../claude/find_claude.ts";
import type { Environment } from "../sandbox/environment.ts";
import type { Check } from "./check.ts";

/**
 * Whether there is a Claude Code that the program can drive: the one that a run would start.
 *
 * @throws {CliError} when there is none
 */
export async function claudeCheck(options: {
  readonly named: string | undefined;
  readonly env: Environment;
  readonly cwd: string;
}): Promise<Check> {
  const binary = findClaude(options);
  return claudeVerdict({ binary, version: await askVersion(binary, options.env) });
}

/** Releases of Claude Code that the tests run, oldest first. */
const KNOWN = ["2.1.168", "2.1.197", "2.1.330"] as const;
const OLDEST = KNOWN[0];
const NEWEST = KNOWN[KNOWN.length - 1] ?? OLDEST;

/**
 * Says whether an executable is a Claude Code that the program can drive.
 *
 * @param version what it gives itself as its version; `undefined` when it is something else
 */
function claudeVerdict(
  { binary, version }: { readonly binary: string; readonly version: string | undefined },
): Check {
  const name = "claude";
  if (version === undefined) {
    return {
      name,
      ok: false,
      detail: `Cannot use "${binary}": it is not Claude Code`,
      suggestion: "Name Claude Code's executable with --claude-binary",
      data: { binary },
    };
  }
  const data = { binary, version, known: KNOWN };
  if (isOlder(version, OLDEST)) {
    return {
      name,
      ok: false,
      detail: `Cannot use "${binary}": ${version} is older than ${OLDEST}`,
      suggestion: "Update Claude Code: claude update",
      data,
    };
  }
  const note = isOlder(NEWEST, version) ? `, newer than the newest known to work (${NEWEST})` : "";
  return { name, ok: true, detail: `${version} in ${binary}${note}`, data };
}

/** Compares three numbers; what follows them, as in `2.2.0-beta.1`, does not count. */
function isOlder(one: string, other: string): boolean {
  const [a, b] = [one, other].map((version) => version.split(/[.-]/u, 3).map(Number));
  for (const [index, number] of (a ?? []).entries()) {
    const difference = number - (b?.[index] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}
