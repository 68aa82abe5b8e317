import type { Check, CheckName } from "./check.ts";

/** A check that was not made, and why. */
export function skippedCheck(name: CheckName, why: string): Check {
  return { name, ok: true, skipped: true, detail: why, data: {} };
}
