import type { PreparedRun } from "./prepare_run.ts";

/**
 * What the user should know before a run begins: of folders that earlier runs left and that could not be swept, one
 * sentence or none, and of flags that have no effect.
 */
export function earlyWarnings(
  { swept, warnings }: Pick<PreparedRun, "swept" | "warnings">,
): readonly string[] {
  const unswept = swept.filter(({ verdict }) => verdict === "kept").slice(0, 1)
    .map(({ path, reason }) => `Cannot sweep what an earlier run left in ${path}: ${reason}`);
  return [...unswept, ...warnings];
}
