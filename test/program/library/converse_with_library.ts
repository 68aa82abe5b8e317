import type { ThrowawayHome } from "../../../fixtures/throwaway_home.ts";
import { type Conversation, converse, type ConverseOptions } from "../../../src/library/mod.ts";

/** `converse()` in the test's own process, with a Claude Code and a home that exist for the test. */
export function converseWithLibrary(
  claude: { readonly binary: string; readonly home: ThrowawayHome },
  { args = [], ...options }: ConverseOptions = {},
): Conversation {
  return converse({
    cwd: claude.home.project,
    env: claude.home.env,
    args: ["--claude-binary", claude.binary, ...args],
    ...options,
  });
}
