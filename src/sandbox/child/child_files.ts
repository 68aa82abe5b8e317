import { SCREEN_COMMANDS } from "./foreign_settings.ts";
import {
  type HookEvent,
  type HookOccasion,
  hookScript,
  hookSettings,
  statusLineSetting,
} from "./hooks.ts";
import { literalPattern } from "./literal_pattern.ts";
import { readingRules, runSettings } from "./run_settings.ts";
import { seededClaudeJson } from "./seeded_claude_json.ts";
import { shellScript, type SplitShell } from "./split_shell.ts";
import {
  DOWN_SUFFIX,
  type FolderFile,
  IN_SUFFIX,
  OUT_SUFFIX,
  UP_SUFFIX,
} from "../folder/folder_contents.ts";
import { type FolderParts, folderParts } from "../folder/folder_parts.ts";
import type { JsonObject } from "../../json_object.ts";
import {
  BRIDGED_OUTPUT_TOOL,
  OUTPUT_SERVER,
} from "../../claude/transcript/structured_output_tool.ts";

/** What the files are made of that a child is started with. */
export interface ChildFilesOptions {
  /** Proves that a line on the FIFO comes from the script of the hooks. */
  readonly secret: string;
  /** The process that hears and answers hooks. */
  readonly pid: number;
  /** The hooks this run needs. */
  readonly hooks: readonly HookEvent[];
  /** What of their event some of them are for alone. */
  readonly matchers?: Partial<Record<HookEvent, string>>;
  /** The hooks that keep the child waiting until they are answered. */
  readonly held: readonly HookEvent[];
  /** Whether a long prompt is marked before it is sent. */
  readonly marksLong?: boolean;
  /** The caller's own hooks, and whether it is asked for permissions. */
  readonly callbacks?: readonly HookOccasion[];
  readonly asksCaller?: boolean;
  /** Whether our hooks are a plugin's, and those of settings do not run. */
  readonly sealsHooks?: boolean;
  /** Whether the user's own hooks run too. */
  readonly inheritsHooks?: boolean | undefined;
  /** The user's own `.claude.json` and `settings.json`, where they exist. */
  readonly userClaudeJson: JsonObject | undefined;
  readonly userSettings: JsonObject | undefined;
  /** The caller's `--settings`. */
  readonly callerSettings: JsonObject;
  /** Where the project's automatic memory is kept, unless settings name another place. */
  readonly memoryPath: string;
  /**
   * The user's config dir and the session that goes on: its outputs that were too long for the model, which was told of
   * their files, are there.
   */
  readonly earlierOutputs?: { readonly userConfigDir: string; readonly session: string };
  /** The `enabledPlugins` setting, as far as it is ours. */
  readonly plugins: JsonObject;
  /** Real paths of the working directory, of the root of its git repository, and of every added directory. */
  readonly folders: readonly string[];
  /** Folders of runs that tools may write to, and must not. */
  readonly exposed: readonly string[];
  /** Folders of runs of which commands in the Bash sandbox see nothing but this run's config dir and temp folder. */
  readonly hidden: readonly string[];
  /** Those of them that settings open by their own names. */
  readonly reopened?: readonly string[];
  /** The caller's `ANTHROPIC_API_KEY`. */
  readonly apiKey: string | undefined;
  /** The prompt that the child reads as its fd 0; absent when it goes in otherwise. */
  readonly stdin?: string;
  /** Files with texts of the caller's, by their paths. */
  readonly texts?: readonly FolderFile[];
  /** The caller's agents that are too long for a command line, as files of the user's. */
  readonly agents?: readonly string[];
  /** The MCP servers that a caller has switched off or on. */
  readonly switched?: Readonly<Record<string, boolean>>;
  /** The names of the MCP servers that are bridged to this program. */
  readonly servers?: readonly string[];
  /** How long calls of tools of some of them may take, in milliseconds. */
  readonly timeouts?: Readonly<Record<string, number>>;
  /** The one of them that is a program behind its bridge, and how it is configured. */
  readonly relayed?: { readonly name: string; readonly config: JsonObject };
  /** Whether the child is to tell what it costs while it lives. */
  readonly asksCost: boolean;
  /** What stands in the place of the user's shell, if something does. */
  readonly splitShell?: SplitShell;
}

/** Settings that start the user's own programs, which `claude -p` does not do or a run must not do. */
const PROGRAMS: readonly string[] = ["hooks", ...SCREEN_COMMANDS];

/** The files in a run's private folder that the child reads or runs: paths and contents, nothing is written here. */
export function childFiles(
  parts: FolderParts,
  options: ChildFilesOptions,
): readonly FolderFile[] {
  const { own, configDir, settingsPath, hookPath, promptPath } = parts;
  const { userSettings, stdin, splitShell, texts = [] } = options;
  const { agents = [], servers = [] } = options;
  const hooks = hookSettings(hookPath, {
    events: options.hooks,
    matchers: options.matchers ?? {},
    held: options.held,
    marksLong: options.marksLong === true,
    callbacks: options.callbacks ?? [],
    asksCaller: options.asksCaller === true,
  });
  const settings = runSettings(options.callerSettings, {
    hooks: options.sealsHooks ? {} : hooks,
    memoryPath: options.memoryPath,
    plugins: options.plugins,
    allow: [
      ...servers.includes(OUTPUT_SERVER) ? [BRIDGED_OUTPUT_TOOL] : [],
      ...options.earlierOutputs === undefined ? [] : readingRules(options.earlierOutputs),
    ],
    outOfReach: [own, ...options.exposed],
    outOfReachPatterns: (options.reopened ?? []).map(ownPartsIn),
    readOnly: [configDir],
    asksCaller: options.asksCaller === true,
    hidden: { folders: options.hidden, but: [configDir] },
    ...(options.asksCost ? { statusLine: statusLineSetting(hookPath) } : {}),
  });
  const claudeJson = seededClaudeJson(options.userClaudeJson, options);
  return [
    { path: hookPath, text: hookScript({ ...options, own }) },
    { path: settingsPath, text: JSON.stringify(settings) },
    { path: `${configDir}/.claude.json`, text: JSON.stringify(claudeJson) },
    ...(userSettings === undefined ? [] : [{
      path: `${configDir}/settings.json`,
      text: JSON.stringify(withoutPrograms(userSettings, options)),
    }]),
    ...(options.sealsHooks
      ? [{
        path: `${parts.hooksPluginDir}/.claude-plugin/plugin.json`,
        text: JSON.stringify({ name: "claude-print", version: "1.0.0", hooks }),
      }]
      : []),
    ...texts,
    // Nothing that a caller says is a part of a path.
    ...agents.map((text, number) => ({ path: `${parts.agentsDir}/${number}.md`, text })),
    ...(servers.length === 0 ? [] : [
      { path: parts.bridgePath, text: BRIDGE_SCRIPT },
      { path: parts.bridgeConfigPath, text: JSON.stringify(bridgeConfig(options, parts)) },
    ]),
    ...(stdin === undefined ? [] : [{ path: promptPath, text: stdin }]),
    ...(splitShell === undefined
      ? []
      : [{ path: splitShell.path, text: shellScript(splitShell), runs: true as const }]),
  ];
}

/** What is out of reach for tools in whatever private folders there are, as a pattern of rules. */
function ownPartsIn(runs: string): string {
  return `/${literalPattern(runs)}${folderParts("/*").own}/**`;
}

function withoutPrograms(
  settings: JsonObject,
  { inheritsHooks = false }: Pick<ChildFilesOptions, "inheritsHooks">,
): JsonObject {
  const dropped = PROGRAMS.filter((name) => !(inheritsHooks && name === "hooks"));
  return Object.fromEntries(Object.entries(settings).filter(([name]) => !dropped.includes(name)));
}

/**
 * The script that the child starts in the place of an MCP server of the caller's. It only carries lines: what the child
 * says goes up, what comes down is said to the child.
 *
 * A server that is a program itself is started by it, as the child would, and speaks to whoever is at the other end of
 * those FIFOs too. It ends with the script, and the script with it.
 */
const BRIDGE_SCRIPT = `#!/bin/sh
# usage: mcp-bridge NUMBER [PROGRAM ARGUMENT...], a client of MCP on stdin and stdout
own=$PATH
PATH=/usr/bin:/bin\${PATH:+:$PATH}
p=\${0%/*}/mcp/$1
shift
if [ $# -gt 0 ]; then
  {
    PATH=$own "$@" < "$p${IN_SUFFIX}" > "$p${OUT_SUFFIX}" &
    trap "kill $! 2> /dev/null" TERM
    wait $!
    kill $$ 2> /dev/null
  } &
  program=$!
fi
cat < "$p${DOWN_SUFFIX}" &
trap "kill $! $program 2> /dev/null" EXIT HUP INT TERM
cat > "$p${UP_SUFFIX}"
`;

/**
 * The `--mcp-config` by which the child knows the caller's servers, each by its bridge, and ours, whose tool the first
 * request needs: 2.1.330 leaves the others' tools to be searched for.
 */
function bridgeConfig(
  { servers = [], timeouts = {}, relayed }: Pick<
    ChildFilesOptions,
    "servers" | "timeouts" | "relayed"
  >,
  { bridgePath }: Pick<FolderParts, "bridgePath">,
): JsonObject {
  const args = relayed?.config["args"];
  const program = [relayed?.config["command"], ...(Array.isArray(args) ? args : [])];
  return {
    mcpServers: Object.fromEntries(servers.map((name, number) => [
      name,
      {
        ...(name === relayed?.name ? relayed.config : {}),
        type: "stdio",
        command: "/bin/sh",
        args: [bridgePath, `${number}`, ...(name === relayed?.name ? program : [])],
        ...(Object.hasOwn(timeouts, name) ? { timeout: timeouts[name] } : {}),
        ...(name === OUTPUT_SERVER ? { alwaysLoad: true } : {}),
      },
    ])),
  };
}
