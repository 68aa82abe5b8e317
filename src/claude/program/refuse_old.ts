import { CliError } from "../../cli_error.ts";
import { realPath } from "../../sandbox/paths.ts";
import { compareVersions, OLDEST_VERSION } from "../versions/compare_versions.ts";

const UPDATE =
  "Update it: claude update, or npm install -g @anthropic-ai/claude-code; or name a newer one with --claude-binary";

/**
 * Refuses a Claude Code that is older than the support window. An unknown version, such as that of a wrapper, passes.
 *
 * @throws {CliError} when it is too old
 */
export function refuseOldVersion(
  version: string | undefined,
  { suggestion = UPDATE }: { readonly suggestion?: string } = {},
): void {
  if (version === undefined || isSupported(version)) return;
  throw new CliError(
    `Claude Code ${version} is too old: claude-print needs ${OLDEST_VERSION} or newer`,
    { suggestion },
  );
}

/**
 * The supported version that the path of an executable names: `…/claude/versions/2.1.332`, as Claude Code's installer
 * does, or `…/2.1.332/claude`. Then a run need not ask for the version, which takes 8 to 60 ms.
 */
export function supportedVersionIn(binary: string): string | undefined {
  const version = /\/(\d+\.\d+\.\d+)(?:\/claude)?$/u.exec(realPath(binary))?.[1];
  return version !== undefined && isSupported(version) ? version : undefined;
}

function isSupported(version: string): boolean {
  return compareVersions(version, OLDEST_VERSION) >= 0;
}
