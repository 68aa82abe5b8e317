import { readJsonObject } from "../read_json_object.ts";
import { isJsonObject, type JsonObject } from "../../transcript/json_object.ts";
import type { SettingSource } from "./read_settings.ts";
import { parentOf } from "../parent_of.ts";
import { absolutePath } from "../absolute_path.ts";

/**
 * How many MCP servers a run will start, as far as its configuration tells; plugins may add others.
 *
 * @param options.configs the caller's `--mcp-config` values: JSON, or files relative to the working directory
 * @param options.strict whether those are all
 * @param options.root the root of the working directory's git repository, else itself
 * @param options.claudeJson the user's own `.claude.json`
 * @param options.sources those that `--setting-sources` leaves
 */
export function countMcpServers(options: {
  readonly cwd: string;
  readonly root: string;
  readonly configs: readonly string[];
  readonly strict: boolean;
  readonly claudeJson: JsonObject | undefined;
  readonly sources: ReadonlySet<SettingSource>;
}): number {
  const { cwd, root, claudeJson, sources } = options;
  const found = options.configs.map((config) => readConfig(config, cwd));
  if (!options.strict) {
    const projects = claudeJson?.["projects"];
    const project = isJsonObject(projects) ? projects[root] : undefined;
    if (sources.has("user")) found.push(claudeJson);
    if (sources.has("local") && isJsonObject(project)) found.push(project);
    // Unlike settings these count in every folder above, whoever owns it (2.1.197 and 2.1.330).
    for (let dir = cwd; sources.has("project"); dir = parentOf(dir)) {
      found.push(readJsonObject(`${dir}/.mcp.json`));
      if (dir === "" || dir === "/") break;
    }
  }
  const names = found.flatMap((config) => {
    const servers = config?.["mcpServers"];
    return isJsonObject(servers) ? Object.keys(servers) : [];
  });
  return new Set(names).size;
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
