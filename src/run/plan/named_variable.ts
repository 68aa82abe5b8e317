import { isJsonObject, type JsonObject } from "../../json_object.ts";
import type { Environment } from "../../sandbox/environment.ts";

/**
 * A variable as Claude Code has it: what settings say of it comes before the caller's environment, the last ones first.
 *
 * @param options.settings what Claude Code reads for the run
 */
export function namedVariable(
  name: string,
  { env, settings }: { readonly env: Environment; readonly settings: readonly JsonObject[] },
): string {
  const all = settings.map(({ env }) => isJsonObject(env) ? env[name] : undefined);
  const last = all.findLast((value) => typeof value === "string");
  return typeof last === "string" ? last : env[name] ?? "";
}
