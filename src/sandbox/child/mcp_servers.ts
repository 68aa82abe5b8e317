import type { SettingSource } from "./read_settings.ts";
import { absolutePath, upFrom } from "../../paths.ts";
import { readJsonObject } from "../read_json_object.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";

/** An MCP server that a configuration names. */
export interface McpServer {
  readonly name: string;
  /** The user's configuration, the project's, the user's for this project alone (`local`), or the command line (`dynamic`). */
  readonly source: "user" | "project" | "local" | "dynamic";
  /** Whether the user has switched it off for this project, with `/mcp disable`. */
  readonly disabled: boolean;
  /** Its value in the configuration. */
  readonly config: unknown;
}

/**
 * Lists the MCP servers of a run's configuration, in the order of `claude -p` and without invalid ones. Plugins can add
 * others.
 *
 * @param options.configs the caller's `--mcp-config` values: JSON, or files relative to the working directory
 * @param options.strict whether there are no other servers
 * @param options.root the root of the working directory's git repository, or else the working directory
 * @param options.projectRoot the folder whose `.mcp.json` is read, and those of the folders above
 * @param options.claudeJson the user's own `.claude.json`
 * @param options.sources see `settingSources`
 */
export function listMcpServers(options: {
  readonly cwd: string;
  readonly root: string;
  readonly projectRoot: string;
  readonly configs: readonly string[];
  readonly strict: boolean;
  readonly claudeJson: JsonObject | undefined;
  readonly sources: ReadonlySet<SettingSource>;
  /** The servers that the caller has disabled (false) or enabled (true) since the start. */
  readonly switched?: Readonly<Record<string, boolean>>;
}): readonly McpServer[] {
  const { cwd, root, projectRoot, claudeJson, sources, switched = {} } = options;
  const projects = claudeJson?.["projects"];
  const known = isJsonObject(projects) ? projects[root] : undefined;
  const project = isJsonObject(known) ? known : {};
  const off = project["disabledMcpServers"];
  const found = new Map<string, McpServer>();
  const add = (source: McpServer["source"], config: JsonObject | undefined) => {
    const servers = config?.["mcpServers"];
    for (const [name, given] of Object.entries(isJsonObject(servers) ? servers : {})) {
      if (serverFault(name, given) !== undefined) continue;
      const isOff = Array.isArray(off) && off.includes(name);
      const disabled = Object.hasOwn(switched, name) ? switched[name] === false : isOff;
      found.set(name, { name, source, disabled, config: given });
    }
  };
  if (!options.strict) {
    if (sources.has("user")) add("user", claudeJson);
    // Unlike settings, `.mcp.json` is read in every folder above, whoever owns it. The nearest server of a name wins
    // (2.1.330).
    for (const dir of sources.has("project") ? upFrom(projectRoot).toReversed() : []) {
      add("project", readJsonObject(`${dir}/.mcp.json`));
    }
    if (sources.has("local")) add("local", project);
  }
  for (const config of options.configs) add("dynamic", readConfig(config, cwd));
  return [...found.values()];
}

/** A server that Claude Code ignores, and why. */
export interface FaultyServer extends ServerFault {
  readonly name: string;
}

/** Lists the invalid servers of `--mcp-config`. Claude Code does not report invalid servers of other sources. */
export function faultyServers(
  { cwd, configs }: { readonly cwd: string; readonly configs: readonly string[] },
): readonly FaultyServer[] {
  return configs.flatMap((config) => {
    const servers = readConfig(config, cwd)?.["mcpServers"];
    return Object.entries(isJsonObject(servers) ? servers : {}).flatMap(([name, given]) => {
      const fault = serverFault(name, given);
      return fault === undefined ? [] : [{ name, ...fault }];
    });
  });
}

function readConfig(config: string, cwd: string): JsonObject | undefined {
  if (!config.trimStart().startsWith("{")) {
    return readJsonObject(absolutePath(config, cwd));
  }
  try {
    const value: unknown = JSON.parse(config);
    return isJsonObject(value) ? value : undefined;
  } catch {
    // Claude Code itself reports the error.
    return undefined;
  }
}

/** Why Claude Code ignores an MCP server, as in `system/init` (2.1.330). */
interface ServerFault {
  /** For example `unknown_type`. */
  readonly type: string;
  readonly message: string;
}

/** Names that Claude Code keeps for servers of its own (2.1.330). */
const RESERVED = ["claude-in-chrome", "computer-use", "workspace"];

/** Fields of a server, each with a function that returns what is wrong with its value. Required fields come first. */
type Fields = readonly (readonly [string, (value: unknown) => string | undefined])[];

/** The fields that Claude Code checks for each type of server, in its order. */
const FIELDS: Readonly<Record<string, Fields>> = {
  stdio: [["command", ofCommand], ["args", ofList], ["env", ofTexts]],
  http: [["url", ofText], ["headers", ofTexts], ["headersHelper", ofText], ["oauth", ofObject]],
  sse: [["url", ofText], ["headers", ofTexts], ["headersHelper", ofText], ["oauth", ofObject]],
  ws: [["url", ofText], ["headers", ofTexts], ["headersHelper", ofText]],
  sdk: [["name", ofText]],
  "claudeai-proxy": [["url", ofText], ["id", ofText]],
};
const FURTHER: Fields = [["timeout", ofTime], ["alwaysLoad", ofBoolean]];
/** The number of required fields; 1 by default. */
const NEEDED: Readonly<Record<string, number>> = { "claudeai-proxy": 2 };

/** Returns what is wrong with the configuration of an MCP server; undefined if it is valid. */
export function serverFault(name: string, config: unknown): ServerFault | undefined {
  if (RESERVED.includes(name)) {
    return {
      type: "reserved_name",
      message: `"${name}" is a reserved MCP server name and was not loaded`,
    };
  }
  const skipped = (type: string, what: string) => ({ type, message: `Skipped — ${what}` });
  const invalid = (faults: readonly string[]) =>
    skipped("invalid_config", `invalid MCP server config for "${name}": ${faults.join("; ")}`);
  if (!isJsonObject(config)) return invalid([`(root): ${expected("object", config)}`]);
  const { type, url, command } = config;
  if (type === undefined && url !== undefined && command === undefined) {
    return skipped(
      "url_missing_type",
      `MCP server "${name}" has a "url" but no "type"; add "type": "http" (or "sse" / "ws") to ` +
        "this entry",
    );
  }
  if (type !== undefined && typeof type !== "string") return invalid(['type: expected "stdio"']);
  const kind = type === undefined ? "stdio" : type === "streamable-http" ? "http" : type;
  const fields = Object.hasOwn(FIELDS, kind) ? FIELDS[kind] : undefined;
  if (fields === undefined) {
    return skipped("unknown_type", `unknown MCP server type "${type}" for server "${name}"`);
  }
  const needed = NEEDED[kind] ?? 1;
  const faults = [...fields, ...FURTHER].flatMap(([field, faultOf], place) => {
    const value = config[field];
    const fault = value === undefined && place >= needed ? undefined : faultOf(value);
    // A fault of a nested value begins with its own path.
    return fault === undefined
      ? []
      : [fault.startsWith(".") ? field + fault : `${field}: ${fault}`];
  });
  return faults.length === 0 ? undefined : invalid(faults);
}

function expected(kind: string, value: unknown): string {
  const got = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  return `expected ${kind}, received ${got}`;
}

function ofText(value: unknown): string | undefined {
  return typeof value === "string" ? undefined : expected("string", value);
}

function ofCommand(value: unknown): string | undefined {
  return value === "" ? "Command cannot be empty" : ofText(value);
}

function ofBoolean(value: unknown): string | undefined {
  return typeof value === "boolean" ? undefined : expected("boolean", value);
}

function ofObject(value: unknown): string | undefined {
  return isJsonObject(value) ? undefined : expected("object", value);
}

function ofList(value: unknown): string | undefined {
  return Array.isArray(value) ? firstOf(Object.entries(value)) : expected("array", value);
}

function ofTexts(value: unknown): string | undefined {
  return isJsonObject(value) ? firstOf(Object.entries(value)) : expected("record", value);
}

/** The fault of the first value that is not a string. */
function firstOf(entries: readonly (readonly [string, unknown])[]): string | undefined {
  const found = entries.find(([, value]) => typeof value !== "string");
  return found === undefined ? undefined : `.${found[0]}: ${expected("string", found[1])}`;
}

function ofTime(value: unknown): string | undefined {
  if (typeof value !== "number") return expected("number", value);
  if (!Number.isInteger(value)) return expected("int", value);
  return value > 0 ? undefined : "Too small: expected number to be >0";
}
