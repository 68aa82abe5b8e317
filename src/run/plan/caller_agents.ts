import { UnsupportedError } from "../../cli_error.ts";
import type { RunOrder } from "./run_order.ts";
import { settingSources } from "../../sandbox/child/read_settings.ts";
import { isCallers } from "../../claude/wire/control.ts";
import { asText, isJsonObject, type JsonObject } from "../../json_object.ts";

/** How a child comes by agents that are not on the command line as the caller gives them. */
export interface CallerAgents {
  /** Agents of the caller's that are too long for a command line, or in a file, and all arguments that they take. */
  readonly agents: PlacedAgents;
  /** Whether the child reads its config dir as the user's, while `--setting-sources` leaves the user's own out. */
  readonly hidesUser: boolean;
}

/**
 * Where the caller's agents are, and that the child reads what is there.
 *
 * @param options.ofFile those of the file that `--agents` names, as a JSON text
 * @param options.others those beside which they are, where they are too long for a command line
 *
 * @throws {CliError} when agents of a file are too long for a command line and no files can hold them
 */
export function callerAgents(
  { initialized, forwarded, settingSources: given }: RunOrder,
  { ofFile, others }: { readonly ofFile?: string; readonly others?: OtherAgents },
): CallerAgents {
  const long = initialized?.longAgents;
  const isOfFile = long === undefined && ofFile !== undefined;
  if (isOfFile && !isLongArgument(ofFile)) {
    return { agents: { args: [`--agents=${ofFile}`], files: [] }, hidesUser: false };
  }
  const placed = placedAgents(isOfFile ? JSON.parse(ofFile) : long ?? {}, {
    others,
    readsFiles: !forwarded.includes("--restricted"),
  });
  if (isOfFile && placed.problem !== undefined) {
    throw new UnsupportedError(`Cannot honour --agents: ${placed.problem}`, {
      suggestion: "Put that agent into a file of its own below .claude/agents",
    });
  }
  // Whatever else is given, the name of the file would be nothing to the interactive Claude Code.
  const none = isOfFile && placed.args.length === 0 ? ["--agents={}"] : [];
  const agents = { ...placed, args: [...placed.args, ...none] };
  const sources = settingSources(given);
  if (agents.files.length === 0 || sources.has("user")) return { agents, hidesUser: false };
  const reading = `--setting-sources=${["user", ...sources].join()}`;
  return { agents: { ...agents, args: [...agents.args, reading] }, hidesUser: true };
}

/** Longest agents on a command line, in bytes: a single argument may have 128 KiB, execve(2). */
const LONGEST_ARGUMENT = 100_000;
/** The largest file that Claude Code takes for an agent, in bytes (2.1.330). */
export const LARGEST_AGENT_FILE = 1_048_576;

/** The agents that the user and the project have in files, as far as a caller's have to differ from them. */
export interface OtherAgents {
  readonly names: readonly string[];
  /** A file of which only Claude Code could tell how its agent is called. */
  readonly unclear?: string;
}

/** How the agents of a caller get to the child. */
interface PlacedAgents {
  readonly args: readonly string[];
  /** The texts of files, each with one agent. */
  readonly files: readonly string[];
  /** Why some of them cannot get there. */
  readonly problem?: string;
}

/** Agents as an argument; undefined where they are too long for one. */
export function agentsArgument(agents: JsonObject): string | undefined {
  const text = JSON.stringify(agents);
  return isLongArgument(text) ? undefined : `--agents=${text}`;
}

/** Whether agents are too long for a command line. */
export function isLongArgument(text: string): boolean {
  return sizeOf(text) > LONGEST_ARGUMENT;
}

/**
 * Puts agents that are too long for a command line into files, as a user has them: no other way the interactive Claude
 * Code takes agents of any length by their own names (2.1.330). Those of which a file would make something
 * else stay on the command line, as far as there is room.
 *
 * @param options.readsFiles whether Claude Code reads agents from files at all
 */
export function placedAgents(
  agents: JsonObject,
  { others: { names, unclear } = { names: [] }, readsFiles }: {
    readonly others?: OtherAgents | undefined;
    readonly readsFiles: boolean;
  },
): PlacedAgents {
  const whyNot = (name: string, agent: unknown): string | undefined => {
    if (!readsFiles) return "--restricted leaves no file to be read";
    // Those of a project come before those of the user, those of the command line before both.
    if (names.includes(name)) return "the user or the project has an agent of that name";
    if (unclear !== undefined) return `${unclear} may have an agent of that name`;
    if (!SOUND_NAME.test(name)) return "its name is none for a file";
    const odd = oddField(agent);
    if (odd !== undefined) return `its ${odd} is nothing for a file`;
    return sizeOf(fileOf(name, agent)) > LARGEST_AGENT_FILE ? "it has more than 1 MiB" : undefined;
  };
  const all = Object.entries(agents)
    .map(([name, agent]) => ({ name, agent, why: whyNot(name, agent) }));
  const unfit = all.filter(({ why }) => why !== undefined);
  // White space around a prompt is no reason to refuse it.
  const exact = all.filter(({ agent, why }) => why !== undefined || isCut(agent));
  const kept = argumentOf(exact) === undefined ? unfit : exact;
  const argument = argumentOf(kept);
  if (argument === undefined) {
    const [{ name, why } = { name: "", why: "" }] = unfit;
    const problem =
      `"agents" is too long for a command line, and no file can hold "${name}": ${why}`;
    return { args: [], files: [], problem };
  }
  return {
    args: kept.length === 0 ? [] : [argument],
    files: all.filter((each) => !kept.includes(each))
      .map(({ name, agent }) => fileOf(name, agent)),
  };
}

function argumentOf(
  agents: readonly { readonly name: string; readonly agent: unknown }[],
): string | undefined {
  return agentsArgument(Object.fromEntries(agents.map(({ name, agent }) => [name, agent])));
}

/** Whether Claude Code cuts off something of a prompt that it reads from a file: white space around it. */
function isCut(agent: unknown): boolean {
  const prompt = isJsonObject(agent) ? agent["prompt"] : undefined;
  return typeof prompt === "string" && prompt !== prompt.trim();
}

/** Names that mean the same in a file: 2.1.330 loads none with a colon, a dash in front or hundreds of characters. */
const SOUND_NAME = /^[^:-][^:]{0,99}$/su;

const isText = (value: unknown): value is string =>
  typeof value === "string" && value.trim() !== "";
const areTexts = (value: unknown) => Array.isArray(value) && value.every(isText);
const isSwitch = (value: unknown) => typeof value === "boolean";
const oneOf = (...values: readonly unknown[]) => (value: unknown) => values.includes(value);

/**
 * The fields that say the same in a file as on the command line, and their values. There whoever defines one agent amiss
 * has none at all; in a file a wrong value passes for none.
 */
const FIELDS: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  // From a file a backslash and an n become the end of a line.
  ["description", (value) => isText(value) && !value.includes("\\n")],
  ["prompt", isText],
  ["tools", areTexts],
  ["disallowedTools", areTexts],
  ["skills", areTexts],
  ["model", isText],
  ["memory", oneOf("user", "project", "local")],
  ["mcpServers", (value) => Array.isArray(value) && value.every(isServer)],
  ["initialPrompt", isText],
  ["maxTurns", (value) => Number.isInteger(value) && Number(value) > 0],
  ["background", isSwitch],
  ["omitClaudeMd", isSwitch],
  [
    "effort",
    (value) => Number.isInteger(value) || oneOf("low", "medium", "high", "xhigh", "max")(value),
  ],
  [
    "permissionMode",
    oneOf("default", "acceptEdits", "auto", "bypassPermissions", "dontAsk", "plan"),
  ],
]);

/** The name of an MCP server, or one server's configuration by its name. */
function isServer(value: unknown): boolean {
  if (!isJsonObject(value)) return isText(value);
  const [config, ...more] = Object.values(value);
  return isJsonObject(config) && !isCallers(config) && more.length === 0;
}

/** The first field of a definition that a file would make something else of, or that is missing, in words. */
function oddField(agent: unknown): string | undefined {
  if (!isJsonObject(agent)) return "definition";
  const names = new Set(["description", "prompt", ...Object.keys(agent)]);
  const odd = [...names].find((name) => FIELDS.get(name)?.(agent[name]) !== true);
  return odd === undefined ? undefined : `"${odd}"`;
}

/** An agent as a file has it: what is said of it as YAML in front, then its prompt. */
function fileOf(name: string, agent: unknown): string {
  const { prompt, ...fields } = isJsonObject(agent) ? agent : {};
  const lines = Object.entries({ ...fields, name }).map(([field, value]) =>
    `${inFront(field)}: ${inFront(value)}\n`
  );
  return `---\n${lines.join("")}---\n${asText(prompt)}`;
}

/**
 * A value as JSON, which YAML understands, on one line of plain characters. Claude Code takes three dashes for the end of
 * what is in front, wherever they stand.
 */
function inFront(value: unknown): string {
  return JSON.stringify(value, (_, each) => typeof each === "string" ? each.toWellFormed() : each)
    .replaceAll(
      /[^ -~]|-(?=-)/g,
      (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
}

function sizeOf(text: string): number {
  return new TextEncoder().encode(text).length;
}
