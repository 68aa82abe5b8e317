import type { PlanFacts } from "../../../src/run/plan/plan_facts.ts";
import type { Initialized, RunOrder } from "../../../src/run/plan/run_order.ts";
import type { Settings } from "../../../src/sandbox/child/read_settings.ts";

/** An order whose caller has sent `initialize`. */
export function initialized(more: Partial<Initialized> = {}): Partial<RunOrder> {
  return { initialized: { id: "i", callbacks: [], servers: [], ...more } };
}

const read = (source: Settings["source"]) => (values: Settings["values"]): Partial<PlanFacts> => ({
  settings: [{ source, values }],
});
export const [user, project, local, flags] = [
  ...[read("user"), read("project"), read("local"), read("flags")],
] as const;

/** Facts with the settings of several sources; the last source wins. */
export function both(...parts: readonly Partial<PlanFacts>[]): Partial<PlanFacts> {
  return { settings: parts.flatMap(({ settings = [] }) => settings) };
}
