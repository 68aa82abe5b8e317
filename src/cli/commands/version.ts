import deno from "../../../deno.json" with { type: "json" };
import { askVersion } from "../../claude/program/ask_version.ts";
import { CliError } from "../../cli_error.ts";
import { findClaude } from "../../claude/program/find_claude.ts";

/**
 * What `--version` prints: Claude Code's own line first, because callers take the first `N.N.N` for its version, and
 * then the one of this program. With `short` it is what `-v` prints: Claude Code's line alone, which the Agent SDKs read.
 *
 * @throws {CliError} with `short`, when there is no Claude Code
 */
export async function versionText(options: {
  readonly short: boolean;
  readonly claudeBinary?: string;
}): Promise<string> {
  const own = `claude-print ${deno.version}\n`;
  try {
    const claude = await claudeLine(options);
    return options.short ? claude : `${claude}${own}`;
  } catch (error) {
    if (options.short) throw error;
    return own;
  }
}

async function claudeLine(
  { claudeBinary }: { readonly claudeBinary?: string },
): Promise<string> {
  const env = Deno.env.toObject();
  const binary = findClaude({ named: claudeBinary, env, cwd: Deno.cwd() });
  const version = await askVersion(binary, env);
  if (version !== undefined) return `${version} (Claude Code)\n`;
  throw new CliError(`Cannot use "${binary}": it is not Claude Code`, {
    suggestion: "Name Claude Code's executable with --claude-binary",
  });
}
