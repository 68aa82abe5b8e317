import { ERRNO, LibcError } from "../../../ffi/errno.ts";
import { CliError } from "../../cli_error.ts";
import { claudeVersion } from "./claude_version.ts";

/**
 * The version Claude Code gives itself, as `claudeVersion` asks for it.
 *
 * @throws {CliError} when there can be no process that says it
 */
export async function askVersion(
  ...asked: Parameters<typeof claudeVersion>
): Promise<string | undefined> {
  try {
    return await claudeVersion(...asked);
  } catch (error) {
    throw tooManyProcesses(error) ?? error;
  }
}

/** What an error says whose cause is that there are as many processes as there may be. */
export function tooManyProcesses(error: unknown): CliError | undefined {
  if (!(error instanceof LibcError)) return undefined;
  if (error.call !== "posix_spawnp" || error.errno !== ERRNO.EAGAIN) return undefined;
  return new CliError("Cannot start claude: there are as many processes as there may be", {
    suggestion: "End some, or raise the limit: ulimit -u, or that of the container",
    cause: error,
  });
}
