import { Poller } from "../../ffi/poll.ts";
import { MAX_SOCKET_PATH } from "../../ffi/unix_socket.ts";
import type { ConversationOptions } from "../frames/conversation.ts";
import { DENIAL_MESSAGE } from "../session/hook_answers.ts";
import type { Limits } from "../session/limits.ts";
import { QUIT_WORDS } from "../session/quit_words.ts";
import type { SessionOptions, WayIn } from "../session/session_state.ts";
import { slashWord } from "../session/slash_word.ts";
import { childEnvironment } from "../sandbox/child_environment.ts";
import type { HookEvent } from "../sandbox/hooks.ts";
import { type JsonObject, readOwnJsonObject } from "../sandbox/json_object.ts";
import { findLogin } from "../sandbox/login.ts";
import { countMcpServers } from "../sandbox/mcp_servers.ts";
import { noLoginError } from "../sandbox/no_login_error.ts";
import { mayHaveOtherStopHooks } from "../sandbox/other_stop_hooks.ts";
import { gitRoot } from "../sandbox/git_root.ts";
import { places } from "../sandbox/places.ts";
import { readSettings, type Settings, type SettingsSource } from "../sandbox/read_settings.ts";
import { requireSystem } from "../sandbox/require_system.ts";
import { parseCallerSettings } from "../sandbox/run_settings.ts";
import { Sandbox } from "../sandbox/sandbox.ts";
import { SandboxError } from "../sandbox/sandbox_error.ts";
import { hasScheduledTasks } from "../sandbox/scheduled_tasks.ts";
import { withoutScreenCommands } from "../sandbox/screen_commands.ts";
import { settingSources } from "../sandbox/setting_sources.ts";
import { refuseSilencedHooks } from "../sandbox/silenced_hooks.ts";
import { sweep, type SweptFolder } from "../sandbox/sweep.ts";
import type { Environment } from "../sandbox/environment.ts";
import { locateUserConfig, type UserConfig } from "../sandbox/user_config.ts";
import { writableFolders } from "../sandbox/writable_folders.ts";
import { type Entry, parseEntry } from "../transcript/entry.ts";
import { projectSlug } from "../transcript/project_slug.ts";
import { isVersionAtLeast } from "../wire/wire_keys.ts";
import { claudeVersion } from "../driver/claude_version.ts";
import { findClaude } from "./find_claude.ts";
import type { GatedPrompt } from "./gate_prompt.ts";
import { type ModeFacts, permissionMode } from "./permission_mode.ts";
import type { RendezvousOptions } from "../driver/hands/rendezvous.ts";
import type { RunOrder } from "./run_order.ts";
import { terminalSize } from "../driver/hands/terminal_size.ts";
import { transcriptLines } from "./transcript_lines.ts";

/** A run that only has to be started. */
export interface PreparedRun {
  readonly options: RunOrder;
  readonly binary: string;
  readonly args: readonly string[];
  readonly env: Environment;
  readonly sandbox: Sandbox;
  /** The mode in which the child begins, which is always named. */
  readonly permissionMode: string;
  /** What Claude Code reads for the run, the caller's among them, and before anything of ours is added. */
  readonly settings: readonly Settings[];
  /** The debug log that tells of retries, when somebody wants to hear of them. */
  readonly retryLog: string | undefined;
  /** The debug log that tells of connections to MCP servers, when the first request waits for some. */
  readonly mcpLog: string | undefined;
  /** What earlier runs left, and what became of it before this one began. */
  readonly swept: readonly SweptFolder[];
  /** What the machines are told, but for the time of the start. */
  readonly conversation: ConversationOptions;
  readonly sessionId: string;
  readonly userConfig: UserConfig;
  /** The lines that earlier runs of a resumed session wrote. */
  readonly earlier: readonly Entry[];
  /** The child's rendezvous socket, when the prompt goes in there. */
  readonly rendezvous: RendezvousOptions | undefined;
  /** What becomes of the prompt: with an answer to it, no child is started. */
  readonly gated: GatedPrompt;
}

/** Tools that ask a person: `claude -p` does not offer them either. */
const HIDDEN_TOOLS = "AskUserQuestion,EnterPlanMode,ExitPlanMode";

/**
 * Finds claude, the login and the settings, and builds the sandbox.
 *
 * @throws {DriverError} when there is no claude to start, or the prompt is a command that it must not get
 * @throws {SandboxError} when there is no login, something that every system has is missing, or the sandbox cannot be built
 */
export async function prepareRun(options: RunOrder): Promise<PreparedRun> {
  const { env, cwd, startedAt = performance.now() } = options;
  requireSystem();
  const binary = findClaude({ named: options.claudeBinary, env, cwd });
  const userConfig = locateUserConfig(env);
  const userClaudeJson = readOwnJsonObject(userConfig.claudeJson);
  const callerSettings = options.settings === undefined
    ? {}
    : await parseCallerSettings(options.settings, { cwd });
  let asked: Promise<string | undefined> | undefined;
  const version = () => asked ??= claudeVersion(binary, env);
  const root = gitRoot(cwd) ?? cwd;
  const sources = settingSources(options.settingSources);
  const settings = await readSettings({
    cwd,
    home: env["HOME"],
    userDir: userConfig.dir,
    sources,
    flags: callerSettings,
    sharesLocal: async () => isVersionAtLeast(await version() ?? "", "2.1.330"),
  });
  const userSettings = settings.find(({ source }) => source === "user")?.values;
  const valuesWithout = (...left: readonly SettingsSource[]) =>
    settings.filter(({ source }) => !left.includes(source)).map(({ values }) => values);
  const allSettings = valuesWithout();
  // The user's hooks are not read.
  const hooked = valuesWithout("user");
  refuseSilencedHooks(allSettings, { hooked });
  const mode = await initialMode({
    asked: options.permissionMode,
    skipped: options.dangerouslySkipPermissions,
    settings,
    remote: /^(?:1|true|yes|on)$/iu.test(env["CLAUDE_CODE_REMOTE"] ?? ""),
  }, version);
  const login = { env, userConfig, claudeJson: userClaudeJson, settings: allSettings };
  const foundLogin = findLogin(login);
  if (foundLogin === undefined) throw noLoginError(userConfig);
  const mcpServers = countMcpServers({
    cwd,
    root,
    configs: options.mcpConfigs,
    strict: options.strictMcpConfig,
    claudeJson: userClaudeJson,
    sources,
  });
  const gated = isPlain(options.prompt) && options.altered === undefined
    ? { expands: false }
    : (await import("./gate_prompt.ts")).gatePrompt(options, {
      version: await version(),
      configDir: userConfig.dir,
      settings: allSettings,
      mcpServers,
    });
  const inject = gated.verbatim === true ? "rendezvous" : options.inject;
  const limits: Limits = {
    timeoutMs: options.timeoutMs,
    startTimeoutMs: options.startTimeoutMs,
    deliveryTimeoutMs: options.deliveryTimeoutMs,
    ...(options.idleTimeoutMs === undefined ? {} : { idleTimeoutMs: options.idleTimeoutMs }),
    drainTimeoutMs: options.drainTimeoutMs,
    exitTimeoutMs: options.exitTimeoutMs,
  };
  const session: SessionOptions = {
    inject,
    prompt: options.prompt,
    size: terminalSize(),
    ...limits,
    timeoutMs: Math.max(0, Math.round(startedAt + options.timeoutMs - performance.now())),
    ...backgroundCeiling(env),
    ...(options.maxTurns === undefined ? {} : { maxTurns: options.maxTurns }),
    ...(mcpServers === 0 ? {} : { mcpServers }),
    otherStopHooks: mayHaveOtherStopHooks(
      userSettings === undefined ? hooked : [...hooked, withoutHooks(userSettings)],
    ) || options.forwarded.some((argument) => /^--(?:agents?|plugin-)/u.test(argument)),
  };
  const sessionId = options.sessionId ??
    (options.resume !== undefined && !options.forkSession ? options.resume : crypto.randomUUID());
  const debugFile = options.debugFile === undefined
    ? (options.debug ? `${userConfig.dir}/debug/${sessionId}.txt` : undefined)
    : resolve(options.debugFile, cwd);
  const memoryPath = memoryPathOf([callerSettings, userSettings]) ??
    `${userConfig.dir}/projects/${projectSlug(root)}/memory/`;
  const isNewSession = options.sessionId !== undefined &&
    (options.resume === undefined || options.forkSession);
  await claimThread();
  const swept = sweep({ places: places(env), userConfigDir: userConfig.dir });
  const addedDirs = options.addDirs.map((dir) => realPath(dir, cwd));
  const sandbox = new Sandbox({
    env,
    userConfig,
    userClaudeJson,
    userSettings,
    callerSettings: withoutScreenCommands(callerSettings, valuesWithout("user", "flags")),
    memoryPath,
    folders: [cwd, root, ...addedDirs],
    writable: writableFolders([cwd, ...addedDirs], { settings: allSettings, home: env["HOME"] }),
    hooks: hooksFor({ ...options, inject }, { gated: mcpServers > 0 }),
    mcpServers,
    ...(debugFile === undefined ? {} : { debugFile }),
    logged: options.retries,
    ...(inject === "stdin" ? { stdin: options.prompt } : {}),
    ...(options.resume === undefined ? {} : { resume: options.resume }),
    sessionId,
    isNewSession,
    persistSession: options.persistSession,
  });
  const rendezvous = inject === "rendezvous"
    ? { path: sandbox.rendezvousPath, secret: sandbox.secret }
    : undefined;
  let earlier: readonly Entry[];
  try {
    if (rendezvous !== undefined) requireShortPath(rendezvous.path);
    // Not before: a run that has the session, or had it and was killed, may have brought it home just now.
    if (isNewSession) refuseKnownSession(sessionId, userConfig.dir);
    earlier = earlierLines(sandbox);
  } catch (error) {
    sandbox[Symbol.dispose]();
    throw error;
  }
  return {
    options,
    binary,
    args: [
      `--permission-mode=${mode}`,
      `--disallowedTools=${HIDDEN_TOOLS}`,
      ...options.disallowedTools.map((tools) => `--disallowedTools=${tools}`),
      `--settings=${sandbox.settingsPath}`,
      ...(options.sessionId === undefined && sessionId !== options.resume
        ? [`--session-id=${sessionId}`]
        : []),
      ...options.forwarded,
      ...(options.debugFile === undefined && sandbox.debugFile !== undefined
        ? [`--debug-file=${sandbox.debugFile}`]
        : []),
    ],
    env: childEnvironment(env, {
      configDir: sandbox.configDir,
      tempDir: sandbox.tempDir,
      userConfig,
      scheduledTasks: hasScheduledTasks([cwd, root]),
      rendezvous,
      logLevel: logLevel({ gated: mcpServers > 0, own: sandbox.debugFile !== debugFile }),
    }),
    sandbox,
    permissionMode: mode,
    settings,
    swept,
    retryLog: options.retries ? sandbox.debugFile : undefined,
    conversation: {
      session,
      frames: {
        sessionId,
        cwd,
        permissionMode: mode,
        apiKeySource: apiKeySource(env, allSettings),
        memoryPath,
        servedByAnthropic: env["ANTHROPIC_BASE_URL"] === undefined,
        denialMessages: [DENIAL_MESSAGE],
        seed: crypto.randomUUID(),
        startedAt: Date.now(),
      },
      report: {
        prompt: options.prompt,
        ...(gated.expands ? { command: `/${slashWord(options.prompt)?.name ?? ""}` } : {}),
        limits,
        binary,
        ...(options.altered === undefined ? {} : { altered: options.altered }),
        ...(foundLogin.kind === "variable" ? { credential: foundLogin.name } : {}),
        ...(options.maxTurns === undefined ? {} : { maxTurns: options.maxTurns }),
        ...(options.record === undefined ? {} : { record: options.record }),
      },
    },
    sessionId,
    userConfig,
    earlier,
    rendezvous,
    mcpLog: mcpServers > 0 ? sandbox.debugFile : undefined,
    gated,
  };
}

/**
 * Whether a prompt is text for every version: it begins with a character that can be seen and is no sign of a command, is
 * no word to quit by, and holds no tag of Claude Code's own.
 */
function isPlain(prompt: string): boolean {
  return /^\s*(?![/!])[\x21-\x7e]/u.test(prompt) && !QUIT_WORDS.includes(prompt.trim()) &&
    !prompt.includes("<pasted_content");
}

function requireShortPath(path: string): void {
  if (new TextEncoder().encode(path).length <= MAX_SOCKET_PATH) return;
  throw new SandboxError(
    "Cannot deliver the prompt as it is: the private folder's path is longer than a socket's may be",
    { suggestion: "Set TMPDIR to a folder with a shorter path, or change the prompt's beginning" },
  );
}

/** The lines of the session that was copied into a sandbox, those of its subagents aside. */
function earlierLines(
  { configDir, resumed }: Pick<Sandbox, "configDir" | "resumed">,
): readonly Entry[] {
  return [...resumed.keys()].filter((path) => /^[^/]+\/[^/]+\.jsonl$/u.test(path))
    .flatMap((path) => transcriptLines(`${configDir}/projects/${path}`))
    .map(parseEntry).filter((entry) => entry !== undefined);
}

/**
 * Has Deno make the thread that waits for the child. It aborts the program when it cannot have one, and then there must
 * be no folder yet; a thread that it has it keeps for 10 s.
 */
async function claimThread(): Promise<void> {
  using poller = new Poller();
  await poller.wait([], 0);
}

/** The place for automatic memory that the first of several settings names. */
function memoryPathOf(settings: readonly (JsonObject | undefined)[]): string | undefined {
  return settings.map((each) => each?.["autoMemoryDirectory"])
    .find((path) => typeof path === "string");
}

/** The sandbox knows no other sessions, so Claude Code itself would not notice that the id is taken. */
function refuseKnownSession(sessionId: string, configDir: string): void {
  let slugs: readonly string[] = [];
  try {
    slugs = [...Deno.readDirSync(`${configDir}/projects`)].map(({ name }) => name);
  } catch {
    // No sessions at all.
  }
  for (const slug of slugs) {
    try {
      Deno.lstatSync(`${configDir}/projects/${slug}/${sessionId}.jsonl`);
    } catch {
      continue;
    }
    throw new SandboxError(`Cannot begin the session ${sessionId}: its id is already in use`, {
      suggestion: `Give another --session-id, or go on with it: --resume ${sessionId}`,
    });
  }
}

/** How long background tasks are waited for, in the variable that `claude -p` reads; it ignores other values. */
function backgroundCeiling(env: Environment): Pick<SessionOptions, "backgroundCeilingMs"> {
  const value = env["CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS"] ?? "";
  return /^\d+$/u.test(value) ? { backgroundCeilingMs: Number(value) } : {};
}

/** The hooks a run needs; each that fires before the answer costs 10 to 20 ms. */
function hooksFor(
  options: Omit<RunOrder, "inject"> & { readonly inject: WayIn },
  { gated }: { readonly gated: boolean },
): readonly HookEvent[] {
  return [
    "Stop",
    "StopFailure",
    "PermissionRequest",
    ...(options.frames ? ["PreCompact" as const, "PostCompact" as const] : []),
    ...(options.frames || gated ? ["SessionStart" as const] : []),
    ...(options.inject !== "stdin" || options.altered !== undefined
      ? ["UserPromptSubmit" as const]
      : []),
    ...(options.maxTurns === undefined ? [] : ["PostToolBatch" as const]),
  ];
}

/** What the debug log has to tell: of connections to MCP servers, else only of failures; a caller's is the caller's. */
function logLevel(
  { gated, own }: { readonly gated: boolean; readonly own: boolean },
): "debug" | "warn" | undefined {
  if (gated) return "debug";
  return own ? "warn" : undefined;
}

/** The permission mode; the version is asked for only where it matters, since that takes up to 90 ms. */
async function initialMode(
  facts: ModeFacts,
  version: () => Promise<string | undefined>,
): Promise<string> {
  const newest = permissionMode(facts);
  const oldest = permissionMode({ ...facts, version: "2.1.168" });
  return newest === oldest ? newest : permissionMode({ ...facts, version: await version() });
}

function resolve(path: string, cwd: string): string {
  return path.startsWith("/") ? path : `${cwd}/${path}`;
}

function realPath(dir: string, cwd: string): string {
  const path = resolve(dir, cwd);
  try {
    return Deno.realPathSync(path);
  } catch {
    // Claude Code itself says what is wrong with it.
    return path;
  }
}

function withoutHooks({ hooks: _, ...settings }: JsonObject): JsonObject {
  return settings;
}

function apiKeySource(env: Environment, settings: readonly JsonObject[]): string {
  if (env["ANTHROPIC_API_KEY"]) return "ANTHROPIC_API_KEY";
  return settings.some(({ apiKeyHelper }) => typeof apiKeyHelper === "string")
    ? "apiKeyHelper"
    : "none";
}
