import { CliError } from "../cli_error.ts";
import type { Environment } from "./environment.ts";

/**
 * The value of an environment variable that names a folder this program works in.
 *
 * @throws {CliError} when it is not UTF-8: Deno reaches no such folder
 */
export function pathVariable(env: Environment, name: string): string | undefined {
  const value = env[name];
  if (value === undefined || value.isWellFormed()) return value;
  throw new CliError(`Cannot use ${name}: it is not UTF-8`, {
    suggestion: `Set ${name} to a folder whose path is UTF-8`,
  });
}
