import { isSdkServer } from "../../claude/wire/control.ts";
import { UnsupportedError } from "../../cli_error.ts";
import { asText, isJsonObject, type JsonObject } from "../../json_object.ts";
import { settingSources } from "../../sandbox/child/read_settings.ts";
import type { RunOrder } from "./run_order.ts";

/** The maximum length of an `--agents` argument, in bytes. A single argument may have 128 KiB, execve(2). */
const LONGEST_ARGUMENT = 100_000;
/** The maximum size of a file from which Claude Code reads an agent, in bytes (2.1.330). */
export const LARGEST_AGENT_FILE = 1_048_576;

/** How the child gets the caller's agents. */
export interface CallerAgents {
  readonly agents: PlacedAgents;
  /** Whether the child reads user settings only for these agents, while `--setting-sources` excludes the user's own. */
  readonly hidesUser: boolean;
}

/** The caller's agents in arguments and files. */
export interface PlacedAgents {
  readonly args: readonly string[];
  /** The texts of files, one agent each. */
  readonly files: readonly string[];
  /** Why some agents cannot be placed. */
  readonly problem?: string;
}

/** The agents that the user and the project have in files. Agents with the same names could be confused. */
export interface OtherAgents {
  readonly names: readonly string[];
  /** A file whose agent's name is unknown. */
  readonly unclear?: string;
}

/** The `--agents` argument for agents; undefined if it would be too long. */
export function agentsArgument(agents: JsonObject): string | undefined {
  const text = JSON.stringify(agents);
  return isLongArgument(text) ? undefined : `--agents=${text}`;
}

/** Whether agents are too long for a command line. */
export function isLongArgument(text: string): boolean {
  return byteLength(text) > LONGEST_ARGUMENT;
}

/**
 * Places the caller's agents, and makes the child read the files that hold some of them.
 *
 * @param options.ofFile the JSON text of the file that `--agents` names
 * @param options.others agents of the user and the project
 * @throws {UnsupportedError} when agents of that file can be placed neither on the command line nor in files
 */
export function callerAgents(
  { initialized, forwarded, settingSources: given }: RunOrder,
  { ofFile, others }: {
    readonly ofFile?: string | undefined;
    readonly others?: OtherAgents | undefined;
  },
): CallerAgents {
  const long = initialized?.longAgents;
  const isOfFile = long === undefined && ofFile !== undefined;
  if (isOfFile && !isLongArgument(ofFile)) {
    return { agents: { args: [`--agents=${ofFile}`], files: [] }, hidesUser: false };
  }
  const placed = placeAgents(isOfFile ? JSON.parse(ofFile) : long ?? {}, {
    others,
    readsFiles: !forwarded.includes("--restricted"),
  });
  if (isOfFile && placed.problem !== undefined) {
    throw new UnsupportedError(`Cannot honour --agents: ${placed.problem}`, {
      suggestion: "Put that agent into a file of its own below .claude/agents",
    });
  }
  // Overrides the caller's --agents, because the interactive Claude Code accepts no file name there.
  const override = isOfFile && placed.args.length === 0 ? ["--agents={}"] : [];
  const agents = { ...placed, args: [...placed.args, ...override] };
  const sources = settingSources(given);
  if (agents.files.length === 0 || sources.has("user")) return { agents, hidesUser: false };
  const withUser = `--setting-sources=${["user", ...sources].join()}`;
  return { agents: { ...agents, args: [...agents.args, withUser] }, hidesUser: true };
}

/**
 * Moves agents that are too long for a command line into files of the child's config dir, the only other way to give
 * the interactive Claude Code agents under their own names (2.1.330). Agents whose meaning would change in a file stay
 * on the command line, if they fit.
 *
 * @param options.readsFiles whether Claude Code reads agent files at all
 */
export function placeAgents(
  agents: JsonObject,
  { others = { names: [] }, readsFiles }: {
    readonly others?: OtherAgents | undefined;
    readonly readsFiles: boolean;
  },
): PlacedAgents {
  const all = Object.entries(agents).map(([name, agent]) => ({
    name,
    agent,
    problem: readsFiles
      ? fileProblem(name, agent, others)
      : "--restricted leaves no file to be read",
  }));
  const unfit = all.filter(({ problem }) => problem !== undefined);
  // Claude Code trims prompts in files. Agents whose prompts it would change also stay on the command line, if there is
  // room.
  const exact = all.filter(({ agent, problem }) => problem !== undefined || hasOuterSpace(agent));
  const kept = argumentOf(exact) === undefined ? unfit : exact;
  const argument = argumentOf(kept);
  if (argument === undefined) {
    const [{ name, problem: why } = { name: "", problem: "" }] = unfit;
    const problem =
      `"agents" is too long for a command line, and no file can hold "${name}": ${why}`;
    return { args: [], files: [], problem };
  }
  return {
    args: kept.length === 0 ? [] : [argument],
    files: all.filter((each) => !kept.includes(each))
      .map(({ name, agent }) => agentFile(name, agent)),
  };
}

/** Why an agent would change its meaning in a file. */
function fileProblem(
  name: string,
  agent: unknown,
  { names, unclear }: OtherAgents,
): string | undefined {
  // Agents of the project override those of the user, and agents of the command line override both.
  if (names.includes(name)) return "the user or the project has an agent of that name";
  if (unclear !== undefined) return `${unclear} may have an agent of that name`;
  if (!FILE_NAME.test(name)) return "its name is none for a file";
  const field = unfitField(agent);
  if (field !== undefined) return `its ${field} is nothing for a file`;
  return byteLength(agentFile(name, agent)) > LARGEST_AGENT_FILE
    ? "it has more than 1 MiB"
    : undefined;
}

function argumentOf(
  agents: readonly { readonly name: string; readonly agent: unknown }[],
): string | undefined {
  return agentsArgument(Object.fromEntries(agents.map(({ name, agent }) => [name, agent])));
}

function hasOuterSpace(agent: unknown): boolean {
  const prompt = isJsonObject(agent) ? agent["prompt"] : undefined;
  return typeof prompt === "string" && prompt !== prompt.trim();
}

/** Names that a file can hold: 2.1.330 rejects a colon, a leading dash and hundreds of characters. */
const FILE_NAME = /^[^:-][^:]{0,99}$/su;

type Check = (value: unknown) => boolean;
const isText: Check = (value) => typeof value === "string";
const isFilled: Check = (value) => typeof value === "string" && value.trim() !== "";
const isSwitch: Check = (value) => typeof value === "boolean";
const isEffort: Check = (value) =>
  Number.isInteger(value) || oneOf("low", "medium", "high", "xhigh", "max")(value);
const listOf = (check: Check): Check => (value) => Array.isArray(value) && value.every(check);
const oneOf = (...values: readonly unknown[]): Check => (value) => values.includes(value);
const integerFrom = (least: number): Check => (value) =>
  Number.isInteger(value) && Number(value) >= least;

/** The fields and values that have the same meaning in a file as on the command line. Files ignore other values. */
const FILE_FIELDS: ReadonlyMap<string, Check> = new Map<string, Check>([
  // In a file, a backslash and an n become the end of a line.
  ["description", (value) => isFilled(value) && !String(value).includes("\\n")],
  ["prompt", isFilled],
  ["tools", listOf(isFilled)],
  ["disallowedTools", listOf(isFilled)],
  ["skills", listOf(isFilled)],
  ["model", isFilled],
  ["memory", oneOf("user", "project", "local")],
  ["mcpServers", listOf(isServer)],
  ["initialPrompt", isFilled],
  ["maxTurns", integerFrom(1)],
  ["background", isSwitch],
  ["omitClaudeMd", isSwitch],
  ["effort", isEffort],
  [
    "permissionMode",
    oneOf("default", "acceptEdits", "auto", "bypassPermissions", "dontAsk", "plan"),
  ],
]);

/** The name of an MCP server, or the configuration of one server that does not run in the caller's process. */
function isServer(value: unknown): boolean {
  if (!isJsonObject(value)) return isFilled(value);
  const [config, ...more] = Object.values(value);
  return isJsonObject(config) && !isSdkServer(config) && more.length === 0;
}

/** The first field that is missing, or would change its meaning in a file. */
function unfitField(agent: unknown): string | undefined {
  if (!isJsonObject(agent)) return "definition";
  const names = new Set(["description", "prompt", ...Object.keys(agent)]);
  const unfit = [...names].find((name) => FILE_FIELDS.get(name)?.(agent[name]) !== true);
  return unfit === undefined ? undefined : `"${unfit}"`;
}

/** An agent as a file: its fields as YAML front matter, then its prompt. */
function agentFile(name: string, agent: unknown): string {
  const { prompt, ...fields } = isJsonObject(agent) ? agent : {};
  const lines = Object.entries({ ...fields, name }).map(([field, value]) =>
    `${yamlString(field)}: ${yamlString(value)}\n`
  );
  return `---\n${lines.join("")}---\n${asText(prompt)}`;
}

/**
 * A value as one line of ASCII JSON, which is also YAML. Claude Code ends the front matter at any three dashes, so no two
 * dashes may follow each other.
 */
function yamlString(value: unknown): string {
  return JSON.stringify(value, (_, each) => typeof each === "string" ? each.toWellFormed() : each)
    .replaceAll(
      /[^ -~]|-(?=-)/g,
      (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** The fields of an agent that 2.1.330 requires in an `initialize` request. It ignores other fields. */
const INITIALIZE_FIELDS: ReadonlyMap<string, Check> = new Map<string, Check>([
  ["description", (value) => isText(value) && value !== ""],
  ["prompt", isText],
  ["tools", listOf(isText)],
  ["disallowedTools", listOf(isText)],
  ["skills", listOf(isText)],
  ["model", isFilled],
  ["mcpServers", listOf((each) => isText(each) || isJsonObject(each))],
  ["hooks", isJsonObject],
  ["initialPrompt", isText],
  ["observer", isText],
  ["maxTurns", integerFrom(1)],
  ["autoCompactWindow", integerFrom(100_000)],
  ["background", isSwitch],
  ["omitClaudeMd", isSwitch],
  ["memory", oneOf("user", "project", "local")],
  ["isolation", oneOf("worktree", "remote")],
  ["effort", isEffort],
]);

/**
 * The agents of an `initialize` request. If one definition is invalid, there are none, as in `claude -p` (2.1.330). The
 * interactive Claude Code would refuse to start with such a definition on its command line.
 */
export function validAgents(agents: JsonObject): JsonObject {
  return Object.values(agents).every(isValidAgent) ? agents : {};
}

function isValidAgent(agent: unknown): boolean {
  if (!isJsonObject(agent)) return false;
  return Object.entries({ description: undefined, prompt: undefined, ...agent })
    .every(([name, value]) => INITIALIZE_FIELDS.get(name)?.(value) ?? true);
}
