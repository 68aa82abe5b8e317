import deno from "../../../deno.json" with { type: "json" };
import { exec } from "../../../ffi/processes/exec.ts";
import { askVersion } from "../../claude/program/claude_version.ts";
import { findClaude } from "../../claude/program/find_claude.ts";
import { subcommandsOf } from "../../claude/versions/profiles.ts";
import { currentFolder } from "../../run/facts/this_process.ts";
import { callerEnvironment } from "../../sandbox/environment.ts";
import { CliError, type UnsupportedError } from "../../cli_error.ts";
import { restoreCredentials } from "../../sandbox/child/passed_credentials.ts";
import { print } from "../report/print.ts";

/**
 * Executes the real claude if the first argument is a subcommand of the installed version, such as `mcp`. Returns if it is a
 * prompt. stdin is not read.
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
 * Returns true if a version of Claude Code treats the first argument as a subcommand. It does not with `-p` or
 * `--print` before `--`.
 *
 * @param version undefined for any version
 */
export function isSubcommand(args: readonly string[], version: string | undefined): boolean {
  const end = args.indexOf("--");
  const flags = end === -1 ? args : args.slice(0, end);
  if (flags.includes("-p") || flags.includes("--print")) return false;
  return subcommandsOf(version).includes(args[0] ?? "");
}

/**
 * Executes the real claude for an unsupported command line that came from the shim, after a warning on stderr. Text
 * that was already read from stdin is put back.
 *
 * @param argv `--shim-for`, the real claude, and its arguments
 * @throws LibcError when it cannot be started
 */
export function execClaude(argv: readonly string[], { message, stdin }: UnsupportedError): never {
  const [, claude = "", ...args] = argv;
  restoreCredentials();
  print(Deno.stderr, `claude-print: Warning: ${message}; handed on to ${claude}\n`);
  if (stdin === undefined) exec(claude, args);
  const path = Deno.makeTempFileSync({ prefix: "claude-print-" });
  Deno.writeTextFileSync(path, stdin);
  exec(claude, args, { stdin: path });
}

/**
 * Returns the output of `--version`: the line of Claude Code, whose first `N.N.N` callers read as its version, and the
 * line of this program. With `short`, for `-v`, it is only the line of Claude Code, which the Agent SDKs parse.
 *
 * @throws {CliError} with `short`, when there is no Claude Code
 */
export async function versionText(options: {
  readonly short: boolean;
  readonly claudeBinary?: string;
}): Promise<string> {
  const own = `claude-print ${deno.version}\n`;
  try {
    const claude = await claudeVersionLine(options);
    return options.short ? claude : `${claude}${own}`;
  } catch (error) {
    if (options.short) throw error;
    return own;
  }
}

async function claudeVersionLine(
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
