import { askVersion } from "../../claude/program/ask_version.ts";
import { findClaude } from "../../claude/program/find_claude.ts";
import { useLearntProfiles } from "../../claude/program/learnt_profiles.ts";
import { refuseOldVersion } from "../../claude/program/refuse_old.ts";
import {
  hasProfile,
  isNewerThanProfiles,
  PROFILED_VERSIONS,
} from "../../claude/versions/profiles.ts";
import type { Environment } from "../../sandbox/environment.ts";
import { type Check, failedCheck } from "./check.ts";

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
  const version = await askVersion(binary, options.env);
  const { warnings: [problem] } = await useLearntProfiles(options.env);
  const check = claudeVerdict({ binary, version });
  return problem === undefined ? check : { ...check, detail: `${check.detail}. ${problem}` };
}

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
  const data = { binary, version, profiles: PROFILED_VERSIONS };
  try {
    refuseOldVersion(version);
  } catch (error) {
    return { ...failedCheck(name, error), data };
  }
  const detail = `${version} in ${binary}`;
  if (!isNewerThanProfiles(version)) return { name, ok: true, detail, data };
  const newest = PROFILED_VERSIONS.at(-1);
  return hasProfile(version)
    ? { name, ok: true, detail: `${detail}, newer than ${newest}, and learnt`, data }
    : {
      name,
      ok: true,
      detail: `${detail}, newer than the newest known version (${newest})`,
      suggestion: "Measure it once, so that runs print all that it does: claude-print learn",
      data,
    };
}
