import { isJsonObject, type JsonObject } from "../../json_object.ts";

/**
 * The agents of an initialization: none at all where one of them is defined amiss, as in `claude -p` (2.1.330).
 * On its command line the interactive Claude Code of 2.1.330 takes that for a reason not to start.
 */
export function soundAgents(agents: JsonObject): JsonObject {
  return Object.values(agents).every(isSound) ? agents : {};
}

const isText = (value: unknown) => typeof value === "string";
const isFilled = (value: unknown) => isText(value) && value !== "";
const isSwitch = (value: unknown) => typeof value === "boolean";
const areTexts = (value: unknown) => Array.isArray(value) && value.every(isText);
const oneOf = (...values: readonly unknown[]) => (value: unknown) => values.includes(value);
const wholeFrom = (least: number) => (value: unknown) =>
  Number.isInteger(value) && Number(value) >= least;

/** What fields of a definition have to be, as 2.1.330 says of each that is not; others it does not look at. */
const FIELDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  description: isFilled,
  prompt: isText,
  tools: areTexts,
  disallowedTools: areTexts,
  skills: areTexts,
  model: (value) => isText(value) && String(value).trim() !== "",
  mcpServers: (value) =>
    Array.isArray(value) && value.every((each) => isText(each) || isJsonObject(each)),
  hooks: isJsonObject,
  initialPrompt: isText,
  observer: isText,
  maxTurns: wholeFrom(1),
  autoCompactWindow: wholeFrom(100_000),
  background: isSwitch,
  omitClaudeMd: isSwitch,
  memory: oneOf("user", "project", "local"),
  isolation: oneOf("worktree", "remote"),
  effort: (value) =>
    Number.isInteger(value) || oneOf("low", "medium", "high", "xhigh", "max")(value),
};

function isSound(agent: unknown): boolean {
  if (!isJsonObject(agent)) return false;
  return Object.entries({ description: undefined, prompt: undefined, ...agent })
    .every(([name, value]) => !Object.hasOwn(FIELDS, name) || FIELDS[name]?.(value) === true);
}
