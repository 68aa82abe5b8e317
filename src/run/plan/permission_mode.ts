import { isJsonObject, type JsonObject } from "../../json_object.ts";
import type { Settings, SettingsSource } from "../../sandbox/child/read_settings.ts";
import { hasCapability } from "../../claude/versions/profiles.ts";
import { isSwitchedOn } from "../../sandbox/environment.ts";
import type { RunOrder } from "./run_order.ts";
import { UnsupportedError } from "../../cli_error.ts";

/** What decides in which mode a run begins. */
interface ModeFacts {
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

/** Flags with which Claude Code runs no hooks, whoever registers them, and variables that do the same. */
const SWITCHES = [
  { flag: "--bare", variable: "CLAUDE_CODE_SIMPLE" },
  { flag: "--safe-mode", variable: "CLAUDE_CODE_SAFE_MODE" },
] as const;

/** Modes that settle every permission without asking anybody; the first stands for "default", in which hooks refuse. */
const SETTLED = { default: "dontAsk", dontAsk: "dontAsk", bypassPermissions: "bypassPermissions" };

/** The flag that leaves a run without hooks, given as such or by its variable; absent where it has them. */
export function hooklessFlag(
  { forwarded, env }: Pick<RunOrder, "forwarded" | "env">,
): string | undefined {
  return SWITCHES.find(({ flag, variable }) =>
    forwarded.includes(flag) || isSwitchedOn(env[variable])
  )?.flag;
}

/**
 * The permission mode of a child without hooks, where the run is to be in another one.
 *
 * @throws {CliError} when something is asked for that takes hooks
 */
export function modeWithoutHooks(
  order: RunOrder,
  { flag, mode }: { readonly flag: string; readonly mode: string },
): string {
  const needed = [
    [order.prompt === undefined, "a conversation"],
    [order.maxTurns !== undefined && !(order.maxTurns >= 1 && hasNoTools(order)), "--max-turns"],
    [order.maxBudgetUsd !== undefined, "--max-budget-usd"],
    [order.jsonSchema !== undefined, "--json-schema"],
    [order.promptTool !== undefined, "--permission-prompt-tool"],
    [order.partialMessages && !order.exactStream, "live text without --exact-stream"],
    [order.mcpConfigs.length > 0 && flag === "--bare", "--mcp-config"],
    [order.inheritHooks, "--inherit-hooks"],
    [!Object.hasOwn(SETTLED, mode), `the permission mode ${mode}`],
  ] as const;
  const missed = needed.find(([isAsked]) => isAsked)?.[1];
  if (missed !== undefined) {
    throw new UnsupportedError(
      `Cannot honour ${flag} with ${missed}: it turns off the hooks by which claude-print does that`,
      { suggestion: "Leave out one of them, or use claude -p" },
    );
  }
  return SETTLED[mode as keyof typeof SETTLED];
}

/**
 * Whether the model has no tool to call, so that one request is the whole turn. With an empty `--tools`
 * Claude Code offers none without customizations; plugins could bring some.
 */
function hasNoTools({ forwarded }: Pick<RunOrder, "forwarded">): boolean {
  const named = forwarded.filter((argument) => argument.startsWith("--tools="));
  return named.length > 0 && named.every((argument) => /^--tools=[\s,]*$/u.test(argument)) &&
    !forwarded.some((argument) => argument.startsWith("--plugin-"));
}
