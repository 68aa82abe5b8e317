import { isSdkServer } from "../../claude/wire/control.ts";
import { parseJsonObject } from "../../claude/wire/json_text.ts";
import { definedFields } from "../../defined_fields.ts";
import type { HelperPlan } from "../../driver/effects/headless_helper.ts";
import type { JsonObject } from "../../json_object.ts";
import type { Environment } from "../../sandbox/environment.ts";
import type { FolderFile, FolderParts } from "../../sandbox/folder/folder_layout.ts";
import type { Decisions, KnownRun } from "./decide.ts";
import { flagValues, type RunOrder } from "./run_order.ts";

/**
 * Hides tools that ask a person. `claude -p` does not offer them either, unless the caller answers permission requests.
 */
const HIDE_DIALOGS = "--disallowedTools=AskUserQuestion,EnterPlanMode,ExitPlanMode";

/** Hides a built-in subagent that `claude -p` never offers. */
const HIDE_GUIDE = "--disallowedTools=Agent(claude-code-guide)";

/** Whether the caller, or its tool, answers permission requests. */
export function asksForPermissions({ asksCaller, promptTool }: RunOrder): boolean {
  return asksCaller || promptTool !== undefined;
}

/** The command line of the child. */
export function childArgs(
  order: RunOrder,
  { decided, parts, texts }: {
    readonly decided: Decisions;
    readonly parts: FolderParts;
    readonly texts: PlacedTexts;
  },
): readonly string[] {
  const { session, childMode, hookless, sealsHooks, log, servers, agents } = decided;
  const { resumed } = session;
  // A session id of the caller's is among the forwarded arguments.
  const isOwn = order.sessionId === undefined && session.id !== resumed;
  const showsThoughts = !order.omitsThinking ||
    flagValues(order.forwarded, "--thinking-display").length > 0;
  return [
    `--permission-mode=${childMode}`,
    // The variable with the same effect is removed from the child's environment.
    ...(hookless === undefined || order.forwarded.includes(hookless) ? [] : [hookless]),
    ...(asksForPermissions(order) ? [] : [HIDE_DIALOGS]),
    // The tool that answers permission requests is not for the model.
    ...(order.promptTool === undefined ? [] : [`--disallowedTools=${order.promptTool}`]),
    HIDE_GUIDE,
    ...order.disallowedTools.map((tools) => `--disallowedTools=${tools}`),
    `--settings=${parts.settingsPath}`,
    ...texts.initialized,
    // Only 2.1.330 and newer need the flag. Older versions accept it, so this program need not wait for the version.
    ...(showsThoughts ? [] : ["--thinking-display=omitted"]),
    ...(isOwn ? [`--session-id=${session.id}`] : []),
    ...(resumed === undefined ? [] : [`--resume=${resumed}`]),
    ...texts.forwarded.filter((argument) => !argument.startsWith("--resume=")),
    // The last --agents and the last --setting-sources count, so ours come after the caller's.
    ...agents.args,
    // Of servers with the same name, the last one counts.
    ...(servers.length === 0 ? [] : [`--mcp-config=${parts.bridgeConfigPath}`]),
    ...(sealsHooks ? sealingArgs(order, parts) : []),
    ...(order.debugFile === undefined && log !== undefined ? [`--debug-file=${log}`] : []),
  ];
}

/** Arguments with which only the hooks of our plugin run (2.1.330). The last `--managed-settings` counts. */
function sealingArgs(
  { forwarded }: Pick<RunOrder, "forwarded">,
  { hooksPluginDir }: Pick<FolderParts, "hooksPluginDir">,
): readonly string[] {
  const given = flagValues(forwarded, "--managed-settings").at(-1) ?? "";
  const { strictPluginOnlyCustomization: strict, ...managed } = parseJsonObject(given) ?? {};
  const sealed = [...Array.isArray(strict) ? strict : [], "hooks"];
  return [
    `--managed-settings=${JSON.stringify({ ...managed, strictPluginOnlyCustomization: sealed })}`,
    `--plugin-dir=${hooksPluginDir}`,
  ];
}

/** Flags that choose a session, name a file to write, or start the user's programs. */
const CHILD_ONLY =
  /^--(?:resume|session-id|fork-session|debug|debug-file|name|worktree|settings)(?:=|$)/u;

const SERVER_FLAGS = /^--(?:strict-)?mcp-config(?:=|$)/u;

/**
 * The command line of the headless helper: that of the child without hooks, and without MCP servers unless the question
 * is about them.
 *
 * @param options.args the child's command line
 * @param options.env the child's environment
 */
export function headlessPlan(
  order: RunOrder,
  { facts, decided, args, env, parts }: KnownRun & {
    readonly args: readonly string[];
    readonly env: Environment;
    readonly parts: FolderParts;
  },
): HelperPlan {
  const { agents, sealsHooks } = decided;
  const ours = [
    HIDE_DIALOGS,
    HIDE_GUIDE,
    `--mcp-config=${parts.bridgeConfigPath}`,
    ...(sealsHooks ? sealingArgs(order, parts) : []),
    ...agents.args,
  ];
  const shared = args.filter((argument) => !ours.includes(argument));
  const { helperDir: configDir, helperSettingsPath: path } = parts;
  return {
    args: [
      "-p",
      "--input-format=stream-json",
      "--output-format=stream-json",
      "--verbose",
      `--settings=${path}`,
      ...(asksForPermissions(order) ? ["--permission-prompt-tool=stdio"] : []),
      ...shared.filter((argument) => !CHILD_ONLY.test(argument) && !SERVER_FLAGS.test(argument)),
    ],
    serverArgs: shared.filter((argument) => SERVER_FLAGS.test(argument)),
    env: { ...env, CLAUDE_CONFIG_DIR: configDir },
    configDir,
    userConfigDir: facts.userConfig.dir,
    settings: { path, values: facts.callerSettings },
    ...definedFields({
      resumed: decided.session.resumed,
      agents: agents.problem === undefined ? order.initialized?.longAgents : undefined,
    }),
  };
}

/** The caller's texts in files of the private folder, and the arguments that name these files. */
export interface PlacedTexts {
  /** Arguments for the values in the caller's control requests. */
  readonly initialized: readonly string[];
  /** The forwarded arguments, with files instead of texts where Claude Code accepts a file. */
  readonly forwarded: readonly string[];
  readonly files: readonly FolderFile[];
}

/**
 * Puts prompts and MCP configurations into files that only the user can read, because every user of the machine can read
 * a command line. Claude Code treats a file like the text (2.1.330).
 */
export function placeTexts(
  { initialized, setServers, forwarded }: Pick<
    RunOrder,
    "initialized" | "setServers" | "forwarded"
  >,
  parts: FolderParts,
): PlacedTexts {
  const files = new Map<string, string>();
  const place = (flag: string, path: string, text: string | undefined): readonly string[] => {
    if (text === undefined) return [];
    files.set(path, text);
    return [`${flag}=${path}`];
  };
  const prompts = [
    {
      flag: "--system-prompt",
      path: parts.systemPromptPath,
      initialized: initialized?.systemPrompt,
    },
    {
      flag: "--append-system-prompt",
      path: parts.appendSystemPromptPath,
      initialized: initialized?.appendSystemPrompt,
    },
  ] as const;
  const servers = setServers === undefined ? undefined : mcpConfigOf(setServers);
  const initializedArgs = [
    ...place("--mcp-config", parts.setServersPath, servers),
    ...prompts.flatMap(({ flag, path, initialized }) => place(`${flag}-file`, path, initialized)),
  ];
  // Claude Code joins a text with a caller's file (2.1.330), so such a text stays a text.
  const placeable = prompts.filter(({ flag, initialized }) =>
    initialized === undefined && flagValues(forwarded, `${flag}-file`).length === 0
  );
  let configs = 0;
  return {
    initialized: initializedArgs,
    forwarded: forwarded.flatMap((argument) => {
      const text = argument.slice(argument.indexOf("=") + 1);
      // Claude Code treats a value that is no JSON as a path.
      if (argument.startsWith("--mcp-config=") && parseJsonObject(text) !== undefined) {
        return place("--mcp-config", `${parts.mcpConfigPath}-${configs++}.json`, text);
      }
      const prompt = placeable.find(({ flag }) => argument.startsWith(`${flag}=`));
      return prompt === undefined ? [argument] : place(`${prompt.flag}-file`, prompt.path, text);
    }),
    files: [...files].map(([path, text]) => ({ path, text })),
  };
}

/** The value of `--mcp-config` for servers of the caller, without those that run in the caller's own process. */
export function mcpConfigOf(servers: JsonObject): string {
  const others = Object.entries(servers).filter(([, config]) => !isSdkServer(config));
  return JSON.stringify({ mcpServers: Object.fromEntries(others) });
}
