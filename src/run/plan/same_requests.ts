import type { RunOrder } from "./run_order.ts";
import type { Environment } from "../../sandbox/environment.ts";

/** Keeps Claude Code from automatic memory, which grows from run to run. */
export const WITHOUT_MEMORY = "CLAUDE_CODE_DISABLE_AUTO_MEMORY";

/**
 * What lets Claude Code say the same in each run, with `--deterministic` (2.1.330): no memory, no state of
 * the project's repository, and no line with which it says what it is, in which there is a checksum of the rest. The
 * relay sees to what it cannot be told to leave out.
 */
export function sameRequests(
  { deterministic }: { readonly deterministic?: RunOrder["deterministic"] | undefined },
): Environment {
  return deterministic !== true ? {} : {
    [WITHOUT_MEMORY]: "1",
    CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS: "1",
    CLAUDE_CODE_ATTRIBUTION_HEADER: "0",
  };
}
