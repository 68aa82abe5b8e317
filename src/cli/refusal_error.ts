import { CliError } from "../cli_error.ts";
import type { Refusal } from "./flags.ts";

/** A flag that this program does not honour, or does not know: `claude -p` itself may. */
export class UnsupportedFlagError extends CliError {}

/** Why a flag, or one of its values, cannot be honoured. */
export function refusalError(what: string, refusal: Refusal): CliError {
  return new UnsupportedFlagError(`Cannot honour ${what}: ${refusal.reason}`, {
    suggestion: refusal.sort === "not yet"
      ? "Leave it out, or run claude -p for this one"
      : "Leave it out",
  });
}
