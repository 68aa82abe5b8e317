import { CliError } from "../../cli_error.ts";
import { absolutePath } from "../../paths.ts";

/**
 * The claude executable: the path the caller named, else the first `claude` on the caller's PATH that is not our
 * own shim.
 *
 * @param options.flag by which it is named
 * @throws {CliError} when there is none or it cannot be executed
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

/** How the second line of every shim begins: by it shims know themselves and each other. */
export const SHIM_MARK = "# claude-print shim";

/** Enough of a file to hold its second line. */
const HEAD_BYTES = 256;

/** Whether an executable is a shim of claude-print, which must never be taken for the real claude. */
export function isShim(path: string): boolean {
  try {
    using file = Deno.openSync(path);
    const head = new Uint8Array(HEAD_BYTES);
    const length = file.readSync(head) ?? 0;
    const [first, second] = new TextDecoder().decode(head.subarray(0, length)).split("\n");
    return first === "#!/bin/sh" && second?.startsWith(SHIM_MARK) === true;
  } catch {
    // A shim can be read by everybody, so this is another program.
    return false;
  }
}
