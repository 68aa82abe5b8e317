import { exec } from "../../ffi/processes/exec.ts";
import { askVersion } from "../claude/ask_version.ts";
import { findClaude } from "../claude/find_claude.ts";
import { SUBCOMMANDS } from "../claude/subcommands.ts";
import { currentFolder } from "../run/facts/current_folder.ts";
import { callerEnvironment } from "../sandbox/environment.ts";
import { isVersionAtLeast } from "../claude/versions/compare_versions.ts";

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
  if (!SUBCOMMANDS.some(({ version }) => isSubcommand(args, version))) return;
  const env = callerEnvironment();
  const binary = findClaude({ named, env, cwd: currentFolder() });
  if (isSubcommand(args, await askVersion(binary, env))) exec(binary, args);
}

/**
 * Whether a version of Claude Code takes the first argument for a subcommand. With `-p` or `--print` anywhere before
 * `--` it does not (2.1.197 and 2.1.330).
 *
 * @param version if it is not known, the newest measured one is assumed
 */
export function isSubcommand(args: readonly string[], version: string | undefined): boolean {
  const end = args.indexOf("--");
  const flags = end === -1 ? args : args.slice(0, end);
  if (flags.includes("-p") || flags.includes("--print")) return false;
  const measured =
    SUBCOMMANDS.findLast((each) =>
      version === undefined || isVersionAtLeast(version, each.version)
    ) ?? SUBCOMMANDS[0];
  return measured?.words.includes(args[0] ?? "") ?? false;
}
