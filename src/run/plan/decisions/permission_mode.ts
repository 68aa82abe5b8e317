import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import type { Settings, SettingsSource } from "../../../sandbox/child/read_settings.ts";
import { hasCapability } from "../../../claude/versions/profiles.ts";
import { isSwitchedOn } from "../../../sandbox/environment.ts";
import type { RunOrder } from "../run_order.ts";

/** What decides in which mode a run begins. */
export interface ModeFacts {
  /** The value of `--permission-mode`. */
  readonly asked?: string | undefined;
  /** Whether `--dangerously-skip-permissions` was given. */
  readonly skipped: boolean;
  /** What Claude Code reads for the run, later ones overriding earlier ones. */
  readonly settings: readonly Settings[];
  /** Whether `CLAUDE_CODE_REMOTE` makes it a session of Claude Code on the web. */
  readonly remote: boolean;
  /** The version of Claude Code; the stricter mode holds if it is not known. */
  readonly version?: string | undefined;
}

/** The modes in which Claude Code carries out calls that it asks about in others. */
export const LOOSE: readonly string[] = ["acceptEdits", "auto", "bypassPermissions"];

/** Who may turn on a mode that lets tools run unasked: nobody who only has a say about a project. */
const TRUSTED: readonly SettingsSource[] = ["user", "flags", "managed"];

/** The modes that settings may name for a session on the web. */
const REMOTE_MODES: readonly unknown[] = ["acceptEdits", "auto", "default", "plan"];

/**
 * The permission mode in which `claude -p` begins (measured for every cell of the table in
 * `fixtures/permissions/permission_modes.json`).
 *
 * It has to be named for the interactive Claude Code: where no mode that counts is named, it begins in auto mode
 * and lets a model allow tools that `claude -p` denies, but in 2.1.285 to 2.1.301, in which both do.
 *
 * - flags come before settings, of which the last that names one counts, whatever it names
 * - "auto" and "bypassPermissions" count only if the user, a flag or an administrator names them
 * - any settings may disable both
 */
export function permissionMode(facts: ModeFacts): string {
  const values = facts.settings.map((each) => each.values);
  const permissions = values.map(permissionsOf);
  const isDisabled = (name: string, among: readonly JsonObject[]) =>
    among.findLast((each) => each[name] !== undefined)?.[name] === "disable";
  const mode = [
    facts.skipped ? "bypassPermissions" : undefined,
    facts.asked,
    modeOfSettings(facts),
  ].find((each) =>
    each !== undefined &&
    !(each === "bypassPermissions" && isDisabled("disableBypassPermissionsMode", permissions))
  );
  const withoutAuto = isDisabled("disableAutoMode", permissions) ||
    isDisabled("disableAutoMode", values);
  const begun = mode ?? (hasCapability(facts.version, "beginsInAutoMode") ? "auto" : "default");
  return begun === "auto" && withoutAuto ? "default" : begun;
}

/** What decides in which mode a run begins, but for the version. */
export function modeFacts(
  order: Pick<RunOrder, "permissionMode" | "dangerouslySkipPermissions" | "env">,
  settings: readonly Settings[],
): ModeFacts {
  return {
    asked: order.permissionMode,
    skipped: order.dangerouslySkipPermissions,
    settings,
    remote: isSwitchedOn(order.env["CLAUDE_CODE_REMOTE"]),
  };
}

/** The mode that settings name, as far as they may. */
function modeOfSettings({ settings, remote }: ModeFacts): string | undefined {
  const modes = settings.map(({ source, values }) => ({
    source,
    mode: permissionsOf(values)["defaultMode"],
  }));
  const mode = modes.findLast((each) => each.mode !== undefined)?.mode;
  if (typeof mode !== "string" || (remote && !REMOTE_MODES.includes(mode))) return undefined;
  const isOfTrusted = modes.some((each) => each.mode === mode && TRUSTED.includes(each.source));
  if (mode === "auto") return isOfTrusted ? mode : undefined;
  if (mode === "bypassPermissions" && !isOfTrusted) return "default";
  return mode === "manual" ? "default" : mode;
}

function permissionsOf({ permissions }: JsonObject): JsonObject {
  return isJsonObject(permissions) ? permissions : {};
}
