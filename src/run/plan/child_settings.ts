import type { RunOrder } from "./run_order.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";

const ALLOWING = "--allow-dangerously-skip-permissions";

/** Whether a mode without permissions may be had later, in which a run does not begin. */
export function allowsBypass({ forwarded }: Pick<RunOrder, "forwarded">): boolean {
  return forwarded.includes(ALLOWING);
}

/**
 * Settings for a child of which a mode without permissions may be had later: that takes another child, and this one is not
 * to have it. Where it has, the interactive Claude Code lets everything through in plan mode, into which a model goes by
 * itself, where `claude -p` asks.
 *
 * Claude Code gets the flag all the same: there are users to whom it is denied.
 */
export function withoutBypass(
  caller: JsonObject,
  { forwarded, mode }: Pick<RunOrder, "forwarded"> & { readonly mode: string },
): JsonObject {
  if (!allowsBypass({ forwarded }) || mode === "bypassPermissions") return caller;
  const permissions = isJsonObject(caller["permissions"]) ? caller["permissions"] : {};
  return {
    ...caller,
    permissions: { ...permissions, disableBypassPermissionsMode: "disable" },
  };
}
