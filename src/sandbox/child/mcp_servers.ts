import type { SettingSource } from "./read_settings.ts";
import { type ServerFault, serverFault } from "./server_faults.ts";
import { absolutePath, upFrom } from "../paths.ts";
import { readJsonObject } from "../read_json_object.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";

/** An MCP server that a configuration names. */
export interface McpServer {
  readonly name: string;
  /** Where: the user's or the project's configuration, what the user has for this project alone, or the command line. */
  readonly source: "user" | "project" | "local" | "dynamic";
  /** Whether the user has switched it off for this project, with `/mcp disable`. */
  readonly disabled: boolean;
  /** What the configuration says of it. */
  readonly config: unknown;
}

/**
 * The MCP servers of a run in the order in which `claude -p` lists them, as far as its configuration tells, without those
 * that it leaves out because of what is said of them; plugins may add others.
 *
 * @param options.configs the caller's `--mcp-config` values: JSON, or files relative to the working directory
 * @param options.strict whether those are all
 * @param options.root the root of the working directory's git repository, else itself
 * @param options.projectRoot the folder in which, and above which, `.mcp.json` counts
 * @param options.claudeJson the user's own `.claude.json`
 * @param options.sources those that `--setting-sources` leaves
 */
export function listMcpServers(options: {
  readonly cwd: string;
  readonly root: string;
  readonly projectRoot: string;
  readonly configs: readonly string[];
  readonly strict: boolean;
  readonly claudeJson: JsonObject | undefined;
  readonly sources: ReadonlySet<SettingSource>;
  /** What the caller has switched off, or on again, since. */
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
    // Unlike settings these count in every folder above, whoever owns it, and the nearest of one name is the one
    // (2.1.330).
    for (const dir of sources.has("project") ? upFrom(projectRoot).toReversed() : []) {
      add("project", readJsonObject(`${dir}/.mcp.json`));
    }
    if (sources.has("local")) add("local", project);
  }
  for (const config of options.configs) add("dynamic", readConfig(config, cwd));
  return [...found.values()];
}

/** A server that Claude Code leaves out, and why. */
export interface FaultyServer extends ServerFault {
  readonly name: string;
}

/** The servers of `--mcp-config` that Claude Code leaves out; of those in other places it does not tell. */
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
    // Claude Code itself says what is wrong with it.
    return undefined;
  }
}
