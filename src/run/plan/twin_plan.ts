import type { TwinPlan } from "../../driver/effects/twin_plan.ts";
import type { FolderParts } from "../../sandbox/folder/folder_parts.ts";
import type { Environment } from "../../sandbox/environment.ts";
import type { JsonObject } from "../../json_object.ts";

/** Flags that say which session it is, or where something is written, or start programs of the user's. */
const NOT_FOR_TWINS =
  /^--(?:resume|session-id|fork-session|debug|debug-file|name|worktree|settings)(?:=|$)/u;

/** What the flag begins with that names the session to go on with. */
const RESUME = "--resume=";

/** Flags that say which MCP servers there are. */
const OF_SERVERS = /^--(?:strict-)?mcp-config(?:=|$)/u;

/**
 * How a headless Claude Code is started that says what the child would: as the child, but without hooks, and without MCP
 * servers unless they are what is asked about.
 *
 * @param options.args the child's arguments
 * @param options.env its environment, with another config dir
 * @param options.agents the caller's agents that are too long for a command line
 */
export function twinPlan(
  { twinDir: configDir, twinSettingsPath: path }: FolderParts,
  { args, env, userConfigDir, callerSettings, asksCaller, agents }: {
    readonly args: readonly string[];
    readonly env: Environment;
    readonly userConfigDir: string;
    readonly callerSettings: JsonObject;
    readonly asksCaller: boolean;
    readonly agents?: JsonObject | undefined;
  },
): TwinPlan {
  const resumed = args.find((argument) => argument.startsWith(RESUME))?.slice(RESUME.length);
  return {
    args: [
      "-p",
      ...["--input-format=stream-json", "--output-format=stream-json", "--verbose"],
      `--settings=${path}`,
      ...(asksCaller ? ["--permission-prompt-tool=stdio"] : []),
      ...args.filter((argument) => !NOT_FOR_TWINS.test(argument) && !OF_SERVERS.test(argument)),
    ],
    serverArgs: args.filter((argument) => OF_SERVERS.test(argument)),
    env: { ...env, CLAUDE_CONFIG_DIR: configDir },
    ...(resumed === undefined ? {} : { resumed }),
    configDir,
    userConfigDir,
    settings: { path, values: callerSettings },
    ...(agents === undefined ? {} : { agents }),
  };
}
