import { type ControlRequest, isCallers, isEmpty } from "../../claude/wire/control.ts";
import { agentsArgument } from "./caller_agents.ts";
import { mcpConfigOf } from "./child_args.ts";
import type { Initialized, RunOrder } from "./run_order.ts";
import type { CallbackHook } from "../../conversation/protocol/caller_options.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { isTooDeep } from "../../claude/wire/json_text.ts";

/** Events for which `claude -p` calls none of the caller's hooks. */
export const UNCALLED_EVENTS: readonly string[] = ["SessionStart", "SessionEnd", "Setup"];

/**
 * Fields of an initialization that say something of the program that asks, or of what it would like to be told as well.
 * An interrupt leaves what is at work in the background alone in any case.
 */
const WITHOUT_EFFECT = [
  "agentProgressSummaries",
  "promptSuggestions",
  "supportedDialogKinds",
  "sdkMcpServerManifests",
  "sdkMcpServerManifestsOrigin",
  "perTaskStopAffordance",
];

/** Fields that a run goes on without, and why: all that is missing is told on stderr. */
const INEFFECTIVE: Readonly<Record<string, string>> = {
  excludeDynamicSections:
    "the interactive Claude Code always puts these sections into its system prompt",
};

/** Why others are refused. */
const REFUSED: Readonly<Record<string, string>> = {
  toolAliases:
    "the interactive Claude Code has each tool under its own name alone, and no hook can make a call one of another tool",
  planModeInstructions: "the interactive Claude Code takes none: it ends where they are given",
  appendSubagentSystemPrompt: "the interactive Claude Code does not pass it to subagents",
};

/**
 * What of an initialization decides how a child is started, and what it says of itself: two with the same can have the
 * same child. Whether subagents are told of can be said later.
 */
export function startingBody(body: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(body).filter(([name, value]) =>
      /systemPrompt$/iu.test(name) || name === "skills"
        ? value !== null
        : !isEmpty(value) && name !== "forwardSubagentText" && !WITHOUT_EFFECT.includes(name)
    ),
  );
}

/**
 * An order with what the caller's first request of the control protocol adds to it: what the child cannot be told any
 * more once it has been started.
 */
export function askedOrder(order: RunOrder, { id, body }: ControlRequest): RunOrder {
  const { hooks, systemPrompt, appendSystemPrompt, jsonSchema, agents, title, ...others } = body;
  const { sdkMcpServers, forwardSubagentText, plugins, mcpServers, ...unprompted } = others;
  const { systemPromptSnapshot, skills, sdkMcpServerConfigs, ...further } = unprompted;
  const problems: string[] = [];
  const prompts = {
    ...textField("systemPrompt", systemPrompt, problems),
    ...textField("appendSystemPrompt", appendSystemPrompt, problems),
  };
  const callbacks = callbacksOf(hooks, problems);
  const servers = Array.isArray(sdkMcpServers)
    ? sdkMcpServers.filter((name) => typeof name === "string")
    : [];
  if (!isEmpty(sdkMcpServers) && servers.length === 0) {
    problems.push('"sdkMcpServers" has to be a list of names');
  }
  const args: string[] = [];
  let longAgents: JsonObject | undefined;
  if (isJsonObject(agents)) {
    const sound = soundAgents(agents);
    const argument = agentsArgument(sound);
    if (argument === undefined) longAgents = sound;
    else if (Object.keys(sound).length > 0) args.push(argument);
  } else if (!isEmpty(agents)) problems.push('"agents" has to be an object');
  if (typeof title === "string" && title !== "") args.push(`--name=${title}`);
  else if (!isEmpty(title)) problems.push('"title" has to be text');
  args.push(...pluginArgs(plugins, problems));
  const configs: string[] = [];
  if (isJsonObject(mcpServers) && !isEmpty(mcpServers)) configs.push(mcpConfigOf(mcpServers));
  else if (!isEmpty(mcpServers)) problems.push('"mcpServers" has to be an object');
  if (typeof systemPromptSnapshot === "boolean") {
    args.push(`--system-prompt-snapshot=${systemPromptSnapshot ? "on" : "off"}`);
  }
  const chosen = Array.isArray(skills) && skills.every((name) => typeof name === "string");
  if (!chosen && skills !== undefined && skills !== null) {
    problems.push('"skills" has to be a list of names');
  }
  const ineffective: string[] = [];
  for (const [name, value] of Object.entries(further)) {
    if (isEmpty(value) || WITHOUT_EFFECT.includes(name)) continue;
    if (Object.hasOwn(INEFFECTIVE, name)) {
      ineffective.push(`"${name}" has no effect: ${INEFFECTIVE[name]}`);
    } else problems.push(refusalOf(name));
  }
  const initialized: Initialized = {
    id,
    callbacks,
    servers,
    ...prompts,
    ...(chosen ? { skills } : {}),
    ...(isJsonObject(sdkMcpServerConfigs) ? { serverConfigs: sdkMcpServerConfigs } : {}),
    ...(ineffective.length === 0 ? {} : { ineffective }),
    ...(longAgents === undefined ? {} : { longAgents }),
    ...(isEmpty(jsonSchema) ? {} : { jsonSchema: JSON.stringify(jsonSchema) }),
    ...(problems.length === 0 ? {} : { error: problems.join("; ") }),
  };
  return {
    ...order,
    initialized,
    ...(forwardSubagentText === true ? { subagentText: true } : {}),
    mcpConfigs: [...order.mcpConfigs, ...configs],
    forwarded: [...order.forwarded, ...args, ...configs.map((config) => `--mcp-config=${config}`)],
  };
}

/**
 * An order whose `--mcp-config` names no server of the type `sdk` any more: these are the caller's own, and the
 * interactive Claude Code knows none.
 */
export function bridgedOrder(order: RunOrder): RunOrder {
  const callerServers = callersServers(order.mcpConfigs);
  const rest = (config: string): string => {
    const { mcpServers, ...others } = parsed(config);
    if (!isJsonObject(mcpServers)) return config;
    const kept = Object.entries(mcpServers).filter(([, server]) => !isCallers(server));
    return JSON.stringify({ ...others, mcpServers: Object.fromEntries(kept) });
  };
  const mcpConfigs = order.mcpConfigs.map(rest);
  if (callerServers.length === 0) return order;
  const flag = "--mcp-config=";
  return {
    ...order,
    callerServers,
    mcpConfigs,
    forwarded: order.forwarded.map((argument) =>
      argument.startsWith(flag)
        ? `${flag}${mcpConfigs[order.mcpConfigs.indexOf(argument.slice(flag.length))]}`
        : argument
    ),
  };
}

/** Why there is nothing for a field of an initialization. */
function refusalOf(name: string): string {
  const why = Object.hasOwn(REFUSED, name) ? `: ${REFUSED[name]}` : "";
  return `claude-print cannot honour "${name}"${why}`;
}

/** The names of the servers of the type `sdk` that values of `--mcp-config` name. */
export function callersServers(mcpConfigs: readonly string[]): readonly string[] {
  return mcpConfigs.flatMap((config) => {
    const { mcpServers } = parsed(config);
    return isJsonObject(mcpServers)
      ? Object.keys(mcpServers).filter((name) => isCallers(mcpServers[name]))
      : [];
  });
}

/** What a configuration on the command line holds; that of a file names no server of the caller's. */
function parsed(config: string): JsonObject {
  if (!config.trimStart().startsWith("{") || isTooDeep(config)) return {};
  try {
    const value: unknown = JSON.parse(config);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** Arguments that load plugins, of which only the local ones have a place. */
function pluginArgs(plugins: unknown, problems: string[]): readonly string[] {
  if (isEmpty(plugins)) return [];
  const entries = Array.isArray(plugins) ? plugins.filter(isLocalPlugin) : [];
  if (!Array.isArray(plugins) || entries.length < plugins.length) {
    problems.push('"plugins" has to be a list of local ones, with their paths');
  }
  return entries.map(({ path, skipMcpDiscovery }) =>
    `--plugin-dir${skipMcpDiscovery === true ? "-no-mcp" : ""}=${path}`
  );
}

function isLocalPlugin(plugin: unknown): plugin is JsonObject & { readonly path: string } {
  return isJsonObject(plugin) && plugin["type"] === "local" && typeof plugin["path"] === "string" &&
    plugin["path"] !== "";
}

/** A text, or blocks of it, that is put into a file. */
function textField<Name extends string>(
  name: Name,
  value: unknown,
  problems: string[],
): { readonly [key in Name]?: string } {
  if (value === undefined || value === null) return {};
  const texts: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (texts.every((text) => typeof text === "string")) {
    return { [name]: texts.join("\n\n") } as { readonly [key in Name]: string };
  }
  problems.push(`"${name}" has to be text`);
  return {};
}

function callbacksOf(hooks: unknown, problems: string[]): readonly CallbackHook[] {
  if (isEmpty(hooks)) return [];
  if (!isJsonObject(hooks)) {
    problems.push('"hooks" has to be an object');
    return [];
  }
  const callbacks: CallbackHook[] = [];
  for (const [event, matchers] of Object.entries(hooks)) {
    for (const entry of Array.isArray(matchers) ? matchers : [matchers]) {
      const { matcher, hookCallbackIds: ids, timeout, onFailure } = isJsonObject(entry)
        ? entry
        : {};
      if (!Array.isArray(ids) || !ids.every((id) => typeof id === "string")) {
        problems.push(`"hooks" of ${event} need "hookCallbackIds"`);
        continue;
      }
      if (UNCALLED_EVENTS.includes(event)) continue;
      callbacks.push(...ids.map((id) => ({
        event,
        id,
        ...(typeof matcher === "string" ? { matcher } : {}),
        ...(typeof timeout === "number" && timeout > 0 ? { timeoutS: timeout } : {}),
        ...(onFailure === "block" ? { blocks: true } as const : {}),
      })));
    }
  }
  return callbacks;
}

/**
 * The agents of an initialization: none at all where one of them is defined amiss, as in `claude -p` (2.1.330).
 * On its command line the interactive Claude Code of 2.1.330 takes that for a reason not to start.
 */
function soundAgents(agents: JsonObject): JsonObject {
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
