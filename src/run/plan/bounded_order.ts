import type { JsonObject } from "../../json_object.ts";
import { namedVariable } from "./named_variable.ts";
import type { RunOrder } from "./run_order.ts";

/** The variable by which `claude -p` takes how many requests a turn may make, where no flag says so. */
const TURNS = "CLAUDE_CODE_MAX_TURNS";

/**
 * An order with the limit of turns that a variable names, which the interactive Claude Code does not heed. One that makes
 * no sense it refuses itself, as `claude -p` does (2.1.197 and 2.1.330).
 *
 * @param settings what Claude Code reads for the run
 */
export function boundedOrder(order: RunOrder, settings: readonly JsonObject[]): RunOrder {
  if (order.maxTurns !== undefined) return order;
  const turns = namedVariable(TURNS, { env: order.env, settings });
  return /^[1-9]\d*$/u.test(turns) ? { ...order, maxTurns: Number(turns) } : order;
}
