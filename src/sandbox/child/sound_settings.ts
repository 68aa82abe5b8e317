import { isJsonObject, type JsonObject } from "../../transcript/json_object.ts";

/** Values of `permissions.defaultMode`; "manual" is another name for "default". */
const MODES: readonly unknown[] = [
  ...["acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "manual", "plan"],
  undefined,
];

/**
 * Whether Claude Code takes settings for what they say of the permission mode: with a mode that there is not it drops all
 * that stands beside it too (2.1.197 and 2.1.330).
 */
export function areSoundSettings({ permissions }: JsonObject): boolean {
  if (permissions === undefined) return true;
  return isJsonObject(permissions) && MODES.includes(permissions["defaultMode"]);
}
