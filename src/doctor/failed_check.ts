import type { Check, CheckName } from "./check.ts";

/** The check that an error ended: its message, and what it suggests if it does. */
export function failedCheck(name: CheckName, error: unknown): Check {
  const { suggestion } = error as { readonly suggestion?: unknown };
  return {
    name,
    ok: false,
    detail: error instanceof Error ? error.message : String(error),
    ...(typeof suggestion === "string" ? { suggestion } : {}),
    data: {},
  };
}
