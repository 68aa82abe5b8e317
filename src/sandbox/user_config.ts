import { CliError } from "../cli_error.ts";
import { type Environment, pathVariable } from "./environment.ts";

/** Where the user's own Claude Code keeps its things. */
export interface UserConfig {
  /** The config dir: settings, transcripts, memory. */
  readonly dir: string;
  /** The `.claude.json` with accounts, trusted folders and user-level MCP servers. */
  readonly claudeJson: string;
  /** The folder whose `.credentials.json` holds the login, read and refreshed there. */
  readonly loginDir: string;
}

/** Set for the child, so that a claude-print started by one of its tools finds the user's config dir and not the sandbox. */
export const USER_CONFIG_VARIABLE = "CLAUDE_PRINT_USER_CONFIG_DIR";

/**
 * Finds the user's config dir as Claude Code does: `CLAUDE_CONFIG_DIR`, else `.claude` in the home folder.
 *
 * `CLAUDE_SECURESTORAGE_CONFIG_DIR` moves the login alone; empty, it means `.claude` in the home folder.
 *
 * @throws {CliError} when neither variable nor a home folder is known, or it is not UTF-8
 */
export function locateUserConfig(env: Environment): UserConfig {
  const configured = pathVariable(env, USER_CONFIG_VARIABLE) ??
    pathVariable(env, "CLAUDE_CONFIG_DIR") ?? "";
  const storage = pathVariable(env, "CLAUDE_SECURESTORAGE_CONFIG_DIR");
  const isHomeNeeded = configured === "" || storage === "";
  const home = isHomeNeeded ? pathVariable(env, "HOME") : undefined;
  if (configured === "" && (home === undefined || home === "")) {
    throw new CliError("Cannot find the login of Claude Code: HOME is not set", {
      suggestion: "Set HOME, or CLAUDE_CONFIG_DIR to the config dir of Claude Code",
    });
  }
  const dir = configured === "" ? `${home}/.claude` : configured;
  return {
    dir,
    claudeJson: configured === "" ? `${home}/.claude.json` : `${dir}/.claude.json`,
    loginDir: storage === undefined ? dir : storage === "" ? `${home}/.claude` : storage,
  };
}
