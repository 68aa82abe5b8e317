import { CliError } from "../../cli_error.ts";
import type { UserConfig } from "../user_config.ts";

/** Claude Code has nothing to log in with. */
export function noLoginError({ loginDir }: UserConfig): CliError {
  return new CliError(`Cannot log in to Claude: there is no login in ${loginDir}`, {
    suggestion: "Run: claude /login, or set CLAUDE_CODE_OAUTH_TOKEN or ANTHROPIC_API_KEY",
  });
}
