import { type Settings, valuesOf } from "../../../sandbox/child/read_settings.ts";
import { isSwitchedOn } from "../../../sandbox/environment.ts";
import { isJsonObject } from "../../../json_object.ts";
import type { RunOrder } from "../run_order.ts";

/** With it `claude -p` keeps what files were before they were edited; the interactive Claude Code always does. */
const KEEPING = "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING";

/** Whether what files were before is kept with the session, and is there to be restored. */
export function keepsBackups(
  { env, persistSession, rewindsTo }: Pick<RunOrder, "env" | "persistSession" | "rewindsTo">,
  settings: readonly Settings[],
): boolean {
  if (!persistSession && rewindsTo === undefined) return false;
  const all = valuesOf(settings).map((values) =>
    isJsonObject(values["env"]) ? values["env"][KEEPING] : undefined
  );
  const last = all.findLast((value) => typeof value === "string");
  return isSwitchedOn(typeof last === "string" ? last : env[KEEPING]);
}
