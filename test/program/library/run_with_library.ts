import type { ThrowawayHome } from "../../../fixtures/throwaway_home.ts";
import { type Run, run, type RunOptions } from "../../../src/library/mod.ts";

/** `run()` in the test's own process, with a Claude Code and a home that exist for the test. */
export function runWithLibrary(
  claude: { readonly binary: string; readonly home: ThrowawayHome },
  { prompt, args = [], ...options }: RunOptions & { readonly prompt: string },
): Run {
  return run(prompt, {
    cwd: claude.home.project,
    env: claude.home.env,
    args: ["--claude-binary", claude.binary, ...args],
    ...options,
  });
}
