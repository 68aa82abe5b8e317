import { CliError } from "../../cli_error.ts";
import { terminalSize } from "../../driver/hands/terminal_size.ts";
import type { commandPlaces } from "./prompt/command_places.ts";
import { distrustOf } from "./distrust_of.ts";
import { findClaude } from "../../claude/find_claude.ts";
import { agentsElsewhere, readAgents } from "./given_agents.ts";
import { isLongArgument } from "../plan/placed_agents.ts";
import { managedByCaller } from "./managed_by_caller.ts";
import { instructionFiles } from "./instruction_files.ts";
import { mcpConfigOf } from "../plan/asked_order.ts";
import { modeFacts, modeHangsOnVersion } from "../plan/decisions/permission_mode.ts";
import { allowsBypass } from "../plan/contents/without_bypass.ts";
import type { RunFacts } from "../plan/plan_facts.ts";
import { projectRootOf } from "./project_root_of.ts";
import { sandboxLackOf } from "./sandbox_lack_of.ts";
import type { RunOrder } from "../plan/run_order.ts";
import { appliedSettings } from "../../sandbox/child/applied_settings.ts";
import { refuseSilencedHooks } from "../../sandbox/child/foreign_settings.ts";
import { gitRoot } from "../../sandbox/child/git_repository.ts";
import { findLogin, noLoginError } from "../../sandbox/child/login.ts";
import { faultyServers, listMcpServers, type McpServer } from "../../sandbox/child/mcp_servers.ts";
import {
  documentFor,
  hangsOnVersion,
  readSettings,
  type SettingsDocument,
  settingsDocument,
  settingSources,
  soundSettings,
  valuesOf,
} from "../../sandbox/child/read_settings.ts";
import { withWholePaths } from "../../sandbox/child/whole_paths.ts";
import { parseCallerSettings } from "../../sandbox/child/run_settings.ts";
import { hasScheduledTasks } from "../../sandbox/child/scheduled_tasks.ts";
import { absolutePath, parentOf, realPath } from "../../sandbox/paths.ts";
import { writableFolders } from "../../sandbox/places/writable_folders.ts";
import { requireSystem } from "../../sandbox/processes/require_system.ts";
import { readOwnJsonObject } from "../../sandbox/read_json_object.ts";
import { locateUserConfig } from "../../sandbox/user_config.ts";
import { isPlain } from "../../session/prompt/is_plain.ts";
import { GUARDS_SKILLS } from "../../settings/hook_faults.ts";
import type { VersionFaults } from "../../settings/version_faults.ts";
import { asText, isJsonObject, type JsonObject } from "../../json_object.ts";
import { toolPrefix } from "../../transcript/tool_prefix.ts";
import { warningsHangOnVersion } from "../plan/warnings/settings_warnings.ts";
import { hooklessFlag } from "../plan/decisions/without_hooks.ts";
import { isVersionAtLeast } from "../../wire/wire_keys.ts";

/** What stands for `--settings` where it is not given. */
const NO_SETTINGS = settingsDocument({}, { source: "flags", name: "--settings" });

/**
 * Finds claude, the login and the settings, in an order in which what is told first is what has to be mended first.
 *
 * @param before what is known to hold as before, if it has been read once
 * @throws {CliError} when there is no claude to start, the prompt is a command that it must not get, there is no login,
 * or something that every system has is missing
 * @throws {UnfitFileError} when something else stands where a file of the user's should be
 */
export async function readFacts(
  order: RunOrder,
  before: Pick<RunFacts, "version"> = { version: undefined },
): Promise<RunFacts> {
  const { env, cwd, startedAt = performance.now() } = order;
  requireSystem();
  const binary = findClaude({ named: order.claudeBinary, env, cwd });
  const userConfig = locateUserConfig(env);
  const userClaudeJson = readOwnJsonObject(userConfig.claudeJson);
  const { settings: asked, flagSettings } = order;
  let known: Promise<string | undefined> | undefined = before.version === undefined
    ? undefined
    : Promise.resolve(before.version);
  const version = (): Promise<string | undefined> =>
    known ??= import("../../claude/known_version.ts").then(({ knownVersion }) =>
      knownVersion(binary, env, { cwd })
    );
  /** Of a document what the Claude Code takes that is there. */
  const settled = async (document: SettingsDocument) =>
    hangsOnVersion(document) ? documentFor(document, versionsOf(await version())) : document;
  const given = asked === undefined
    ? NO_SETTINGS
    : wholeDocument(await settled(await parseCallerSettings(asked, { cwd })), cwd);
  const callerSettings = withWholePaths(
    appliedSettings(given.faults.length === 0 ? given.values : {}, flagSettings),
    cwd,
  );
  const root = gitRoot(cwd) ?? cwd;
  const sources = settingSources(order.settingSources);
  if (order.noTurns !== undefined) refuseTurns(order.noTurns, await version());
  const recent = RECENT_FLAGS.find((flag) =>
    order.forwarded.some((argument) => argument.split("=", 1)[0] === flag)
  );
  if (recent !== undefined) requireVersion(recent, await version());
  const projectRoot = projectRootOf(order);
  // Beside such a folder no main checkout has settings, and no prompts wait for their time.
  const isAlone = order.projectConfigRoot !== undefined;
  const isRestricted = order.forwarded.includes("--restricted");
  const read = await readSettings({
    projectRoot,
    home: env["HOME"],
    userDir: userConfig.dir,
    // Of settings files it reads an administrator's alone.
    sources: isRestricted ? new Set() : sources,
    flags: flagSettings === undefined ? given : { ...given, values: callerSettings, faults: [] },
    sharesLocal: async () => !isAlone && isVersionAtLeast(await version() ?? "", "2.1.330"),
  });
  const documents = [
    ...(await Promise.all(read.map(settled))).map((document) => wholeDocument(document, cwd)),
    ...hooklessFlag(order) === undefined ? managedByCaller(order.forwarded) : [],
  ];
  const settings = soundSettings(documents);
  const allSettings = valuesOf(settings);
  if (order.authStatus) refuseRenewal(allSettings);
  refuseSilencedHooks(allSettings, {
    hooked: valuesOf(settings, { without: order.inheritHooks ? [] : ["user"] }),
  });
  if (modeHangsOnVersion(modeFacts(order, settings)) || allowsBypass(order)) await version();
  if (warningsHangOnVersion(order, documents)) await version();
  const distrust = await distrustOf(settings, {
    cwd,
    projectRoot,
    isAlone,
    env,
    userDir: userConfig.dir,
    claudeJson: userClaudeJson,
    version,
  });
  const login = findLogin({ env, userConfig, claudeJson: userClaudeJson, settings: allSettings });
  if (login === undefined) throw noLoginError(userConfig);
  // Without customizations there are none.
  const isBare = hooklessFlag(order) !== undefined;
  const configs = [
    ...order.mcpConfigs,
    ...(order.setServers === undefined ? [] : [mcpConfigOf(order.setServers)]),
  ];
  const faulty = isBare ? [] : faultyServers({ cwd, configs });
  const mcpServers = isBare ? [] : listMcpServers({
    cwd,
    root,
    projectRoot,
    configs,
    switched: order.switched ?? {},
    strict: order.strictMcpConfig,
    claudeJson: userClaudeJson,
    sources,
  });
  // How long the first request waits for one of the command line hangs on the version.
  if (mcpServers.some(({ source, disabled }) => source === "dynamic" && !disabled)) await version();
  const output = await outputOf(order, version);
  // Which hook keeps the first request waiting for servers hangs on it.
  if (
    (order.resume ?? order.resumption) !== undefined &&
    (mcpServers.length > 0 || output !== undefined)
  ) await version();
  const elsewhere = agentsElsewhere(order);
  // Before 2.1.330 Claude Code goes on without them.
  const agents = elsewhere === undefined || isOlder(await version())
    ? undefined
    : readAgents(elsewhere, { cwd });
  const { prompt } = order;
  if (prompt === undefined) requireConversation(await version());
  if (order.resumption?.dropsTurn !== undefined) {
    requireVersion("--resume-drops-turn", await version());
  }
  const gated = order.rewindsTo !== undefined
    ? { expands: false, rewinds: true as const }
    : prompt === undefined || (isPlain(prompt) && order.altered === undefined)
    ? { expands: false }
    : (await import("./prompt/gate_prompt.ts")).gatePrompt({ ...order, prompt }, {
      version: await version(),
      projectRoot,
      configDir: userConfig.dir,
      settings: allSettings,
      mcpServers: mcpServers.length,
    });
  const sandboxLack = sandboxLackOf(allSettings, env);
  const addedFiles = await addedFilesOf(order, version);
  const addedDirs = order.addDirs.map((dir) => realPath(absolutePath(dir, cwd)));
  return {
    binary,
    version: await known,
    ...(order.initialized?.longAgents === undefined &&
        (agents === undefined || !isLongArgument(agents))
      ? {}
      : {
        otherAgents: (await import("./other_agents.ts")).otherAgents({
          projectRoot,
          userDir: userConfig.dir,
          addDirs: addedDirs,
          sources,
        }),
      }),
    userConfig,
    userClaudeJson,
    callerSettings,
    documents,
    settings,
    ...(distrust === undefined ? {} : { distrust }),
    login,
    mcpServers,
    ...(faulty.length === 0 ? {} : { faultyServers: faulty }),
    ...output,
    ...(agents === undefined ? {} : { agents }),
    ...promptServerOf(order, mcpServers),
    ...await hiddenOf(order, {
      projectRoot,
      configDir: userConfig.dir,
      settings: allSettings,
      version,
    }),
    gated,
    projectRoot,
    root,
    folders: [cwd, root, ...addedDirs],
    ...addedFiles,
    writable: writableFolders([cwd, ...addedDirs], {
      settings: allSettings,
      projectRoot,
      home: env["HOME"],
    }),
    scheduledTasks: !isAlone && hasScheduledTasks([cwd, root]),
    ...(sandboxLack === undefined ? {} : { sandboxLack }),
    instructions: instructionFiles({
      cwd,
      root,
      projectRoot,
      userDir: userConfig.dir,
      readsProject: sources.has("project"),
    }),
    terminalSize: order.terminalSize ?? terminalSize(),
    timeLeftMs: Math.max(0, Math.round(startedAt + order.timeoutMs - performance.now())),
    freshId: crypto.randomUUID(),
    seed: crypto.randomUUID(),
  };
}

/** What of settings Claude Code is given in the private folder, as it is where they come from. */
function wholeDocument(document: SettingsDocument, cwd: string): SettingsDocument {
  const { source, name, values } = document;
  if (source !== "user" && source !== "flags") return document;
  const folder = name.startsWith("--") ? cwd : parentOf(absolutePath(name, cwd));
  return { ...document, values: withWholePaths(values, folder) };
}

/**
 * What structured answers have to look like. A schema that is none is only the initialization's problem, and nobody's
 * before 2.1.330, which goes on without it.
 */
async function outputOf(
  { jsonSchema, initialized }: RunOrder,
  version: () => Promise<string | undefined>,
): Promise<Pick<RunFacts, "output" | "outputProblem">> {
  const asked = jsonSchema ?? initialized?.jsonSchema;
  if (asked === undefined) return {};
  const { NoSchemaError, readOutputSchema } = await import("./output_schema.ts");
  try {
    return { output: await readOutputSchema(asked) };
  } catch (error) {
    if (error instanceof NoSchemaError && isOlder(await version())) return {};
    if (jsonSchema !== undefined || !(error instanceof CliError)) throw error;
    return { outputProblem: error.message.replace("--json-schema", '"jsonSchema"') };
  }
}

/** Since 2.1.330 they are told of beside a text alone (2.1.197 and 2.1.330). */
async function addedFilesOf(
  { addDirs, cwd, answerAlone }: RunOrder,
  version: () => Promise<string | undefined>,
): Promise<Pick<RunFacts, "addedFiles">> {
  const files = addDirs.filter((dir) => isNoFolder(absolutePath(dir, cwd)));
  const isTold = files.length > 0 && (answerAlone === true || isOlder(await version()));
  if (!isTold) return {};
  // Loaded for them alone: Deno takes 6 ms to have Node's modules.
  const { dirname, resolve } = await import("node:path");
  return { addedFiles: files.map((path) => ({ path, parent: dirname(resolve(cwd, path)) })) };
}

/** Of what is not there nothing is said. */
function isNoFolder(path: string): boolean {
  try {
    return !Deno.statSync(path).isDirectory;
  } catch {
    return false;
  }
}

/** The skills that a caller who has chosen some has not chosen. */
async function hiddenOf(
  order: RunOrder,
  { version, ...facts }: Parameters<typeof commandPlaces>[1] & {
    readonly version: () => Promise<string | undefined>;
  },
): Promise<Pick<RunFacts, "hiddenSkills">> {
  const chosen = order.initialized?.skills;
  if (chosen === undefined) return {};
  const { commandPlaces } = await import("./prompt/command_places.ts");
  const { hiddenSkills } = await import("./prompt/hidden_skills.ts");
  const places = commandPlaces(order, facts);
  return { hiddenSkills: hiddenSkills(chosen, { places, version: await version() ?? RECENT }) };
}

/**
 * The server of the tool that decides on permissions. One that is not there is not missed before a permission is needed,
 * as in `claude -p`.
 *
 * @throws {CliError} when it is no program
 */
function promptServerOf(
  { promptTool = "" }: RunOrder,
  servers: readonly McpServer[],
): Pick<RunFacts, "promptServer"> {
  const { name, config, disabled } =
    servers.find(({ name }) => promptTool.startsWith(toolPrefix(name))) ?? {};
  if (name === undefined || disabled || !isJsonObject(config)) return {};
  const { type = "stdio", command } = config;
  if (type === "stdio" && typeof command === "string") return { promptServer: { name, config } };
  throw new CliError(
    `Cannot honour --permission-prompt-tool=${promptTool}: claude-print asks servers that are programs, and "${name}" is reached by ${
      asText(type)
    }`,
    { suggestion: "Name a tool of a server with a command, or use rules: --allowedTools" },
  );
}

/** Commands of settings that renew a login: how far they are is all that `claude -p` tells of a login. */
const RENEWALS = ["awsAuthRefresh", "gcpAuthRefresh"];

function refuseRenewal(settings: readonly JsonObject[]): void {
  const renewal = RENEWALS.find((name) => settings.some((each) => each[name] !== undefined));
  if (renewal === undefined) return;
  throw new CliError(
    `Cannot honour --enable-auth-status with "${renewal}" in settings: the interactive Claude Code tells on its screen alone how far it is`,
    { suggestion: "Leave it out, or use claude -p" },
  );
}

/** The first version whose rendezvous socket has been measured message by message. */
const CONVERSES = "2.1.197";

/** The first version that was seen to know some flags. */
const RECENT = "2.1.330";
/** Those of them that it is given as they are: an earlier one ends at once, and says why on its screen alone. */
const RECENT_FLAGS = [
  "--project-config-root",
  "--restricted",
  "--autocompact",
  "--fast-mode",
  "--include-unsupported-models",
  "--system-prompt-snapshot",
];

/** Of which versions one is that differ in what they take of settings. */
function versionsOf(version: string | undefined): keyof VersionFaults {
  if (isOlder(version)) return "before";
  return isVersionAtLeast(version ?? "", GUARDS_SKILLS) ? "guarded" : "since";
}

/** Whether it is known to be one before those. */
function isOlder(version: string | undefined): boolean {
  return version !== undefined && !isVersionAtLeast(version, RECENT);
}

function refuseTurns(value: string, version: string | undefined): void {
  if (isOlder(version)) return;
  throw new CliError(`Cannot read the command line: --max-turns does not take "${value}"`, {
    suggestion: "Use a number of requests to the model, 0 for no limit",
  });
}

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
