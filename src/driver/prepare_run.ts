import { DEFAULT_WINDOW_SIZE, type WindowSize, windowSize } from "../../ffi/window_size.ts";
import type { SessionOptions } from "../session/session_state.ts";
import { childEnvironment } from "../sandbox/child_environment.ts";
import type { HookEvent } from "../sandbox/hooks.ts";
import { isJsonObject, type JsonObject, readJsonObject } from "../sandbox/json_object.ts";
import { hasLogin } from "../sandbox/login.ts";
import { countMcpServers } from "../sandbox/mcp_servers.ts";
import { mayHaveOtherStopHooks } from "../sandbox/other_stop_hooks.ts";
import { projectRoot } from "../sandbox/project_root.ts";
import { projectSettings } from "../sandbox/project_settings.ts";
import { parseCallerSettings } from "../sandbox/run_settings.ts";
import { Sandbox } from "../sandbox/sandbox.ts";
import { SandboxError } from "../sandbox/sandbox_error.ts";
import { type Environment, locateUserConfig, type UserConfig } from "../sandbox/user_config.ts";
import { projectSlug } from "../transcript/project_slug.ts";
import { findClaude } from "./find_claude.ts";
import { knownLineIds } from "./known_lines.ts";

/** One run as it was asked for. */
export interface RunOptions {
  readonly prompt: string;
  readonly env: Environment;
  /** The working directory. */
  readonly cwd: string;
  readonly claudeBinary?: string;
  readonly inject: "stdin" | "paste";
  readonly timeoutMs: number;
  readonly startTimeoutMs: number;
  /** The caller's `--settings`: JSON or a file's path. */
  readonly settings?: string;
  readonly permissionMode?: string;
  readonly dangerouslySkipPermissions: boolean;
  readonly disallowedTools: readonly string[];
  readonly addDirs: readonly string[];
  readonly mcpConfigs: readonly string[];
  readonly strictMcpConfig: boolean;
  readonly sessionId?: string;
  readonly resume?: string;
  readonly forkSession: boolean;
  /** Whether a debug log is wanted, and where; without a place it goes where Claude Code keeps them. */
  readonly debug: boolean;
  readonly debugFile?: string;
  /** Further arguments for Claude Code, as they are. */
  readonly forwarded: readonly string[];
  /** Whether frames are printed, which begin with the session's model. */
  readonly frames: boolean;
  /** Whether the prompt holds characters that Claude Code may take out: then its proof of delivery is asked for. */
  readonly mayBeAltered: boolean;
}

/** A run that only has to be started. */
export interface PreparedRun {
  readonly options: RunOptions;
  readonly binary: string;
  readonly args: readonly string[];
  readonly env: Environment;
  readonly sandbox: Sandbox;
  readonly session: SessionOptions;
  readonly sessionId: string;
  readonly userConfig: UserConfig;
  /** Where the user's automatic memory of this project is. */
  readonly memoryPath: string;
  /** Ids of transcript lines that an earlier run of a resumed session wrote. */
  readonly known: ReadonlySet<string>;
  readonly apiKeySource: string;
}

/** Tools that ask a person: `claude -p` does not offer them either. */
const HIDDEN_TOOLS = "AskUserQuestion,EnterPlanMode,ExitPlanMode";

/**
 * Finds claude, the login and the settings, and builds the sandbox.
 *
 * @throws {DriverError} when there is no claude to start
 * @throws {SandboxError} when there is no login, or the sandbox cannot be built
 */
export async function prepareRun(options: RunOptions): Promise<PreparedRun> {
  const { env, cwd } = options;
  const binary = findClaude({ named: options.claudeBinary, env, cwd });
  const userConfig = locateUserConfig(env);
  const userClaudeJson = readJsonObject(userConfig.claudeJson);
  const userSettings = readJsonObject(`${userConfig.dir}/settings.json`);
  const callerSettings = options.settings === undefined
    ? {}
    : await parseCallerSettings(options.settings);
  const settings = [callerSettings, ...projectSettings(cwd)];
  const allSettings = userSettings === undefined ? settings : [...settings, userSettings];
  if (!hasLogin({ env, userConfig, claudeJson: userClaudeJson, settings: allSettings })) {
    throw new SandboxError(`Cannot log in to Claude: there is no login in ${userConfig.loginDir}`, {
      suggestion: "Run: claude /login, or set CLAUDE_CODE_OAUTH_TOKEN or ANTHROPIC_API_KEY",
    });
  }
  const session: SessionOptions = {
    inject: options.inject,
    prompt: options.prompt,
    size: terminalSize(),
    timeoutMs: options.timeoutMs,
    startTimeoutMs: options.startTimeoutMs,
    forked: options.forkSession,
    otherStopHooks: mayHaveOtherStopHooks(
      userSettings === undefined ? settings : [...settings, withoutHooks(userSettings)],
    ) || options.forwarded.some((argument) => /^--(?:agents?|plugin-)/u.test(argument)),
  };
  const sessionId = options.sessionId ??
    (options.resume !== undefined && !options.forkSession ? options.resume : crypto.randomUUID());
  const mcpServers = countMcpServers({
    cwd,
    configs: options.mcpConfigs,
    strict: options.strictMcpConfig,
    claudeJson: userClaudeJson,
  });
  const debugFile = options.debugFile === undefined
    ? (options.debug ? `${userConfig.dir}/debug/${sessionId}.txt` : undefined)
    : resolve(options.debugFile, cwd);
  const memoryPath = memoryPathOf([callerSettings, userSettings]) ??
    `${userConfig.dir}/projects/${projectSlug(projectRoot(cwd))}/memory/`;
  if (options.sessionId !== undefined && (options.resume === undefined || options.forkSession)) {
    refuseKnownSession(options.sessionId, userConfig.dir);
  }
  const sandbox = new Sandbox({
    env,
    userConfig,
    userClaudeJson,
    userSettings,
    callerSettings,
    memoryPath,
    trusted: [cwd, ...options.addDirs.map((dir) => realPath(dir, cwd))],
    hooks: hooksFor(options, { gated: mcpServers > 0 }),
    mcpServers,
    ...(debugFile === undefined ? {} : { debugFile }),
    ...(options.inject === "stdin" ? { stdin: options.prompt } : {}),
    ...(options.resume === undefined ? {} : { resume: options.resume }),
  });
  let known: ReadonlySet<string>;
  try {
    known = knownLineIds(sandbox.configDir, sandbox.resumed);
  } catch (error) {
    sandbox[Symbol.dispose]();
    throw error;
  }
  return {
    options,
    binary,
    args: [
      ...permissionArguments(options, allSettings),
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
    }),
    sandbox,
    session,
    sessionId,
    userConfig,
    memoryPath,
    known,
    apiKeySource: apiKeySource(env, allSettings),
  };
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

/** The hooks a run needs; each that fires before the answer costs 10 to 20 ms. */
function hooksFor(
  options: RunOptions,
  { gated }: { readonly gated: boolean },
): readonly HookEvent[] {
  return [
    "Stop",
    "StopFailure",
    "PermissionRequest",
    ...(options.frames || gated ? ["SessionStart" as const] : []),
    ...(options.inject === "paste" || options.mayBeAltered ? ["UserPromptSubmit" as const] : []),
  ];
}

/** 2.1.330 starts in auto mode where `claude -p` starts in the default mode, unless somebody named one. */
function permissionArguments(
  options: RunOptions,
  settings: readonly JsonObject[],
): readonly string[] {
  if (options.permissionMode !== undefined) return [`--permission-mode=${options.permissionMode}`];
  const named = options.dangerouslySkipPermissions ||
    settings.some(({ permissions }) =>
      isJsonObject(permissions) && permissions["defaultMode"] !== undefined
    );
  return named ? [] : ["--permission-mode=default"];
}

/** The size of the user's terminal, whichever of the standard streams it is. */
function terminalSize(): WindowSize {
  return windowSize(2) ?? windowSize(1) ?? windowSize(0) ?? DEFAULT_WINDOW_SIZE;
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
