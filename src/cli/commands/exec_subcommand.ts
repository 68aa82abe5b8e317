import { exec } from "../../../ffi/processes/exec.ts";
import { askVersion } from "../../claude/program/ask_version.ts";
import { findClaude } from "../../claude/program/find_claude.ts";
import { subcommandsOf } from "../../claude/versions/profiles.ts";
import { currentFolder } from "../../run/facts/this_process.ts";
import { callerEnvironment } from "../../sandbox/environment.ts";

/**
 * Becomes the real claude if its first argument is a subcommand of the installed version, such as `mcp`. Returns if it
 * is a prompt. Nothing has been read from stdin by then.
 *
 * @param options.named the claude executable, if the caller names one
 * @throws {CliError} when there is no claude to start
 */
export async function execSubcommand(
  args: readonly string[],
  { named }: { readonly named: string | undefined },
): Promise<void> {
  if (!isSubcommand(args, undefined)) return;
  const env = callerEnvironment();
  const binary = findClaude({ named, env, cwd: currentFolder() });
  if (isSubcommand(args, await askVersion(binary, env))) exec(binary, args);
}

/**
 * Whether a version of Claude Code takes the first argument for a subcommand. With `-p` or `--print` anywhere before
 * `--` it does not.
 *
 * @param version any version if undefined
 */
export function isSubcommand(args: readonly string[], version: string | undefined): boolean {
  const end = args.indexOf("--");
  const flags = end === -1 ? args : args.slice(0, end);
  if (flags.includes("-p") || flags.includes("--print")) return false;
  return subcommandsOf(version).includes(args[0] ?? "");
}
