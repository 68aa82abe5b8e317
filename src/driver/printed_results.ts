import type { ResultFrame } from "../wire/frame.ts";
import { isVersionAtLeast } from "../wire/wire_keys.ts";

/** Of results that are printed at the same time, all are since 2.1.197; before, the last takes the others' place. */
export function printedResults(
  results: readonly ResultFrame[],
  version: string,
): readonly ResultFrame[] {
  return isVersionAtLeast(version, "2.1.197") ? results : results.slice(-1);
}
