import { encodeToolName, toolPrefix } from "../../claude/transcript/structured_output_tool.ts";
import { isSdkServer } from "../../claude/wire/control.ts";
import { isJsonObject, type JsonObject, jsonObjects } from "../../json_object.ts";
import { contestedVariables } from "../../sandbox/child/child_environment.ts";
import { valuesOf, withoutScreenCommands } from "../../sandbox/child/read_settings.ts";
import type { Environment } from "../../sandbox/environment.ts";
import type { Decisions, KnownRun } from "./decide.ts";
import { allowsBypass } from "./permission_mode.ts";
import type { HiddenSkills } from "./plan_facts.ts";
import type { RunOrder } from "./run_order.ts";

/**
 * The caller's settings, with the additions of this run.
 *
 * @param options.variables variables that this program adds to the child's environment
 * @param options.env the child's complete environment
 */
export function childSettings(
  order: RunOrder,
  { facts, decided, terms, variables, env }: KnownRun & {
    readonly terms: ServerTerms;
    readonly variables: Environment;
    readonly env: Environment;
  },
): JsonObject {
  const settings = valuesOf(facts.settings);
  const asked = withSkillsAndRules(facts.callerSettings, {
    hidden: facts.hiddenSkills,
    terms,
    settings,
  });
  // Without this setting, 2.1.330 at a terminal requests redacted thoughts once the API refused a request that omits
  // them.
  const shown = order.omitsThinking ? { ...asked, showThinkingSummaries: true } : asked;
  const restricted = withoutScreenCommands(withoutBypass(shown, order, decided));
  // If a flag turns off the hooks, Claude Code itself sets these variables.
  const contested = decided.hookless === undefined ? contestedVariables(env, settings) : {};
  return withVariables(restricted, { variables, contested, settings });
}

/**
 * Adds variables of this program to the caller's settings if other settings also set them, because settings override
 * the environment.
 *
 * @param options.contested variables that are always added
 */
function withVariables(
  caller: JsonObject,
  { variables, contested, settings }: {
    readonly variables: Environment;
    readonly contested: Environment;
    readonly settings: readonly JsonObject[];
  },
): JsonObject {
  const isSet = Object.keys(variables).some((name) =>
    settings.some(({ env }) => isJsonObject(env) && env[name] !== undefined)
  );
  const added = { ...(isSet ? variables : {}), ...contested };
  if (Object.keys(added).length === 0) return caller;
  return { ...caller, env: { ...objectIn(caller, "env"), ...added } };
}

/**
 * Keeps this child out of modes without permissions if the caller may only switch to such a mode later, which replaces
 * the child. A child that could switch itself would allow everything in plan mode. A model may choose plan mode, and
 * `claude -p` asks in it.
 *
 * The child still gets the flag that allows such modes, because Claude Code refuses the flag to some users.
 */
function withoutBypass(
  caller: JsonObject,
  order: Pick<RunOrder, "forwarded">,
  { mode }: Pick<Decisions, "mode">,
): JsonObject {
  if (!allowsBypass(order) || mode === "bypassPermissions") return caller;
  const permissions = objectIn(caller, "permissions");
  return { ...caller, permissions: { ...permissions, disableBypassPermissionsMode: "disable" } };
}

/** Values of `skillOverrides`: only the user can start the skill; the skill is off. */
const USER_ONLY = "user-invocable-only";
const OFF = "off";

/**
 * Adds the values of the caller's `initialize` request that only settings can apply.
 *
 * `skillOverrides` hides the skills that the caller has not chosen. It does not cover skills of plugins, so a rule
 * denies these (2.1.330). A skill that other settings switch off stays off.
 */
function withSkillsAndRules(
  caller: JsonObject,
  { hidden, terms: { deny, ask }, settings }: {
    readonly hidden: HiddenSkills | undefined;
    readonly terms: ServerTerms;
    readonly settings: readonly JsonObject[];
  },
): JsonObject {
  const permissions = objectIn(caller, "permissions");
  const added = (name: "deny" | "ask", rules: readonly string[]) => {
    const given = permissions[name];
    return rules.length === 0 ? {} : { [name]: [...(Array.isArray(given) ? given : []), ...rules] };
  };
  const denied = [...deny, ...hidden?.ofPlugins.map((name) => `Skill(${name})`) ?? []];
  const rules = { ...added("deny", denied), ...added("ask", ask) };
  const current = new Map(
    settings.flatMap((each) => Object.entries(objectIn(each, "skillOverrides"))),
  );
  const overrides = hidden?.own.filter((name) => current.get(name) !== OFF)
    .map((name) => [name, USER_ONLY]);
  return {
    ...caller,
    ...(Object.keys(rules).length === 0 ? {} : { permissions: { ...permissions, ...rules } }),
    ...(overrides === undefined ? {} : {
      skillOverrides: { ...objectIn(caller, "skillOverrides"), ...Object.fromEntries(overrides) },
    }),
  };
}

function objectIn(settings: JsonObject, name: string): JsonObject {
  const value = settings[name];
  return isJsonObject(value) ? value : {};
}

/** How the caller's own MCP servers may be used. */
export interface ServerTerms {
  /** Time limits of tool calls in milliseconds, by server. */
  readonly timeouts: Readonly<Record<string, number>>;
  /** Rules for tools that are never called, and for tools about which the caller is always asked. */
  readonly deny: readonly string[];
  readonly ask: readonly string[];
}

/**
 * The terms of the servers that the caller has set last, or at the start. As in `claude -p`, they do not allow tools.
 * If a policy is unknown, the caller is asked (2.1.330).
 */
export function serverTerms({ initialized, setServers }: RunOrder): ServerTerms {
  const configs = Object.entries(setServers ?? initialized?.serverConfigs ?? {})
    .flatMap(([server, config]) =>
      isJsonObject(config) && (setServers === undefined || isSdkServer(config))
        ? [{ server, config }]
        : []
    );
  const policies = configs.flatMap(({ server, config: { tools } }) =>
    jsonObjects(tools)
      .flatMap(({ name, permission_policy: policy }) =>
        typeof name === "string" && policy !== undefined && policy !== "always_allow"
          ? [{ rule: `${toolPrefix(server)}${encodeToolName(name)}`, policy }]
          : []
      )
  );
  const rules = (isDenied: boolean) =>
    policies.filter(({ policy }) => (policy === "always_deny") === isDenied)
      .map(({ rule }) => rule);
  return {
    timeouts: Object.fromEntries(
      configs.flatMap(({ server, config: { timeout } }) =>
        // Claude Code ignores a server with any other value.
        Number.isSafeInteger(timeout) && Number(timeout) > 0 ? [[server, Number(timeout)]] : []
      ),
    ),
    deny: rules(true),
    ask: rules(false),
  };
}
