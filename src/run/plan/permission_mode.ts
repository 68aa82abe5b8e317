import { hasCapability } from "../../claude/versions/profiles.ts";
import { UnsupportedError } from "../../cli_error.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";
import type { Settings, SettingsSource } from "../../sandbox/child/read_settings.ts";
import { isSwitchedOn } from "../../sandbox/environment.ts";
import type { RunOrder } from "./run_order.ts";

/** Modes in which Claude Code carries out calls for which other modes ask permission. */
export const LOOSE: readonly string[] = ["acceptEdits", "auto", "bypassPermissions"];

/** Settings that may choose a mode in which tools run without permission. Settings of a project may not. */
const TRUSTED: readonly SettingsSource[] = ["user", "flags", "managed"];

/** The modes that settings may choose for a session on the web. */
const REMOTE_MODES: readonly unknown[] = ["acceptEdits", "auto", "default", "plan"];

const ALLOW_BYPASS = "--allow-dangerously-skip-permissions";

/** Whether the caller may later switch to a mode without permissions. */
export function allowsBypass({ forwarded }: Pick<RunOrder, "forwarded">): boolean {
  return forwarded.includes(ALLOW_BYPASS);
}

/**
 * The permission mode in which `claude -p` begins, measured for each cell of
 * `fixtures/permissions/permission_modes.json`:
 *
 * - flags override settings
 * - among settings, only the last one that names a mode counts
 * - "auto" and "bypassPermissions" count only from the user, a flag or an administrator
 * - any settings may disable both
 *
 * The interactive Claude Code gets this mode as a flag. Otherwise it begins in auto mode, in which a model may allow
 * tools that `claude -p` denies. (In 2.1.285 to 2.1.301 both begin in auto mode.)
 *
 * @param facts.version the stricter mode is chosen if it is undefined
 */
export function permissionMode(
  order: Pick<RunOrder, "permissionMode" | "dangerouslySkipPermissions" | "env">,
  { settings, version }: {
    readonly settings: readonly Settings[];
    readonly version?: string | undefined;
  },
): string {
  const values = settings.map((each) => each.values);
  const permissions = values.map(permissionsOf);
  const isDisabled = (name: string, among: readonly JsonObject[]) =>
    among.findLast((each) => each[name] !== undefined)?.[name] === "disable";
  const chosen = [
    order.dangerouslySkipPermissions ? "bypassPermissions" : undefined,
    order.permissionMode,
    modeOfSettings(settings, { isRemote: isSwitchedOn(order.env["CLAUDE_CODE_REMOTE"]) }),
  ].find((mode) =>
    mode !== undefined &&
    !(mode === "bypassPermissions" && isDisabled("disableBypassPermissionsMode", permissions))
  );
  const isAutoDisabled = isDisabled("disableAutoMode", permissions) ||
    isDisabled("disableAutoMode", values);
  const mode = chosen ?? (hasCapability(version, "beginsInAutoMode") ? "auto" : "default");
  return mode === "auto" && isAutoDisabled ? "default" : mode;
}

/** The mode that settings choose, if they may. */
function modeOfSettings(
  settings: readonly Settings[],
  { isRemote }: { readonly isRemote: boolean },
): string | undefined {
  const modes = settings.map(({ source, values }) => ({
    source,
    mode: permissionsOf(values)["defaultMode"],
  }));
  const mode = modes.findLast((each) => each.mode !== undefined)?.mode;
  if (typeof mode !== "string" || (isRemote && !REMOTE_MODES.includes(mode))) return undefined;
  const isTrusted = modes.some((each) => each.mode === mode && TRUSTED.includes(each.source));
  if (mode === "auto") return isTrusted ? mode : undefined;
  if (mode === "bypassPermissions" && !isTrusted) return "default";
  return mode === "manual" ? "default" : mode;
}

function permissionsOf({ permissions }: JsonObject): JsonObject {
  return isJsonObject(permissions) ? permissions : {};
}

/** Flags that turn off all hooks, including ours, and variables with the same effect. */
const HOOKLESS = [
  { flag: "--bare", variable: "CLAUDE_CODE_SIMPLE" },
  { flag: "--safe-mode", variable: "CLAUDE_CODE_SAFE_MODE" },
] as const;

/** The flag that turns off all hooks, set by the flag itself or by its variable. */
export function hooklessFlag(
  { forwarded, env }: Pick<RunOrder, "forwarded" | "env">,
): string | undefined {
  return HOOKLESS.find(({ flag, variable }) =>
    forwarded.includes(flag) || isSwitchedOn(env[variable])
  )?.flag;
}

/**
 * Child modes that decide every permission without asking, by the mode of the run. In "default" a hook of ours denies
 * permissions; without hooks "dontAsk" does.
 */
const UNASKED = { default: "dontAsk", dontAsk: "dontAsk", bypassPermissions: "bypassPermissions" };

/**
 * The permission mode of a child without hooks.
 *
 * @throws {UnsupportedError} when the order asks for a feature that needs hooks
 */
export function modeWithoutHooks(
  order: RunOrder,
  { flag, mode }: { readonly flag: string; readonly mode: string },
): string {
  const needingHooks = [
    [order.prompt === undefined, "a conversation"],
    [order.maxTurns !== undefined && !(order.maxTurns >= 1 && hasNoTools(order)), "--max-turns"],
    [order.maxBudgetUsd !== undefined, "--max-budget-usd"],
    [order.jsonSchema !== undefined, "--json-schema"],
    [order.promptTool !== undefined, "--permission-prompt-tool"],
    [order.partialMessages && !order.exactStream, "live text without --exact-stream"],
    [order.mcpConfigs.length > 0 && flag === "--bare", "--mcp-config"],
    [order.inheritHooks, "--inherit-hooks"],
    [!Object.hasOwn(UNASKED, mode), `the permission mode ${mode}`],
  ] as const;
  const unsupported = needingHooks.find(([isAsked]) => isAsked)?.[1];
  if (unsupported !== undefined) {
    throw new UnsupportedError(
      `Cannot honour ${flag} with ${unsupported}: it turns off the hooks by which claude-print does that`,
      { suggestion: "Leave out one of them, or use claude -p" },
    );
  }
  return UNASKED[mode as keyof typeof UNASKED];
}

/**
 * Whether the model has no tools, so that a turn is exactly one request. An empty `--tools` removes Claude Code's own
 * tools; plugins may add others.
 */
function hasNoTools({ forwarded }: Pick<RunOrder, "forwarded">): boolean {
  const named = forwarded.filter((argument) => argument.startsWith("--tools="));
  return named.length > 0 && named.every((argument) => /^--tools=[\s,]*$/u.test(argument)) &&
    !forwarded.some((argument) => argument.startsWith("--plugin-"));
}
