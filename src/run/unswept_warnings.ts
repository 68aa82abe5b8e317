import type { PreparedRun } from "./prepare_run.ts";

/** What the user should know of folders that earlier runs left and that could not be swept: one sentence, or none. */
export function unsweptWarnings({ swept }: Pick<PreparedRun, "swept">): readonly string[] {
  return swept.filter(({ verdict }) => verdict === "kept").slice(0, 1)
    .map(({ path, reason }) => `Cannot sweep what an earlier run left in ${path}: ${reason}`);
}
