import { CliError } from "../../cli_error.ts";
import { hasFlag } from "../../claude/versions/tables.ts";
import type { RunOrder } from "../plan/run_order.ts";

/** Asks Claude Code for its version, once, which takes 8 to 60 ms. */
export type AskVersion = () => Promise<string | undefined>;

/** Flags that some supported versions lack: these end at once, and say why on their screen alone. */
const RECENT_FLAGS = ["--fast-mode", "--include-unsupported-models"];

/**
 * Refuses a flag that this Claude Code lacks.
 *
 * @throws {CliError} for the first such flag
 */
export async function refuseUnknownFlags(
  { forwarded }: RunOrder,
  askVersion: AskVersion,
): Promise<void> {
  for (const flag of RECENT_FLAGS) {
    if (!forwarded.some((argument) => argument.split("=", 1)[0] === flag)) continue;
    const version = await askVersion();
    if (version === undefined || hasFlag(version, flag)) continue;
    throw new CliError(`Cannot honour ${flag}: Claude Code ${version} lacks it`, {
      suggestion: "Update Claude Code, or leave the flag out",
    });
  }
}
