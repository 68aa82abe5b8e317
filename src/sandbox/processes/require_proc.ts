import { readProcessStat } from "./process_stat.ts";
import { CliError } from "../../cli_error.ts";

/**
 * Sees to it that `/proc` is there: it alone tells which processes are a run's, and which runs still go on.
 *
 * @throws {CliError} when it is not
 */
export function requireProc(): void {
  if (readProcessStat("self") !== undefined) return;
  throw new CliError("Cannot tell a run's processes from others: /proc is not mounted", {
    suggestion: "Mount it: mount -t proc proc /proc",
  });
}
