import { SCREEN_COMMANDS } from "./read_settings.ts";
import {
  type HookEvent,
  type HookOccasion,
  hookScript,
  hookSettings,
  statusLineSetting,
} from "./hooks.ts";
import { literalPattern, readingRules, runSettings } from "./run_settings.ts";
import {
  DOWN_SUFFIX,
  type FolderFile,
  type FolderParts,
  folderParts,
  IN_SUFFIX,
  OUT_SUFFIX,
  UP_SUFFIX,
} from "../folder/folder_layout.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";
import {
  BRIDGED_OUTPUT_TOOL,
  OUTPUT_SERVER,
} from "../../claude/transcript/structured_output_tool.ts";
import { shellQuote } from "../../shell_quote.ts";

/** The content of the files that a child is started with. */
export interface ChildFilesOptions {
  /** Proves that a line on the FIFO comes from the script of the hooks. */
  readonly secret: string;
  /** The process that answers hooks. */
  readonly pid: number;
  /** The hooks this run needs. */
  readonly hooks: readonly HookEvent[];
  /** Further matchers of them, by event. */
  readonly matchers?: Partial<Record<HookEvent, string>>;
  /** Further hooks for whose answer the child waits. */
  readonly held: readonly HookEvent[];
  /** Whether a long prompt is marked before it is sent. */
  readonly marksLong?: boolean;
  /** The caller's own hooks, and whether it is asked for permissions. */
  readonly callbacks?: readonly HookOccasion[];
  readonly asksCaller?: boolean;
  /** Whether our hooks are in a plugin, because those of settings do not run. */
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
  /** The user's config dir and the resumed session. Long outputs of the session are there, and the model knows their paths. */
  readonly earlierOutputs?: { readonly userConfigDir: string; readonly session: string };
  /** Our part of the `enabledPlugins` setting. */
  readonly plugins: JsonObject;
  /** Real paths of the working directory, of the root of its git repository, and of every added directory. */
  readonly folders: readonly string[];
  /** Folders of runs that tools could write to otherwise. */
  readonly exposed: readonly string[];
  /** Folders of runs that are hidden from the Bash sandbox, except this run's config dir and temp folder. */
  readonly hidden: readonly string[];
  /** Those of them that settings open. */
  readonly reopened?: readonly string[];
  /** The caller's `ANTHROPIC_API_KEY`. */
  readonly apiKey: string | undefined;
  /** The prompt that the child reads on its fd 0; absent if it is delivered otherwise. */
  readonly stdin?: string;
  /** Files with texts of the caller. */
  readonly texts?: readonly FolderFile[];
  /** The caller's agents that are too long for the command line, as texts of agent files. */
  readonly agents?: readonly string[];
  /** The MCP servers that the caller has disabled (false) or enabled (true). */
  readonly switched?: Readonly<Record<string, boolean>>;
  /** The names of the MCP servers that are bridged to this program. */
  readonly servers?: readonly string[];
  /** The time limit of tool calls of some of them, in milliseconds. */
  readonly timeouts?: Readonly<Record<string, number>>;
  /** The one of them that the bridge starts as a program, and its configuration. */
  readonly relayed?: { readonly name: string; readonly config: JsonObject };
  /** Whether the child reports its cost while it lives. */
  readonly asksCost: boolean;
  /** The script in place of the user's shell, if stderr is to be separate. */
  readonly splitShell?: SplitShell;
}

/** Settings that start the user's programs. They are removed from the user's settings. */
const PROGRAMS: readonly string[] = ["hooks", ...SCREEN_COMMANDS];

/** Returns the files of a run's private folder that the child reads or runs. Writes nothing. */
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
    // A number, because no text of the caller may become part of a path.
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

/**
 * The pattern for everything in the `own` folders, which tools may not read, of all private folders in a folder of
 * runs.
 */
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
 * The script that the child starts in place of an MCP server of the caller. It only copies lines between the child and two
 * FIFOs.
 *
 * If the server is a program, the script starts it as the child would, and connects it to two more FIFOs. Each of the two
 * ends when the other ends.
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
 * Returns the child's `--mcp-config`: a bridge for each server of the caller, and our own server. `alwaysLoad` makes our tool
 * part of the first request; 2.1.330 lets the model search for the tools of other servers.
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

/** Fields that identify the user, the machine and the client. */
const COPIED = ["machineID", "mcpServers", "oauthAccount", "primaryApiKey", "userID"] as const;

/**
 * Fields for what Claude Code does once. Without them 2.1.330 writes a new `.claude.json` for each before its first request,
 * 15 ms together.
 */
export const DONE_ONCE = [
  "firstStartTime",
  "firstStartVersion",
  "hasResetAutoModeOptInForDefaultOffer",
  "lastReleaseNotesSeen",
  "migrationVersion",
  "numStartups",
  "opusProMigrationComplete",
  "seenNotifications",
] as const;

/** Fields of a project that `claude -p` uses too. */
const COPIED_OF_PROJECT = [
  "allowedTools",
  "disabledMcpServers",
  "hasClaudeMdExternalIncludesApproved",
  "mcpServers",
] as const;

/** Keeps the interactive Claude Code from reading the last thousand commits for an example prompt, which it does once a week (2.1.330). */
const EXAMPLES_FOUND = {
  exampleFiles: ["-"],
  exampleFilesGeneratedAt: Number.MAX_SAFE_INTEGER,
} as const;

/** Claude Code stores the last characters of an approved API key. */
const KEY_TAIL = 20;

/**
 * Returns the `.claude.json` of a run. Onboarding is done and the API key is approved, so that no dialog appears (2.1.330).
 *
 * A folder is trusted if the user trusts it. In other folders neither `claude -p` nor the child lets a project's settings
 * allow tools, add directories or enable plugins (2.1.330).
 *
 * @param user the user's own file, if it exists
 * @param options.switched the MCP servers that the caller has disabled (false) or enabled (true)
 * @param options.folders real paths of the working directory, of the root of its git repository (the name of the project in
 * this file), and of every added directory
 */
export function seededClaudeJson(
  user: JsonObject | undefined,
  options: {
    readonly folders: readonly string[];
    readonly apiKey: string | undefined;
    readonly switched?: Readonly<Record<string, boolean>>;
  },
): JsonObject {
  const seeded: Record<string, unknown> = {
    hasCompletedOnboarding: true,
    officialMarketplaceAutoInstallAttempted: true,
    officialMarketplaceAutoInstalled: true,
    // In an editor's terminal the interactive Claude Code would install its extension. `claude -p` does not.
    autoInstallIdeExtension: false,
    // The interactive Claude Code may use the browser's extension without being asked (2.1.330).
    claudeInChromeDefaultEnabled: false,
    // The footer shows the branch's pull request. 2.1.197 started `gh` for it; 2.1.285 and 2.1.332 did not.
    prStatusFooterEnabled: false,
    ...pickFields(user, COPIED),
    ...pickFields(user, DONE_ONCE),
  };
  if (options.apiKey !== undefined && options.apiKey !== "") {
    seeded["customApiKeyResponses"] = { approved: [options.apiKey.slice(-KEY_TAIL)], rejected: [] };
  }
  const known = isJsonObject(user?.["projects"]) ? user["projects"] : {};
  const projects = new Map<string, JsonObject>();
  for (const [dir, project] of Object.entries(known)) {
    if (isJsonObject(project) && project["hasTrustDialogAccepted"] === true) {
      projects.set(dir, { hasTrustDialogAccepted: true });
    }
  }
  for (const dir of options.folders) {
    const project = known[dir];
    projects.set(dir, {
      ...projects.get(dir),
      ...pickFields(isJsonObject(project) ? project : undefined, COPIED_OF_PROJECT),
      hasClaudeMdExternalIncludesWarningShown: true,
      ...EXAMPLES_FOUND,
      ...switchedOff(project, options.switched),
    });
  }
  seeded["projects"] = Object.fromEntries(projects);
  return seeded;
}

/** The disabled MCP servers: the user's choice, changed by the caller's. */
function switchedOff(
  project: unknown,
  switched: Readonly<Record<string, boolean>> = {},
): JsonObject {
  const names = Object.keys(switched);
  if (names.length === 0) return {};
  const known = isJsonObject(project) ? project["disabledMcpServers"] : undefined;
  const kept = Array.isArray(known) ? known.filter((name) => !names.includes(name)) : [];
  return {
    disabledMcpServers: [...kept, ...names.filter((name) => switched[name] === false)],
  };
}

function pickFields(from: JsonObject | undefined, names: readonly string[]): JsonObject {
  return Object.fromEntries(
    names.filter((name) => from?.[name] !== undefined).map((name) => [name, from?.[name]]),
  );
}

/** Names in the folder of the streams of the Bash tool's shells. */
export const SHELL_FOLDER = {
  /** The FIFO on which a shell announces its pid. */
  calls: "calls",
  /** A FIFO that stays empty. A shell reads it with a time limit in order to wait. */
  idle: "idle",
  /** Ending of the file for stderr; its name begins with the shell's pid. */
  stderr: ".err",
  /** Ending of the file that lets the shell begin; its name begins with the shell's pid. */
  go: ".go",
} as const;

/** How often a shell checks whether it may begin, and the pause between two checks, in seconds. */
const LOOKS = 2500;
const PAUSE_S = 0.002;

/** The script in place of the user's shell. */
export interface SplitShell {
  /** The script's path. It contains the name of the shell. */
  readonly path: string;
  /** The shell that Claude Code would have started. */
  readonly shell: string;
  /** The caller's `CLAUDE_CODE_SHELL`. */
  readonly named: string | undefined;
  /** The folder of the streams. */
  readonly folder: string;
}

/**
 * Returns the script in place of the user's shell, which separates a command's stderr from its stdout. Claude Code gives
 * both the same open file. The script opens the file a second time for stderr, by a second name that it removes at once
 * (2.1.330 does not read a file with two names). It announces itself, and then executes the user's shell.
 *
 * So permissions are decided about the command itself, and its output goes directly to Claude Code's file. The script waits
 * at most five seconds for this program.
 */
export function shellScript({ shell, named, folder }: SplitShell): string {
  const { calls, idle, stderr, go } = SHELL_FOLDER;
  return `#!/bin/bash -p
d=${shellQuote(folder)}
if [[ $1 == -c && -f /proc/self/fd/1 ]] && /bin/ln -L /proc/self/fd/1 "$d/$$${stderr}" 2> /dev/null; then
  [[ -w $d/$$${stderr} ]] && exec 2>> "$d/$$${stderr}"
  /bin/rm -f "$d/$$${stderr}"
  printf '\\n%s\\n' "$$" 1<> "$d/${calls}"
  for ((i = 0; i < ${LOOKS}; i++)); do
    [[ -e $d/$$${go} ]] && break
    read -rt ${PAUSE_S} <> "$d/${idle}"
  done
fi
export SHELL=${shellQuote(shell)}
${named === undefined ? "unset CLAUDE_CODE_SHELL" : `export CLAUDE_CODE_SHELL=${shellQuote(named)}`}
exec ${shellQuote(shell)} "$@"
`;
}

/** Returns the shell that Claude Code uses for the Bash tool: the caller's choice if it is a bash or a zsh. */
export function shellOf(env: Readonly<Record<string, string>>): string {
  const named = [env["CLAUDE_CODE_SHELL"], env["SHELL"]];
  return named.find((path) => path !== undefined && /^\/.*(?:bash|zsh)/u.test(path)) ?? "/bin/bash";
}
