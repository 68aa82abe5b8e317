import type { RunOrder } from "../run_order.ts";
import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import { isVersionAtLeast } from "../../../claude/versions/compare_versions.ts";

const ALLOWING = "--allow-dangerously-skip-permissions";

/** Whether a mode without permissions may be had later, in which a run does not begin. */
export function allowsBypass({ forwarded }: Pick<RunOrder, "forwarded">): boolean {
  return forwarded.includes(ALLOWING);
}

/**
 * Settings for a child of which a mode without permissions may be had later: that takes another child, and this one is not
 * to have it. Where it has, the interactive Claude Code lets everything through in plan mode, into which a model goes by
 * itself; so does `claude -p` until 2.1.197, but that of 2.1.330 asks.
 *
 * Claude Code gets the flag all the same: there are users to whom it is denied.
 *
 * @param options.version where it is not known, the stricter rule holds
 */
export function withoutBypass(
  caller: JsonObject,
  { forwarded, mode, version }: Pick<RunOrder, "forwarded"> & {
    readonly mode: string;
    readonly version: string | undefined;
  },
): JsonObject {
  const isOld = version !== undefined && !isVersionAtLeast(version, "2.1.198");
  if (!allowsBypass({ forwarded }) || mode === "bypassPermissions" || isOld) return caller;
  const permissions = isJsonObject(caller["permissions"]) ? caller["permissions"] : {};
  return {
    ...caller,
    permissions: { ...permissions, disableBypassPermissionsMode: "disable" },
  };
}
