import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import type { Settings, SettingsSource } from "../../../sandbox/child/read_settings.ts";
import { isSwitchedOn } from "../../../sandbox/environment.ts";
import { isVersionAtLeast } from "../../../claude/versions/compare_versions.ts";
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
  /** The version of Claude Code; where it is not known, the stricter rules hold. */
  readonly version?: string | undefined;
}

/** The modes in which Claude Code carries out calls that it asks about in others. */
export const LOOSE: readonly string[] = ["acceptEdits", "auto", "bypassPermissions"];

/** The oldest version that is known. */
const OLDEST = "2.1.168";

/** Who may turn on a mode that lets tools run unasked: nobody who only has a say about a project. */
const TRUSTED: readonly SettingsSource[] = ["user", "flags", "managed"];

/** The modes that settings may name for a session on the web. */
const REMOTE_MODES: readonly unknown[] = ["acceptEdits", "auto", "default", "plan"];

/**
 * The permission mode in which `claude -p` begins (2.1.197 and 2.1.330, measured for every cell of the table in
 * `fixtures/permissions/permission_modes.json`).
 *
 * It has to be named for the interactive Claude Code: where nobody names a mode that counts, 2.1.330 begins in auto mode
 * and lets a model allow tools that `claude -p` denies.
 *
 * - flags come before settings, of which the last that names one counts, whatever it names
 * - "auto" counts where the user, a flag or an administrator names it, and until 2.1.197 so did "bypassPermissions" of a
 *   project; of the releases between it and 2.1.330 nothing is known
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
  return mode === undefined || (mode === "auto" && withoutAuto) ? "default" : mode;
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

/** Whether a run begins in another mode with another version: only then it has to be asked for, which takes up to 90 ms. */
export function modeHangsOnVersion(facts: ModeFacts): boolean {
  return permissionMode({ ...facts, version: undefined }) !==
    permissionMode({ ...facts, version: OLDEST });
}

/** The mode that settings name, as far as they may. */
function modeOfSettings({ settings, remote, version }: ModeFacts): string | undefined {
  const modes = settings.map(({ source, values }) => ({
    source,
    mode: permissionsOf(values)["defaultMode"],
  }));
  const mode = modes.findLast((each) => each.mode !== undefined)?.mode;
  if (typeof mode !== "string" || (remote && !REMOTE_MODES.includes(mode))) return undefined;
  const isOfTrusted = modes.some((each) => each.mode === mode && TRUSTED.includes(each.source));
  if (mode === "auto") return isOfTrusted ? mode : undefined;
  if (mode === "bypassPermissions" && !isOfTrusted) {
    const isOld = version !== undefined && !isVersionAtLeast(version, "2.1.198");
    return isOld ? mode : "default";
  }
  return mode === "manual" ? "default" : mode;
}

function permissionsOf({ permissions }: JsonObject): JsonObject {
  return isJsonObject(permissions) ? permissions : {};
}
