import { readProcessStat } from "./process_stat.ts";
import { SandboxError } from "../sandbox_error.ts";

/**
 * Sees to it that `/proc` is there: it alone tells which processes are a run's, and which runs still go on.
 *
 * @throws {SandboxError} when it is not
 */
export function requireProc(): void {
  if (readProcessStat("self") !== undefined) return;
  throw new SandboxError("Cannot tell a run's processes from others: /proc is not mounted", {
    suggestion: "Mount it: mount -t proc proc /proc",
  });
}
