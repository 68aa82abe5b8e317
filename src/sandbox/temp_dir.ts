import type { Environment } from "./user_config.ts";

/** The folder in which runs have their private folders: `TMPDIR`, as for Claude Code itself. */
export function tempDir(env: Environment): string {
  return env["TMPDIR"] || "/tmp";
}
