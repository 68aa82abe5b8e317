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

/** Top-level fields that make the child the same user, device and client as the user's own Claude Code. */
const COPIED = ["machineID", "mcpServers", "oauthAccount", "primaryApiKey", "userID"] as const;

/**
 * What the user's own Claude Code has done once and need not do again in every sandbox: 2.1.330 rewrites a new
 * `.claude.json` for each of them before its first request, 15 ms together.
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

/** Fields of a project that `claude -p` honours too. */
const COPIED_OF_PROJECT = [
  "allowedTools",
  "disabledMcpServers",
  "hasClaudeMdExternalIncludesApproved",
  "mcpServers",
] as const;

/**
 * The interactive Claude Code proposes a prompt about a file that is changed often, and reads the last thousand commits
 * for it once a week; `claude -p` does not (2.1.330).
 */
const EXAMPLES_FOUND = {
  exampleFiles: ["-"],
  exampleFilesGeneratedAt: Number.MAX_SAFE_INTEGER,
} as const;

/** Claude Code remembers an approved API key by its last characters. */
const KEY_TAIL = 20;

/**
 * The `.claude.json` of a run: onboarding done, the API key approved, so that no dialog stands between the start and
 * the prompt (2.1.330).
 *
 * Folders are trusted where the user trusts them and nowhere else: in others `claude -p` does not let a project's
 * settings allow tools, add directories or enable plugins (2.1.330).
 *
 * @param user the user's own file, if there is one
 * @param options.switched the MCP servers that a caller has switched off, or on again
 * @param options.folders real paths of the working directory, of the root of its git repository, by which Claude Code
 * knows the project, and of every added directory
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
    // In the terminal of an editor the interactive Claude Code installs its extension there, and claude -p does not.
    autoInstallIdeExtension: false,
    // Where the browser has the extension, the interactive Claude Code may turn it on by itself (2.1.330).
    claudeInChromeDefaultEnabled: false,
    // The footer shows the pull request of the branch. 2.1.197 asked GitHub for it by `gh`; 2.1.285 and 2.1.332 did not.
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

/** MCP servers that are not to be started: those of the user's, with what a caller has switched off, or on, since. */
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

/** What a shell of the tool Bash finds in the folder of its streams. */
export const SHELL_FOLDER = {
  /** The FIFO on which a shell announces its pid. */
  calls: "calls",
  /** A FIFO on which nothing ever comes: a shell waits for a moment by it. */
  idle: "idle",
  /** What follows the pid in the name of the file to which its stderr goes. */
  stderr: ".err",
  /** What follows it in the name of a file that lets the shell begin. */
  go: ".go",
} as const;

/** How often a shell looks whether it may begin, and how long it waits in between, in seconds. */
const LOOKS = 2500;
const PAUSE_S = 0.002;

/** What stands in the place of the user's shell. */
export interface SplitShell {
  /** The script's path, which names the shell that it is for. */
  readonly path: string;
  /** The shell that Claude Code would have taken. */
  readonly shell: string;
  /** The caller's `CLAUDE_CODE_SHELL`. */
  readonly named: string | undefined;
  /** The folder of the streams. */
  readonly folder: string;
}

/**
 * The script that stands in the place of the user's shell, so that what a command writes to stderr can be told from what
 * it writes to stdout. Claude Code gives both the same open file. The script opens that file a second time for stderr, by
 * another name that is gone at once (2.1.330 reads no file that has two), announces itself, and then is the user's shell.
 *
 * So everything that is decided about a command, by whomever, is decided about the command itself; what it writes goes
 * where it always goes, and nothing stands between it and Claude Code. Whoever does not answer in five seconds is not
 * waited for any longer.
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

/** The shell that Claude Code takes for the tool Bash: one that the caller names, if it is a bash or a zsh. */
export function shellOf(env: Readonly<Record<string, string>>): string {
  const named = [env["CLAUDE_CODE_SHELL"], env["SHELL"]];
  return named.find((path) => path !== undefined && /^\/.*(?:bash|zsh)/u.test(path)) ?? "/bin/bash";
}
