import { CliError } from "../../cli_error.ts";
import type { RunOrder } from "../plan/run_order.ts";

/**
 * The folder whose settings, MCP servers, skills, commands, agents, output styles and workflows are the project's: that
 * of `--project-config-root` (2.1.330), else the working directory. Whatever else belongs to a project stays where the
 * working directory is: instructions, git, trust, what tools may write to, and the session.
 *
 * @throws {CliError} when it is no folder, which Claude Code says on its screen alone
 */
export function projectRootOf(
  { projectConfigRoot: named, cwd }: Pick<RunOrder, "projectConfigRoot" | "cwd">,
): string {
  if (named === undefined) return cwd;
  // To Claude Code two slashes begin the name of a machine.
  if (!/^\/(?!\/)/u.test(named)) throw refusal(`"${named}" is not an absolute local path`);
  try {
    Deno.readDirSync(named);
    return Deno.realPathSync(named);
  } catch (cause) {
    throw refusal(`${named} is not a folder that you can list`, cause);
  }
}

function refusal(why: string, cause?: unknown): CliError {
  return new CliError(`Cannot honour --project-config-root: ${why}`, {
    suggestion: "Name an existing folder by its path from the root, or leave it out",
    cause,
  });
}
