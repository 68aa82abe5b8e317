import { type ControlRequest, isEmpty, isSdkServer } from "../../claude/wire/control.ts";
import { parseJsonObject } from "../../claude/wire/json_text.ts";
import type { CallbackHook } from "../../conversation/protocol/caller_options.ts";
import { definedFields } from "../../defined_fields.ts";
import { isJsonObject, type JsonObject, jsonStrings } from "../../json_object.ts";
import { agentsArgument, validAgents } from "./caller_agents.ts";
import { mcpConfigOf } from "./child_args.ts";
import type { Initialized, RunOrder } from "./run_order.ts";

/** Events for which `claude -p` calls no hook of the caller. */
export const UNCALLED_EVENTS: readonly string[] = ["SessionStart", "SessionEnd", "Setup"];

/** Fields that describe the caller, or ask for reports that this program does not make. They are ignored. */
const IGNORED = [
  "agentProgressSummaries",
  "promptSuggestions",
  "supportedDialogKinds",
  "sdkMcpServerManifests",
  "sdkMcpServerManifestsOrigin",
  // An interrupt never stops background tasks here, with or without this field.
  "perTaskStopAffordance",
];

/** Fields that cause a warning, and the reasons why they have no effect. */
const INEFFECTIVE: Readonly<Record<string, string>> = {
  excludeDynamicSections:
    "the interactive Claude Code always puts these sections into its system prompt",
};

/** Refused fields, and the reasons. */
const REFUSED: Readonly<Record<string, string>> = {
  toolAliases:
    "the interactive Claude Code has each tool under its own name alone, and no hook can make a call one of another tool",
  planModeInstructions: "the interactive Claude Code takes none: it ends where they are given",
  appendSubagentSystemPrompt: "the interactive Claude Code does not pass it to subagents",
};

/**
 * The fields of an `initialize` request on which the child's start depends. Requests with equal fields can share a child.
 * `forwardSubagentText` can still change after the start.
 */
export function startingFields(body: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(body).filter(([name, value]) =>
      /systemPrompt$/iu.test(name) || name === "skills"
        ? value !== null
        : !isEmpty(value) && name !== "forwardSubagentText" && !IGNORED.includes(name)
    ),
  );
}

/** Adds the caller's `initialize` request to an order. */
export function withInitialization(order: RunOrder, { id, body }: ControlRequest): RunOrder {
  const {
    hooks,
    systemPrompt,
    appendSystemPrompt,
    jsonSchema,
    agents,
    title,
    sdkMcpServers,
    forwardSubagentText,
    plugins,
    mcpServers,
    systemPromptSnapshot,
    skills,
    sdkMcpServerConfigs,
    ...others
  } = body;
  const problems: string[] = [];
  const prompts = {
    systemPrompt: readPrompt("systemPrompt", systemPrompt, problems),
    appendSystemPrompt: readPrompt("appendSystemPrompt", appendSystemPrompt, problems),
  };
  const callbacks = readCallbacks(hooks, problems);
  const servers = readServerNames(sdkMcpServers, problems);
  const { agentArgs, longAgents } = readAgents(agents, problems);
  const args = [
    ...agentArgs,
    ...titleArgs(title, problems),
    ...pluginArgs(plugins, problems),
    ...(typeof systemPromptSnapshot === "boolean"
      ? [`--system-prompt-snapshot=${systemPromptSnapshot ? "on" : "off"}`]
      : []),
  ];
  const configs = readMcpConfigs(mcpServers, problems);
  const fields = {
    ...prompts,
    skills: readSkills(skills, problems),
    ineffective: readOtherFields(others, problems),
    serverConfigs: isJsonObject(sdkMcpServerConfigs) ? sdkMcpServerConfigs : undefined,
    longAgents,
    jsonSchema: isEmpty(jsonSchema) ? undefined : JSON.stringify(jsonSchema),
  };
  const error = problems.length === 0 ? undefined : problems.join("; ");
  const initialized: Initialized = {
    id,
    callbacks,
    servers,
    ...definedFields({ ...fields, error }),
  };
  return {
    ...order,
    initialized,
    subagentText: forwardSubagentText === true || order.subagentText,
    mcpConfigs: [...order.mcpConfigs, ...configs],
    forwarded: [...order.forwarded, ...args, ...configs.map((config) => `--mcp-config=${config}`)],
  };
}

/** A text or a list of texts. */
function readPrompt(name: string, value: unknown, problems: string[]): string | undefined {
  if (value === undefined || value === null) return undefined;
  const texts: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (texts.every((text) => typeof text === "string")) return texts.join("\n\n");
  problems.push(`"${name}" has to be text`);
  return undefined;
}

function readCallbacks(hooks: unknown, problems: string[]): readonly CallbackHook[] {
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
      const options = definedFields({
        matcher: typeof matcher === "string" ? matcher : undefined,
        timeoutS: typeof timeout === "number" && timeout > 0 ? timeout : undefined,
        blocks: onFailure === "block" || undefined,
      });
      callbacks.push(...ids.map((id) => ({ event, id, ...options })));
    }
  }
  return callbacks;
}

function readServerNames(servers: unknown, problems: string[]): readonly string[] {
  const names = jsonStrings(servers);
  if (!isEmpty(servers) && names.length === 0) {
    problems.push('"sdkMcpServers" has to be a list of names');
  }
  return names;
}

function readAgents(
  agents: unknown,
  problems: string[],
): { readonly agentArgs: readonly string[]; readonly longAgents?: JsonObject } {
  if (!isJsonObject(agents)) {
    if (!isEmpty(agents)) problems.push('"agents" has to be an object');
    return { agentArgs: [] };
  }
  const valid = validAgents(agents);
  const argument = agentsArgument(valid);
  if (argument === undefined) return { agentArgs: [], longAgents: valid };
  return { agentArgs: Object.keys(valid).length === 0 ? [] : [argument] };
}

function titleArgs(title: unknown, problems: string[]): readonly string[] {
  if (isEmpty(title)) return [];
  if (typeof title === "string") return [`--name=${title}`];
  problems.push('"title" has to be text');
  return [];
}

/** Arguments that load local plugins. Claude Code has no argument for other plugins. */
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

function readMcpConfigs(servers: unknown, problems: string[]): readonly string[] {
  if (isEmpty(servers)) return [];
  if (isJsonObject(servers)) return [mcpConfigOf(servers)];
  problems.push('"mcpServers" has to be an object');
  return [];
}

function readSkills(skills: unknown, problems: string[]): readonly string[] | undefined {
  if (skills === undefined || skills === null) return undefined;
  if (Array.isArray(skills) && skills.every((name) => typeof name === "string")) return skills;
  problems.push('"skills" has to be a list of names');
  return undefined;
}

/** Refuses unknown fields, and returns a warning for each field that has no effect. */
function readOtherFields(others: JsonObject, problems: string[]): readonly string[] | undefined {
  const warnings: string[] = [];
  for (const [name, value] of Object.entries(others)) {
    if (isEmpty(value) || IGNORED.includes(name)) continue;
    if (Object.hasOwn(INEFFECTIVE, name)) {
      warnings.push(`"${name}" has no effect: ${INEFFECTIVE[name]}`);
    } else {
      const why = Object.hasOwn(REFUSED, name) ? `: ${REFUSED[name]}` : "";
      problems.push(`claude-print cannot honour "${name}"${why}`);
    }
  }
  return warnings.length === 0 ? undefined : warnings;
}

/**
 * Moves the caller's own MCP servers (type `sdk`) from `--mcp-config` to `callerServers`, because the interactive
 * Claude Code does not support such servers.
 */
export function withCallerServers(order: RunOrder): RunOrder {
  const callerServers = callerServersIn(order.mcpConfigs);
  if (callerServers.length === 0) return order;
  const mcpConfigs = order.mcpConfigs.map(withoutCallerServers);
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

function withoutCallerServers(config: string): string {
  const { mcpServers, ...others } = parseJsonObject(config) ?? {};
  if (!isJsonObject(mcpServers)) return config;
  const kept = Object.entries(mcpServers).filter(([, server]) => !isSdkServer(server));
  return JSON.stringify({ ...others, mcpServers: Object.fromEntries(kept) });
}

/** The names of servers of type `sdk` in values of `--mcp-config`. Files cannot name such servers. */
export function callerServersIn(mcpConfigs: readonly string[]): readonly string[] {
  return mcpConfigs.flatMap((config) => {
    const { mcpServers } = parseJsonObject(config) ?? {};
    return isJsonObject(mcpServers)
      ? Object.keys(mcpServers).filter((name) => isSdkServer(mcpServers[name]))
      : [];
  });
}
