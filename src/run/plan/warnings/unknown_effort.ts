const FLAG = "--effort=";
/** What the flag takes, and what it takes without telling so. */
const LEVELS: readonly string[] = ["low", "medium", "high", "xhigh", "max"];
const OTHERS: readonly string[] = ["med", "ultracode"];

/** What `claude -p` says on stderr of an effort that it does not know, a line or none. */
export function unknownEffort(forwarded: readonly string[]): readonly string[] {
  const value = forwarded.findLast((argument) => argument.startsWith(FLAG))?.slice(FLAG.length);
  if (value === undefined) return [];
  if ([...LEVELS, ...OTHERS].includes(value.trim().toLowerCase())) return [];
  return [
    `Unknown --effort value '${value}' — ignoring it and using the default effort. ` +
    `Valid values: ${LEVELS.join(", ")}.`,
  ];
}
