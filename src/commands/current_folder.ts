import { CliError } from "../cli/cli_error.ts";

/**
 * The working directory.
 *
 * @throws {CliError} when it has been removed
 */
export function currentFolder(): string {
  try {
    return Deno.cwd();
  } catch (cause) {
    throw new CliError("Cannot work in the current folder: it no longer exists", {
      suggestion: "Change to a folder that exists: cd ~",
      cause,
    });
  }
}
