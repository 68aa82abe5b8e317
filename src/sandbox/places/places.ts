import { absoluteDir } from "../absolute_path.ts";
import type { Environment } from "../environment.ts";
import { pathVariable } from "../path_variable.ts";

/** Where temporary files may go on every Linux. */
const COMMON = ["/tmp", "/var/tmp"];

/**
 * The places where runs may have their private folders, `TMPDIR` first; without links, each once. The second is the
 * user's own, if there is one: what `XDG_RUNTIME_DIR` names is nobody's working directory.
 */
export function places(env: Environment): readonly [string, ...string[]] {
  const runtimeDir = env["XDG_RUNTIME_DIR"] ?? "";
  const first = absoluteDir(tempDir(env));
  const others = [...(runtimeDir.startsWith("/") ? [runtimeDir] : []), ...COMMON].map(absoluteDir);
  return [first, ...new Set(others.filter((place) => place !== first))];
}

/**
 * The folder in which runs have their private folders: `TMPDIR`, as for Claude Code itself.
 *
 * @throws {CliError} when it is not UTF-8
 */
function tempDir(env: Environment): string {
  return pathVariable(env, "TMPDIR") || "/tmp";
}
