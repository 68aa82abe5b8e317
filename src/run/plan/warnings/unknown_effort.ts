import { isVersionAtLeast } from "../../../claude/versions/compare_versions.ts";

const FLAG = "--effort=";
/** What the flag takes, and what it takes without telling so. */
const LEVELS: readonly string[] = ["low", "medium", "high", "xhigh", "max"];
const OTHERS: readonly string[] = ["med"];

/** What `claude -p` says on stderr of an effort that it does not know, a line or none (2.1.197 and 2.1.330). */
export function unknownEffort(forwarded: readonly string[], version: string): readonly string[] {
  const value = forwarded.findLast((argument) => argument.startsWith(FLAG))?.slice(FLAG.length);
  if (value === undefined) return [];
  const known = [
    ...[...LEVELS, ...OTHERS],
    ...isVersionAtLeast(version, "2.1.330") ? ["ultracode"] : [],
  ];
  if (known.includes(value.trim().toLowerCase())) return [];
  return [
    `Unknown --effort value '${value}' — ignoring it and using the default effort. ` +
    `Valid values: ${LEVELS.join(", ")}.`,
  ];
}
