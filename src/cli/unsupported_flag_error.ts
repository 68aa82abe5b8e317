import { CliError } from "../cli_error.ts";

/** A flag that this program does not honour, or does not know: `claude -p` itself may. */
export class UnsupportedFlagError extends CliError {}
