import { CliError } from "../../cli_error.ts";
import { absolutePath } from "../../paths.ts";

/**
 * Finds the executable of Claude Code: the path or name that the caller gave, else `claude`. A name is looked up on the
 * caller's PATH, where shims of claude-print are skipped.
 *
 * @param options.flag the flag that names the executable, for error messages
 * @throws {CliError} if it does not exist or is not executable
 */
export function findClaude(
  options: {
    readonly named: string | undefined;
    readonly env: Readonly<Record<string, string>>;
    readonly cwd: string;
    readonly flag?: string;
  },
): string {
  const { named, env, cwd, flag = "--claude-binary" } = options;
  if (named !== undefined && named.includes("/")) {
    const path = absolutePath(named, cwd);
    switch (executability(path)) {
      case "yes":
        return path;
      case "no":
        throw new CliError(`Cannot start claude: "${named}" is not an executable file`, {
          suggestion: `Make it executable: chmod +x "${named}"`,
        });
      case "missing":
        throw new CliError(`Cannot start claude: "${named}" does not exist`, {
          suggestion: `Give ${flag} the path of Claude Code's executable`,
        });
    }
  }
  const name = named ?? "claude";
  let blocked: string | undefined;
  for (const dir of (env["PATH"] ?? "/usr/local/bin:/usr/bin:/bin").split(":")) {
    const path = `${dir === "" ? cwd : absolutePath(dir, cwd)}/${name}`;
    const found = executability(path);
    if (found === "yes" && !isShim(path)) return path;
    if (found === "no") blocked ??= path;
  }
  if (blocked !== undefined) {
    throw new CliError(`Cannot start claude: "${blocked}" is not an executable file`, {
      suggestion: `Make it executable: chmod +x "${blocked}"`,
    });
  }
  throw new CliError(`Cannot start claude: "${name}" is not on PATH`, {
    suggestion:
      `Install Claude Code (npm install -g @anthropic-ai/claude-code) or name it with ${flag}`,
  });
}

function executability(path: string): "yes" | "no" | "missing" {
  try {
    const { isFile, mode } = Deno.statSync(path);
    return isFile && ((mode ?? 0) & 0o111) !== 0 ? "yes" : "no";
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    return error instanceof Deno.errors.PermissionDenied ? "no" : "missing";
  }
}

/** The beginning of the second line of every shim. `isShim` recognises shims by it. */
export const SHIM_MARK = "# claude-print shim";

/** The bytes of a file that are read: its first two lines. */
const HEAD_BYTES = 256;

/** Returns true for a shim of claude-print, which must never be started as the real claude. */
export function isShim(path: string): boolean {
  try {
    using file = Deno.openSync(path);
    const head = new Uint8Array(HEAD_BYTES);
    const length = file.readSync(head) ?? 0;
    const [first, second] = new TextDecoder().decode(head.subarray(0, length)).split("\n");
    return first === "#!/bin/sh" && second?.startsWith(SHIM_MARK) === true;
  } catch {
    // Every user can read a shim, so an unreadable file is another program.
    return false;
  }
}
