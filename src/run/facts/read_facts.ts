import { findClaude } from "../../claude/program/find_claude.ts";
import { useLearntProfiles } from "../../claude/program/learnt_profiles.ts";
import { supportedVersionIn } from "../../claude/program/claude_version.ts";
import { toolPrefix } from "../../claude/transcript/structured_output_tool.ts";
import { hasFlag } from "../../claude/versions/tables.ts";
import { CliError, UnsupportedError } from "../../cli_error.ts";
import { isPlain } from "../../conversation/control/prompt/prompt_text.ts";
import { definedFields } from "../../defined_fields.ts";
import { terminalSize } from "../../driver/user_terminal.ts";
import { asText, isJsonObject, type JsonObject } from "../../json_object.ts";
import {
  refuseSilencedHooks,
  type SettingsDocument,
  soundSettings,
  valuesOf,
} from "../../sandbox/child/read_settings.ts";
import { findLogin, locateUserConfig, noLoginError } from "../../sandbox/user_config.ts";
import { faultyServers, listMcpServers, type McpServer } from "../../sandbox/child/mcp_servers.ts";
import type { PassedCredential } from "../../sandbox/child/passed_credentials.ts";
import { hasScheduledTasks } from "../../sandbox/child/child_environment.ts";
import type { Environment } from "../../sandbox/environment.ts";
import { absolutePath, parentOf, wholePath } from "../../paths.ts";
import { findWritableFolders } from "../../sandbox/folder/tool_access.ts";
import { requireSystem } from "../../sandbox/require_system.ts";
import { readOwnJsonObject } from "../../sandbox/read_json_object.ts";
import { tracesSpans } from "../plan/api_variables.ts";
import { mcpConfigOf } from "../plan/child_args.ts";
import { hooklessFlag } from "../plan/permission_mode.ts";
import type { RunFacts } from "../plan/plan_facts.ts";
import type { RunOrder } from "../plan/run_order.ts";
import type { WarnedFacts } from "../plan/warnings.ts";
import type { commandPlaces, gatePrompt } from "./gate_prompt.ts";
import {
  distrustOf,
  instructionFiles,
  type Places,
  placesOf,
  sandboxLackOf,
} from "./project_facts.ts";
import {
  type AskVersion,
  hasSettings,
  readDocuments,
  readGivenSettings,
  UNKNOWN_VERSION,
} from "./settings_documents.ts";

/**
 * Reads all facts on which a plan depends. If there are several problems, reports the one that the user should solve
 * first.
 *
 * @param before facts of an earlier call that cannot have changed
 * @throws {CliError} when claude is missing or too old, the prompt is a refused command, there is no login, or the
 * system lacks a feature
 * @throws {UnfitFileError} when the path of a user's file is no regular file
 */
export async function readFacts(
  order: RunOrder,
  before: Pick<RunFacts, "version"> = { version: undefined },
): Promise<RunFacts> {
  const { env, cwd } = order;
  requireSystem();
  const binary = findClaude({ named: order.claudeBinary, env, cwd });
  const stated = before.version ?? supportedVersionIn(binary);
  // Claude Code prints its version while this program reads all other facts.
  const known = stated === undefined
    ? import("../../claude/program/claude_version.ts").then(({ cachedVersion }) =>
      cachedVersion(binary, env, { cwd })
    )
    : Promise.resolve(stated);
  known.catch(() => {});
  try {
    const learnt = await useLearntProfiles(env);
    const { warnings, ...facts } = await readOtherFacts(order, { binary, version: () => known });
    return {
      ...facts,
      version: await known,
      ...(Object.keys(learnt.facts).length === 0 ? {} : { learnt: learnt.facts }),
      warnings: [...learnt.warnings, ...warnings],
    };
  } finally {
    // An outdated version is reported before any other problem, and this program must wait for the process that prints
    // it.
    await known;
  }
}

async function readOtherFacts(
  order: RunOrder,
  { binary, version }: Pick<RunFacts, "binary"> & { readonly version: AskVersion },
): Promise<Omit<RunFacts, "version">> {
  const { env, startedAt = performance.now() } = order;
  const userConfig = locateUserConfig(env);
  const userClaudeJson = readOwnJsonObject(userConfig.claudeJson);
  const given = await readGivenSettings(order, version);
  await refuseUnknownFlags(order, version);
  const places = placesOf(order, userConfig.dir);
  const documents = await readDocuments(order, { ...places, ...given, version });
  const settings = soundSettings(documents);
  const values = valuesOf(settings);
  refuseUnsupportedSettings(order, { documents, values });
  const distrust = await distrustOf(settings, { order, places, claudeJson: userClaudeJson });
  const credentials = await loadCredentials(env);
  const login = findLogin({
    env,
    credentials,
    userConfig,
    claudeJson: userClaudeJson,
    settings: values,
  });
  if (login === undefined) throw noLoginError(userConfig);
  const servers = configuredServers(order, { ...places, claudeJson: userClaudeJson });
  const output = await readOutput(order);
  const agentsFile = await readAgentsFile(order);
  const commands = { ...places, configDir: userConfig.dir, settings: values, version };
  const gated = await gateRun(order, { ...commands, mcpServers: servers.mcpServers.length });
  const judged = definedFields({
    distrust,
    sandboxLack: sandboxLackOf(values, env),
    addedFiles: addedFilesOf(order),
  });
  return {
    binary,
    userConfig,
    userClaudeJson,
    callerSettings: given.callerSettings,
    documents,
    settings,
    ...judged,
    login,
    credentials,
    ...servers,
    ...output,
    gated,
    ...folderFacts(order, { places, settings: values }),
    ...definedFields({
      callerAgents: await readCallerAgents(order, { ...places, agentsFile }),
      promptServer: promptServerOf(order, servers.mcpServers),
      hiddenSkills: await hiddenSkillsOf(order, commands),
    }),
    warnings: await warningsOf(order, { documents, settings, userConfig, version, ...judged }),
    terminalSize: order.terminalSize ?? terminalSize(),
    timeLeftMs: Math.max(0, Math.round(startedAt + order.timeoutMs - performance.now())),
    freshId: crypto.randomUUID(),
    seed: crypto.randomUUID(),
  };
}

/** Flags that some supported versions lack. Such a version ends, and reports the reason only on its screen. */
const RECENT_FLAGS = ["--fast-mode", "--include-unsupported-models"];

async function refuseUnknownFlags({ forwarded }: RunOrder, askVersion: AskVersion): Promise<void> {
  for (const flag of RECENT_FLAGS) {
    if (!forwarded.some((argument) => argument.split("=", 1)[0] === flag)) continue;
    const version = await askVersion();
    if (version === undefined || hasFlag(version, flag)) continue;
    throw new CliError(`Cannot honour ${flag}: Claude Code ${version} lacks it`, {
      suggestion: "Update Claude Code, or leave the flag out",
    });
  }
}

function folderFacts(
  { cwd, env }: RunOrder,
  { places, settings }: { readonly places: Places; readonly settings: readonly JsonObject[] },
): Pick<
  RunFacts,
  "projectRoot" | "root" | "folders" | "writable" | "scheduledTasks" | "instructions"
> {
  const { projectRoot, root, addedDirs, isAlone } = places;
  return {
    projectRoot,
    root,
    folders: [cwd, root, ...addedDirs],
    writable: findWritableFolders([cwd, ...addedDirs], {
      settings,
      projectRoot,
      home: env["HOME"],
    }),
    scheduledTasks: !isAlone && hasScheduledTasks([cwd, root]),
    instructions: instructionFiles(cwd, places),
  };
}

/** Commands in settings that renew a login. `claude -p` reports only their progress as auth status. */
const RENEWALS = ["awsAuthRefresh", "gcpAuthRefresh"];

/** Refuses settings that silence our hooks, and renewals of a login whose progress would have to be reported. */
function refuseUnsupportedSettings(
  { authStatus, forwarded }: RunOrder,
  { documents, values }: {
    readonly documents: readonly SettingsDocument[];
    readonly values: readonly JsonObject[];
  },
): void {
  const renewal = RENEWALS.find((name) => values.some((each) => each[name] !== undefined));
  if (authStatus && renewal !== undefined) {
    throw new UnsupportedError(
      `Cannot honour --enable-auth-status with "${renewal}" in settings: the interactive Claude Code tells on its screen alone how far it is`,
      { suggestion: "Leave it out, or use claude -p" },
    );
  }
  refuseSilencedHooks(values, {
    hasPlugins: forwarded.some((argument) => argument.startsWith("--plugin-")),
    isManaged: documents.some(({ source, name }) =>
      source === "managed" && name !== "--managed-settings"
    ),
  });
}

/** Reads the credentials that the caller passes on descriptors. */
async function loadCredentials(env: Environment): Promise<readonly PassedCredential[]> {
  if (!Object.keys(env).some((name) => name.endsWith("_FILE_DESCRIPTOR"))) return [];
  const { readCredentials } = await import("../../sandbox/child/passed_credentials.ts");
  return await readCredentials(env);
}

/** Warnings about the facts. The version is read only if settings or flags may cause warnings. */
async function warningsOf(
  order: RunOrder,
  { version, ...facts }: Omit<WarnedFacts, "version"> & { readonly version: AskVersion },
): Promise<readonly string[]> {
  const { documents, distrust, addedFiles, sandboxLack = [] } = facts;
  const needsVersion = hasSettings(documents) || order.disallowedTools.length > 0 ||
    order.forwarded.some((argument) => /^--(?:allowedTools|effort)=/u.test(argument));
  const known = needsVersion ? await version() : undefined;
  const isSilent = known === undefined && distrust === undefined && addedFiles === undefined &&
    sandboxLack.length === 0;
  if (isSilent) return [];
  const { factWarnings } = await import("../plan/warnings.ts");
  return factWarnings(order, { ...facts, version: known });
}

/** The configured MCP servers. With `--bare` or `--safe-mode` Claude Code uses none. */
function configuredServers(
  order: RunOrder,
  { projectRoot, sources, root, claudeJson }: Places & {
    readonly claudeJson: JsonObject | undefined;
  },
): Pick<RunFacts, "mcpServers" | "faultyServers"> {
  if (hooklessFlag(order) !== undefined) return { mcpServers: [] };
  const { cwd, setServers } = order;
  const configs = [
    ...order.mcpConfigs,
    ...(setServers === undefined ? [] : [mcpConfigOf(setServers)]),
  ];
  const faulty = faultyServers({ cwd, configs });
  const mcpServers = listMcpServers({
    cwd,
    root,
    projectRoot,
    configs,
    switched: order.switched ?? {},
    strict: order.strictMcpConfig,
    claudeJson,
    sources,
  });
  return { mcpServers, ...(faulty.length === 0 ? {} : { faultyServers: faulty }) };
}

/** Reads the file that `--agents` names. */
async function readAgentsFile(order: RunOrder): Promise<string | undefined> {
  if (!order.forwarded.some((argument) => argument.startsWith("--agents="))) return undefined;
  const { readNamedAgents } = await import("./agent_files.ts");
  return readNamedAgents(order);
}

/** Places the caller's agents that are in a file, or too long for a command line. */
async function readCallerAgents(
  order: RunOrder,
  { agentsFile: ofFile, ...places }: Places & { readonly agentsFile: string | undefined },
): Promise<RunFacts["callerAgents"]> {
  const areLong = order.initialized?.longAgents !== undefined;
  if (ofFile === undefined && !areLong) return undefined;
  const { callerAgents, isLongArgument } = await import("../plan/caller_agents.ts");
  if (!areLong && ofFile !== undefined && !isLongArgument(ofFile)) {
    return callerAgents(order, { ofFile });
  }
  const { findOtherAgents } = await import("./agent_files.ts");
  return callerAgents(order, { others: findOtherAgents(places), ofFile });
}

/** Decides how the prompt is carried out; the prompts of a conversation are judged as they arrive. */
async function gateRun(
  order: RunOrder,
  { version, ...facts }: Omit<Parameters<typeof gatePrompt>[1], "version"> & {
    readonly version: AskVersion;
  },
): Promise<RunFacts["gated"]> {
  const { prompt, rewindsTo, altered } = order;
  // A conversation reports the version.
  if (prompt === undefined) await version();
  if (rewindsTo !== undefined) return { expands: false, rewinds: true };
  if (prompt === undefined) return { expands: false };
  const isTraced = tracesSpans({ env: order.env, settings: facts.settings });
  if (isPlain(prompt) && altered === undefined && !isTraced) return { expands: false };
  const { gatePrompt } = await import("./gate_prompt.ts");
  return gatePrompt({ ...order, prompt, isTraced }, { ...facts, version: await version() });
}

/**
 * Reads the JSON Schema of structured answers. An invalid schema in the caller's request only makes that request fail.
 */
async function readOutput(
  { jsonSchema, initialized }: RunOrder,
): Promise<Pick<RunFacts, "output" | "outputProblem">> {
  const schema = jsonSchema ?? initialized?.jsonSchema;
  if (schema === undefined) return {};
  const { readOutputSchema } = await import("./output_schema.ts");
  try {
    return { output: await readOutputSchema(schema) };
  } catch (error) {
    if (jsonSchema !== undefined || !(error instanceof CliError)) throw error;
    return { outputProblem: error.message.replace("--json-schema", '"jsonSchema"') };
  }
}

/** Files among the added directories. `claude -p` warns about them in text output. */
function addedFilesOf({ addDirs, cwd, answerAlone }: RunOrder): RunFacts["addedFiles"] {
  if (answerAlone !== true) return undefined;
  const files = addDirs.filter((dir) => isNoFolder(absolutePath(dir, cwd)));
  return files.length === 0
    ? undefined
    : files.map((path) => ({ path, parent: parentOf(wholePath(path, cwd)) || "/" }));
}

/** Ignores missing paths. */
function isNoFolder(path: string): boolean {
  try {
    return !Deno.statSync(path).isDirectory;
  } catch {
    return false;
  }
}

/** The skills to hide if the caller has chosen some. */
async function hiddenSkillsOf(
  order: RunOrder,
  { version, ...facts }: Parameters<typeof commandPlaces>[1] & { readonly version: AskVersion },
): Promise<RunFacts["hiddenSkills"]> {
  const chosen = order.initialized?.skills;
  if (chosen === undefined) return undefined;
  const { commandPlaces, hiddenSkills } = await import("./gate_prompt.ts");
  return hiddenSkills(chosen, {
    places: commandPlaces(order, facts),
    version: await version() ?? UNKNOWN_VERSION,
  });
}

/**
 * The server of `--permission-prompt-tool`. As in `claude -p`, a missing server causes no error before a permission is
 * needed.
 *
 * @throws {UnsupportedError} when the server is not a program
 */
function promptServerOf(
  { promptTool = "" }: RunOrder,
  servers: readonly McpServer[],
): RunFacts["promptServer"] {
  const { name, config, disabled } =
    servers.find(({ name }) => promptTool.startsWith(toolPrefix(name))) ?? {};
  if (name === undefined || disabled || !isJsonObject(config)) return undefined;
  const { type = "stdio", command } = config;
  if (type === "stdio" && typeof command === "string") return { name, config };
  throw new UnsupportedError(
    `Cannot honour --permission-prompt-tool=${promptTool}: claude-print asks servers that are programs, and "${name}" is reached by ${
      asText(type)
    }`,
    { suggestion: "Name a tool of a server with a command, or use rules: --allowedTools" },
  );
}
