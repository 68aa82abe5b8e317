import { namedVariable } from "../../plan/named_variable.ts";
import type { RunOrder } from "../../plan/run_order.ts";
import { isSwitchedOn } from "../../../sandbox/environment.ts";
import type { JsonObject } from "../../../json_object.ts";

/** Whether Claude Code traces its turns as OpenTelemetry spans. */
export function tracesSpans(
  { env }: Pick<RunOrder, "env">,
  settings: readonly JsonObject[],
): boolean {
  const isOn = (name: string) => isSwitchedOn(namedVariable(name, { env, settings }));
  return isOn("CLAUDE_CODE_ENABLE_TELEMETRY") &&
    (isOn("CLAUDE_CODE_ENHANCED_TELEMETRY_BETA") || isOn("ENABLE_ENHANCED_TELEMETRY_BETA"));
}
