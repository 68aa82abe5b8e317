import type { HiddenSkills } from "../plan_facts.ts";
import type { ServerTerms } from "./server_terms.ts";
import { isJsonObject, type JsonObject } from "../../../json_object.ts";

/** What hides a skill from the model and leaves it to a person, and what does so and more. */
const HIDDEN = "user-invocable-only";
const OFF = "off";

/**
 * The caller's settings with what an initialization asks for and settings alone can bring about.
 *
 * Skills that have not been chosen are hidden by `skillOverrides`. Those of plugins it does not know, so a rule keeps
 * the model from loading what it is told of (2.1.330).
 *
 * @param options.settings all settings, later ones overriding earlier ones: what they take away from everybody stays away
 */
export function askedSettings(
  caller: JsonObject,
  { hidden, terms: { deny, ask }, settings, omitsThinking }: {
    readonly hidden: HiddenSkills | undefined;
    readonly terms: ServerTerms;
    readonly settings: readonly JsonObject[];
    readonly omitsThinking: boolean;
  },
): JsonObject {
  const denied = [...deny, ...hidden?.ofPlugins.map((name) => `Skill(${name})`) ?? []];
  const permissions = objectIn(caller, "permissions");
  const added = (name: "deny" | "ask", rules: readonly string[]) => {
    const given = permissions[name];
    return rules.length === 0 ? {} : { [name]: [...(Array.isArray(given) ? given : []), ...rules] };
  };
  const rules = { ...added("deny", denied), ...added("ask", ask) };
  const inForce = new Map(
    settings.flatMap((each) => Object.entries(objectIn(each, "skillOverrides"))),
  );
  const overrides = hidden?.own.filter((name) => inForce.get(name) !== OFF)
    .map((name) => [name, HIDDEN]);
  return {
    ...caller,
    // Otherwise 2.1.330 has thoughts redacted at a terminal once the API has refused a request that omits them.
    ...(omitsThinking ? { showThinkingSummaries: true } : {}),
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
