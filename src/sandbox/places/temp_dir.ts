import { pathVariable } from "../path_variable.ts";
import type { Environment } from "../environment.ts";

/**
 * The folder in which runs have their private folders: `TMPDIR`, as for Claude Code itself.
 *
 * @throws {CliError} when it is not UTF-8
 */
export function tempDir(env: Environment): string {
  return pathVariable(env, "TMPDIR") || "/tmp";
}
