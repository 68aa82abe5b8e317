import { GUARDS_SKILLS } from "../../settings/hook_faults.ts";
import type { VersionFaults } from "../../settings/version_faults.ts";
import { isVersionAtLeast } from "../../claude/versions/compare_versions.ts";
import { isOlder } from "./version_demands.ts";

/** Of which versions one is that differ in what they take of settings. */
export function versionsOf(version: string | undefined): keyof VersionFaults {
  if (isOlder(version)) return "before";
  return isVersionAtLeast(version ?? "", GUARDS_SKILLS) ? "guarded" : "since";
}
