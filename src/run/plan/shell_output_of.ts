import type { RunOrder } from "./run_order.ts";

/**
 * How the output of shells is printed while they run. A command line that asks for it may be somebody else's: the
 * variable takes it back.
 */
export function shellOutputOf({ shellOutput, env }: RunOrder): RunOrder["shellOutput"] {
  return env["CLAUDE_PRINT_SHELL_OUTPUT"] === "off" ? undefined : shellOutput;
}
