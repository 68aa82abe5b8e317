import { claudeVersion } from "../../driver/claude_version.ts";
import { terminalSize } from "../../driver/hands/terminal_size.ts";
import { gitRoot } from "../../sandbox/child/git_repository.ts";
import { findLogin, noLoginError } from "../../sandbox/child/login.ts";
import { countMcpServers } from "../../sandbox/child/mcp_servers.ts";
import { readSettings, settingSources } from "../../sandbox/child/read_settings.ts";
import { parseCallerSettings } from "../../sandbox/child/run_settings.ts";
import { hasScheduledTasks } from "../../sandbox/child/scheduled_tasks.ts";
import { refuseSilencedHooks } from "../../sandbox/child/silenced_hooks.ts";
import { writableFolders } from "../../sandbox/places/writable_folders.ts";
import { readOwnJsonObject } from "../../sandbox/read_json_object.ts";
import { requireSystem } from "../../sandbox/processes/require_system.ts";
import { locateUserConfig } from "../../sandbox/user_config.ts";
import { isVersionAtLeast } from "../../wire/wire_keys.ts";
import { absolutePath } from "../../sandbox/absolute_path.ts";
import { CliError } from "../../cli_error.ts";
import { findClaude } from "./find_claude.ts";
import { instructionFiles } from "./instruction_files.ts";
import { isPlain } from "./is_plain.ts";
import { realPath } from "./real_path.ts";
import { modeFacts, modeHangsOnVersion } from "../plan/permission_mode.ts";
import type { RunOrder } from "../plan/run_order.ts";
import { valuesOf } from "../plan/values_of.ts";
import type { RunFacts } from "../plan/plan_facts.ts";

/**
 * Finds claude, the login and the settings, in an order in which what is told first is what has to be mended first.
 *
 * @throws {CliError} when there is no claude to start, the prompt is a command that it must not get, there is no login,
 * or something that every system has is missing
 * @throws {UnfitFileError} when something else stands where a file of the user's should be
 */
export async function readFacts(order: RunOrder): Promise<RunFacts> {
  const { env, cwd, startedAt = performance.now() } = order;
  requireSystem();
  const binary = findClaude({ named: order.claudeBinary, env, cwd });
  const userConfig = locateUserConfig(env);
  const userClaudeJson = readOwnJsonObject(userConfig.claudeJson);
  const callerSettings = order.settings === undefined
    ? {}
    : await parseCallerSettings(order.settings, { cwd });
  let asked: Promise<string | undefined> | undefined;
  const version = () => asked ??= claudeVersion(binary, env);
  const root = gitRoot(cwd) ?? cwd;
  const sources = settingSources(order.settingSources);
  const isRestricted = order.forwarded.includes("--restricted");
  if (isRestricted) requireVersion("--restricted", await version());
  const settings = await readSettings({
    cwd,
    home: env["HOME"],
    userDir: userConfig.dir,
    // Of settings files it reads an administrator's alone.
    sources: isRestricted ? new Set() : sources,
    flags: callerSettings,
    sharesLocal: async () => isVersionAtLeast(await version() ?? "", "2.1.330"),
  });
  const allSettings = valuesOf(settings);
  refuseSilencedHooks(allSettings, {
    hooked: valuesOf(settings, { without: order.inheritHooks ? [] : ["user"] }),
  });
  if (modeHangsOnVersion(modeFacts(order, settings))) await version();
  const login = findLogin({ env, userConfig, claudeJson: userClaudeJson, settings: allSettings });
  if (login === undefined) throw noLoginError(userConfig);
  const mcpServers = countMcpServers({
    cwd,
    root,
    configs: order.mcpConfigs,
    strict: order.strictMcpConfig,
    claudeJson: userClaudeJson,
    sources,
  });
  const { prompt } = order;
  if (prompt === undefined) requireConversation(await version());
  if (order.resumption?.dropsTurn !== undefined) {
    requireVersion("--resume-drops-turn", await version());
  }
  const gated = prompt === undefined || (isPlain(prompt) && order.altered === undefined)
    ? { expands: false }
    : (await import("./gate_prompt.ts")).gatePrompt({ ...order, prompt }, {
      version: await version(),
      configDir: userConfig.dir,
      settings: allSettings,
      mcpServers,
    });
  const addedDirs = order.addDirs.map((dir) => realPath(absolutePath(dir, cwd)));
  return {
    binary,
    version: await asked,
    userConfig,
    userClaudeJson,
    callerSettings,
    settings,
    login,
    mcpServers,
    gated,
    root,
    folders: [cwd, root, ...addedDirs],
    writable: writableFolders([cwd, ...addedDirs], { settings: allSettings, home: env["HOME"] }),
    scheduledTasks: hasScheduledTasks([cwd, root]),
    instructions: instructionFiles({
      cwd,
      root,
      userDir: userConfig.dir,
      readsProject: sources.has("project"),
    }),
    terminalSize: terminalSize(),
    timeLeftMs: Math.max(0, Math.round(startedAt + order.timeoutMs - performance.now())),
    freshId: crypto.randomUUID(),
    seed: crypto.randomUUID(),
  };
}

/** The first version whose rendezvous socket has been measured message by message. */
const CONVERSES = "2.1.197";

/** The first version that was seen to know some flags. */
const RECENT = "2.1.330";

function requireVersion(flag: string, version: string | undefined): void {
  if (version !== undefined && isVersionAtLeast(version, RECENT)) return;
  throw new CliError(
    `Cannot honour ${flag}: Claude Code ${version ?? "of an unknown version"} lacks it`,
    { suggestion: `Update Claude Code to ${RECENT} or later, or leave it out` },
  );
}

function requireConversation(version: string | undefined): void {
  if (version !== undefined && isVersionAtLeast(version, CONVERSES)) return;
  throw new CliError(
    `Cannot hold a conversation with Claude Code ${
      version ?? "of an unknown version"
    }: it needs ${CONVERSES} or later`,
    {
      suggestion: "Update Claude Code, or send one prompt a run without --input-format stream-json",
    },
  );
}
