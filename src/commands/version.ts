import deno from "../../deno.json" with { type: "json" };
import { askVersion } from "../claude/ask_version.ts";
import { CliError } from "../cli_error.ts";
import { findClaude } from "../claude/find_claude.ts";

/**
 * The line that `--version` prints, or with `short` the one of `-v`: exactly Claude Code's own, because the Agent
 * SDKs run `-v` and read the version from it.
 *
 * @throws {CliError} with `short`, when there is no Claude Code
 */
export async function versionLine(options: {
  readonly short: boolean;
  readonly claudeBinary?: string;
}): Promise<string> {
  const env = Deno.env.toObject();
  let version: string | undefined;
  let problem: unknown;
  try {
    const binary = findClaude({ named: options.claudeBinary, env, cwd: Deno.cwd() });
    version = await askVersion(binary, env);
    if (version === undefined) {
      problem = new CliError(`Cannot use "${binary}": it is not Claude Code`, {
        suggestion: "Name Claude Code's executable with --claude-binary",
      });
    }
  } catch (error) {
    problem = error;
  }
  if (!options.short) {
    return `claude-print ${deno.version} (wrapping claude ${version ?? "not found"})`;
  }
  if (version === undefined) throw problem;
  return `${version} (Claude Code)`;
}
