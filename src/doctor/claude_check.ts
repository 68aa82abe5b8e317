import { claudeVersion } from "../driver/claude_version.ts";
import { findClaude } from "../run/facts/find_claude.ts";
import type { Environment } from "../sandbox/environment.ts";
import type { Check } from "./check.ts";
import { claudeVerdict } from "./claude_verdict.ts";

/**
 * Whether there is a Claude Code that the program can drive: the one that a run would start.
 *
 * @throws {CliError} when there is none
 */
export async function claudeCheck(options: {
  readonly named: string | undefined;
  readonly env: Environment;
  readonly cwd: string;
}): Promise<Check> {
  const binary = findClaude(options);
  return claudeVerdict({ binary, version: await claudeVersion(binary, options.env) });
}
