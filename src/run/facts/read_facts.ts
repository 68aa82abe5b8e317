import { CliError, UnsupportedError } from "../../cli_error.ts";
import { terminalSize } from "../../driver/effects/terminal_size.ts";
import type { commandPlaces, gatePrompt } from "./gate_prompt.ts";
import { distrustOf, instructionFiles, projectRootOf, sandboxLackOf } from "./project_facts.ts";
import { findClaude } from "../../claude/program/find_claude.ts";
import { useLearntProfiles } from "../../claude/program/learnt_profiles.ts";
import { supportedVersionIn } from "../../claude/program/refuse_old.ts";
import { mcpConfigOf } from "../plan/child_args.ts";
import type { ToldFacts } from "../plan/warnings.ts";
import type { RunFacts } from "../plan/plan_facts.ts";
import type { RunOrder } from "../plan/run_order.ts";
import { refuseSilencedHooks } from "../../sandbox/child/foreign_settings.ts";
import { gitRoot } from "../../sandbox/child/git_repository.ts";
import { findLogin, noLoginError } from "../../sandbox/child/login.ts";
import { faultyServers, listMcpServers, type McpServer } from "../../sandbox/child/mcp_servers.ts";
import type { PassedCredential } from "../../sandbox/child/passed_credentials.ts";
import type { Environment } from "../../sandbox/environment.ts";
import {
  readSettings,
  type SettingsDocument,
  settingSources,
  soundSettings,
  valuesOf,
} from "../../sandbox/child/read_settings.ts";
import { wholePath } from "../../whole_path.ts";
import { parseCallerSettings } from "../../sandbox/child/run_settings.ts";
import { hasScheduledTasks } from "../../sandbox/child/scheduled_tasks.ts";
import { absolutePath, parentOf, realPath } from "../../sandbox/paths.ts";
import { writableFolders } from "../../sandbox/places/writable_folders.ts";
import { requireSystem } from "../../sandbox/processes/require_system.ts";
import { readOwnJsonObject } from "../../sandbox/read_json_object.ts";
import { locateUserConfig } from "../../sandbox/user_config.ts";
import { tracesSpans } from "../plan/api_variables.ts";
import { isPlain } from "../../conversation/control/prompt/is_plain.ts";
import { asText, isJsonObject, type JsonObject } from "../../json_object.ts";
import { toolPrefix } from "../../claude/transcript/tool_prefix.ts";
import { hooklessFlag } from "../plan/permission_mode.ts";
import { hasFlag } from "../../claude/versions/tables.ts";

/** Stands for the version of a program that names none: newer than all that are known. */
const NEWER = "9999.0.0";

/** What stands for `--settings` where it is not given. What judges settings is loaded only for others. */
const NO_SETTINGS: SettingsDocument = {
  source: "flags",
  name: "--settings",
  values: {},
  faults: [],
};

/**
 * Finds claude, the login and the settings, in an order in which what is told first is what has to be mended first.
 *
 * @param before what is known to hold as before, if it has been read once
 * @throws {CliError} when there is no claude to start, it is too old, the prompt is a command that it must not get, there
 * is no login, or something that every system has is missing
 * @throws {UnfitFileError} when something else stands where a file of the user's should be
 */
export async function readFacts(
  order: RunOrder,
  before: Pick<RunFacts, "version"> = { version: undefined },
): Promise<RunFacts> {
  const { env, cwd } = order;
  requireSystem();
  const binary = findClaude({ named: order.claudeBinary, env, cwd });
  const stated = before.version ?? supportedVersionIn(binary);
  // Claude Code answers while the rest is read.
  const known = stated === undefined
    ? import("../../claude/program/known_version.ts").then(({ knownVersion }) =>
      knownVersion(binary, env, { cwd })
    )
    : Promise.resolve(stated);
  known.catch(() => {});
  const version: AskVersion = () => known;
  try {
    const learnt = await useLearntProfiles(env);
    const { warnings, ...facts } = await readOtherFacts(order, { binary, version });
    return {
      ...facts,
      version: await known,
      ...(Object.keys(learnt.facts).length === 0 ? {} : { learnt: learnt.facts }),
      warnings: [...learnt.warnings, ...warnings],
    };
  } finally {
    // A version that is too old is the first thing to mend, and no process that was asked may be left.
    await known;
  }
}

async function readOtherFacts(
  order: RunOrder,
  { binary, version }: Pick<RunFacts, "binary"> & { readonly version: AskVersion },
): Promise<Omit<RunFacts, "version">> {
  const { env, cwd, startedAt = performance.now() } = order;
  const userConfig = locateUserConfig(env);
  const userClaudeJson = readOwnJsonObject(userConfig.claudeJson);
  const given = await givenSettings(order, version);
  const { callerSettings } = given;
  const root = gitRoot(cwd) ?? cwd;
  await refuseUnknownFlags(order, version);
  const projectRoot = projectRootOf(order);
  // Beside such a folder no main checkout has settings, and no prompts wait for their time.
  const isAlone = order.projectConfigRoot !== undefined;
  const sources = settingSources(order.settingSources);
  const places = { projectRoot, userDir: userConfig.dir, sources, isAlone, version };
  const documents = await documentsOf(order, { ...places, ...given });
  const settings = soundSettings(documents);
  const allSettings = valuesOf(settings);
  if (order.authStatus) refuseRenewal(allSettings);
  refuseSilencedHooks(allSettings, {
    hasPlugins: order.forwarded.some((argument) => argument.startsWith("--plugin-")),
    isManaged: documents.some(({ source, name }) =>
      source === "managed" && name !== "--managed-settings"
    ),
  });
  const isTold = isToldOf(order, documents);
  const distrust = await distrustOf(settings, {
    cwd,
    projectRoot,
    isAlone,
    env,
    userDir: userConfig.dir,
    claudeJson: userClaudeJson,
  });
  const credentials = await credentialsOf(env);
  const login = findLogin({
    env,
    credentials,
    userConfig,
    claudeJson: userClaudeJson,
    settings: allSettings,
  });
  if (login === undefined) throw noLoginError(userConfig);
  const servers = serversOf(order, { ...places, root, claudeJson: userClaudeJson });
  const { mcpServers } = servers;
  const output = await outputOf(order);
  const agents = await agentsOf(order);
  const surroundings = { projectRoot, configDir: userConfig.dir, settings: allSettings };
  const gated = await gatedOf(order, {
    ...surroundings,
    version,
    mcpServers: mcpServers.length,
  });
  const sandboxLack = sandboxLackOf(allSettings, env);
  const addedFiles = addedFilesOf(order);
  const addedDirs = order.addDirs.map((dir) => realPath(absolutePath(dir, cwd)));
  return {
    binary,
    ...await callerAgentsOf(order, { ...places, agents, addedDirs }),
    userConfig,
    userClaudeJson,
    callerSettings,
    documents,
    settings,
    ...(distrust === undefined ? {} : { distrust }),
    login,
    credentials,
    ...servers,
    ...output,
    ...promptServerOf(order, mcpServers),
    ...await hiddenOf(order, { ...surroundings, version }),
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
    warnings: await warningsOf(order, {
      documents,
      settings,
      userConfig,
      version: isTold ? await version() : undefined,
      ...(distrust === undefined ? {} : { distrust }),
      ...addedFiles,
      ...(sandboxLack === undefined ? {} : { sandboxLack }),
    }),
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

/** The credentials that the caller has passed on descriptors; what reads them is loaded only where there are some. */
async function credentialsOf(env: Environment): Promise<readonly PassedCredential[]> {
  if (!Object.keys(env).some((name) => name.endsWith("_FILE_DESCRIPTOR"))) return [];
  const { readCredentials } = await import("../../sandbox/child/passed_credentials.ts");
  return await readCredentials(env);
}

/** Where a run's settings, servers and agents are. */
interface FactPlaces {
  readonly projectRoot: string;
  /** The user's config dir. */
  readonly userDir: string;
  readonly sources: ReturnType<typeof settingSources>;
  /** Whether the project's folder is another one than the working directory's. */
  readonly isAlone: boolean;
  readonly version: AskVersion;
}

/** What the caller gives with `--settings`, and its settings with what it has set besides. */
interface GivenSettings extends Pick<RunFacts, "callerSettings"> {
  readonly given: SettingsDocument;
}

async function givenSettings(
  { settings: asked, flagSettings, cwd }: RunOrder,
  version: AskVersion,
): Promise<GivenSettings> {
  if (asked === undefined && flagSettings === undefined) {
    return { given: NO_SETTINGS, callerSettings: {} };
  }
  const given = asked === undefined
    ? NO_SETTINGS
    : await wholeDocument(await settled(await parseCallerSettings(asked, { cwd }), version), cwd);
  const values = given.faults.length === 0 ? given.values : {};
  const { appliedSettings } = await import("../../sandbox/child/applied_settings.ts");
  const { withWholePaths } = await import("../../sandbox/child/whole_paths.ts");
  return { given, callerSettings: withWholePaths(appliedSettings(values, flagSettings), cwd) };
}

/** Of a document what the Claude Code takes that is there. */
async function settled(document: SettingsDocument, version: AskVersion): Promise<SettingsDocument> {
  if (document.unjudged === undefined) return document;
  const { judgeFor } = await import("../../claude/settings/judged_settings.ts");
  return judgeFor(document, await version() ?? NEWER);
}

/** All documents in which Claude Code finds settings. */
async function documentsOf(
  { flagSettings, cwd, env, forwarded }: RunOrder,
  { given, callerSettings, projectRoot, userDir, sources, isAlone, version }:
    & FactPlaces
    & GivenSettings,
): Promise<readonly SettingsDocument[]> {
  const read = await readSettings({
    projectRoot,
    home: env["HOME"],
    userDir,
    // Of settings files a restricted session reads an administrator's alone.
    sources: forwarded.includes("--restricted") ? new Set() : sources,
    flags: flagSettings === undefined ? given : { ...given, values: callerSettings, faults: [] },
    sharesLocal: !isAlone,
  });
  const documents = await Promise.all(
    read.map(async (document) => await wholeDocument(await settled(document, version), cwd)),
  );
  const isManaged = hooklessFlag({ env, forwarded }) === undefined &&
    forwarded.some((argument) => argument.startsWith("--managed-settings="));
  if (!isManaged) return documents;
  const { managedByCaller } = await import("./settings_documents.ts");
  const managed = managedByCaller(forwarded).map((document) => settled(document, version));
  return [...documents, ...await Promise.all(managed)];
}

/** Whether there are settings or flags of which Claude Code may tell something. */
function isToldOf(
  { forwarded, disallowedTools }: RunOrder,
  documents: readonly SettingsDocument[],
): boolean {
  return documents.some((document) => document !== NO_SETTINGS) || disallowedTools.length > 0 ||
    forwarded.some((argument) => /^--(?:allowedTools|effort)=/u.test(argument));
}

/** What is told of what was found: of rules and settings only by a version that was asked for because of them. */
async function warningsOf(order: RunOrder, facts: ToldFacts): Promise<readonly string[]> {
  const { version, distrust, addedFiles, sandboxLack = [] } = facts;
  const isSilent = version === undefined && distrust === undefined && addedFiles === undefined &&
    sandboxLack.length === 0;
  if (isSilent) return [];
  const { factWarnings } = await import("../plan/warnings.ts");
  return factWarnings(order, facts);
}

/** The MCP servers; without customizations there are none. */
function serversOf(
  order: RunOrder,
  { projectRoot, sources, root, claudeJson }: FactPlaces & {
    readonly root: string;
    readonly claudeJson: JsonObject | undefined;
  },
): Pick<RunFacts, "mcpServers" | "faultyServers"> {
  if (hooklessFlag(order) !== undefined) return { mcpServers: [] };
  const { cwd, setServers } = order;
  const set = setServers === undefined ? [] : [mcpConfigOf(setServers)];
  const configs = [...order.mcpConfigs, ...set];
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

/** The agents of the file that `--agents` names. */
async function agentsOf(order: RunOrder): Promise<string | undefined> {
  if (!order.forwarded.some((argument) => argument.startsWith("--agents="))) return undefined;
  const { agentsElsewhere, readAgents } = await import("./agent_files.ts");
  const elsewhere = agentsElsewhere(order);
  return elsewhere === undefined ? undefined : readAgents(elsewhere, order);
}

/** How the caller's agents get to the child, where they are in a file or too long for a command line. */
async function callerAgentsOf(
  order: RunOrder,
  { projectRoot, userDir, sources, agents, addedDirs: addDirs }: FactPlaces & {
    readonly agents: string | undefined;
    readonly addedDirs: readonly string[];
  },
): Promise<Pick<RunFacts, "callerAgents">> {
  const areLong = order.initialized?.longAgents !== undefined;
  if (agents === undefined && !areLong) return {};
  const { callerAgents, isLongArgument } = await import("../plan/caller_agents.ts");
  if (!areLong && agents !== undefined && !isLongArgument(agents)) {
    return { callerAgents: callerAgents(order, { ofFile: agents }) };
  }
  const { otherAgents } = await import("./agent_files.ts");
  const others = otherAgents({ projectRoot, userDir, addDirs, sources });
  return {
    callerAgents: callerAgents(order, {
      others,
      ...(agents === undefined ? {} : { ofFile: agents }),
    }),
  };
}

/** What becomes of the prompt, or that there are messages in its place. */
async function gatedOf(
  order: RunOrder,
  { version, ...facts }: Omit<Parameters<typeof gatePrompt>[1], "version"> & {
    readonly version: AskVersion;
  },
): Promise<RunFacts["gated"]> {
  const { prompt, rewindsTo, altered } = order;
  // A conversation is told by the version.
  if (prompt === undefined) await version();
  if (rewindsTo !== undefined) return { expands: false, rewinds: true };
  if (prompt === undefined) return { expands: false };
  const isTraced = tracesSpans(order, facts.settings);
  if (isPlain(prompt) && altered === undefined && !isTraced) return { expands: false };
  const { gatePrompt } = await import("./gate_prompt.ts");
  return gatePrompt({ ...order, prompt, isTraced }, {
    ...facts,
    version: await version() ?? NEWER,
  });
}

/** What of settings Claude Code is given in the private folder, as it is where they come from. */
async function wholeDocument(document: SettingsDocument, cwd: string): Promise<SettingsDocument> {
  const { source, name, values } = document;
  if (document === NO_SETTINGS || (source !== "user" && source !== "flags")) return document;
  const { withWholePaths } = await import("../../sandbox/child/whole_paths.ts");
  if (name.startsWith("--")) return { ...document, values: withWholePaths(values, cwd) };
  const folder = parentOf(absolutePath(name, cwd));
  return { ...document, values: withWholePaths(values, folder, { rulesFrom: folder }) };
}

/** What structured answers have to look like. A schema that is none is only the initialization's problem. */
async function outputOf(
  { jsonSchema, initialized }: RunOrder,
): Promise<Pick<RunFacts, "output" | "outputProblem">> {
  const asked = jsonSchema ?? initialized?.jsonSchema;
  if (asked === undefined) return {};
  const { readOutputSchema } = await import("./output_schema.ts");
  try {
    return { output: await readOutputSchema(asked) };
  } catch (error) {
    if (jsonSchema !== undefined || !(error instanceof CliError)) throw error;
    return { outputProblem: error.message.replace("--json-schema", '"jsonSchema"') };
  }
}

/** Files among the added folders, which `claude -p` names only if it prints text. */
function addedFilesOf(
  { addDirs, cwd, answerAlone }: RunOrder,
): Pick<RunFacts, "addedFiles"> {
  const files = addDirs.filter((dir) => isNoFolder(absolutePath(dir, cwd)));
  if (files.length === 0 || answerAlone !== true) return {};
  return {
    addedFiles: files.map((path) => ({ path, parent: parentOf(wholePath(path, cwd)) || "/" })),
  };
}

/** Ignores missing paths. */
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
    readonly version: AskVersion;
  },
): Promise<Pick<RunFacts, "hiddenSkills">> {
  const chosen = order.initialized?.skills;
  if (chosen === undefined) return {};
  const { commandPlaces, hiddenSkills } = await import("./gate_prompt.ts");
  const places = commandPlaces(order, facts);
  return { hiddenSkills: hiddenSkills(chosen, { places, version: await version() ?? NEWER }) };
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
  throw new UnsupportedError(
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
  throw new UnsupportedError(
    `Cannot honour --enable-auth-status with "${renewal}" in settings: the interactive Claude Code tells on its screen alone how far it is`,
    { suggestion: "Leave it out, or use claude -p" },
  );
}

/** Asks Claude Code for its version, once, which takes 8 to 60 ms. */
type AskVersion = () => Promise<string | undefined>;

/** Flags that some supported versions lack: these end at once, and say why on their screen alone. */
const RECENT_FLAGS = ["--fast-mode", "--include-unsupported-models"];

/**
 * Refuses a flag that this Claude Code lacks.
 *
 * @throws {CliError} for the first such flag
 */
async function refuseUnknownFlags(
  { forwarded }: RunOrder,
  askVersion: AskVersion,
): Promise<void> {
  for (const flag of RECENT_FLAGS) {
    if (!forwarded.some((argument) => argument.split("=", 1)[0] === flag)) continue;
    const version = await askVersion();
    if (version === undefined || hasFlag(version, flag)) continue;
    throw new CliError(`Cannot honour ${flag}: Claude Code ${version} lacks it`, {
      suggestion: "Update Claude Code, or leave the flag out",
    });
  }
}
