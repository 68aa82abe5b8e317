import { CliError } from "../../cli_error.ts";

/** The exit code of what may be tried again later. */
const TRY_LATER = 75;

/** There is no room for something now, but there will be. */
export class BusyError extends CliError {
  constructor(message: string, suggestion: string) {
    super(message, { suggestion, exitCode: TRY_LATER });
  }
}

/** What has to be kept cannot be kept. */
export class NoSpaceError extends CliError {
  constructor(message: string, cause?: unknown) {
    super(message, { suggestion: "Make room on the disk of TMPDIR", cause });
  }
}
