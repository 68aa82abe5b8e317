import { CliError } from "../../cli_error.ts";
import { projectSlug } from "../../claude/transcript/session_files.ts";
import { OUTPUT_SERVER } from "../../claude/transcript/structured_output_tool.ts";
import { isSdkServer } from "../../claude/wire/control.ts";
import type { WayIn } from "../../conversation/control/message.ts";
import type { RendezvousOptions } from "../../driver/effects/rendezvous.ts";
import type { JsonObject } from "../../json_object.ts";
import { silencesHooks, valuesOf } from "../../sandbox/child/read_settings.ts";
import { shellOf, type SplitShell } from "../../sandbox/child/child_files.ts";
import { folderParts } from "../../sandbox/folder/folder_layout.ts";
import { absolutePath, nameOf } from "../../paths.ts";
import type { CallerAgents } from "./caller_agents.ts";
import { hooklessFlag, modeWithoutHooks, permissionMode } from "./permission_mode.ts";
import type { FoundSessions, PlanFacts, RunFacts } from "./plan_facts.ts";
import type { RunOrder } from "./run_order.ts";

/** The decisions that follow from an order and facts, and that several parts of a plan need. */
export interface Decisions extends CallerAgents {
  readonly session: RunSession;
  /** The permission mode in which the run begins. */
  readonly mode: string;
  /** The permission mode of the child. It differs from `mode` if no hook can deny a permission. */
  readonly childMode: string;
  /** The flag that turns off all hooks. */
  readonly hookless: string | undefined;
  /** Whether only our hooks run, because settings disable all others. */
  readonly sealsHooks: boolean;
  /** How the prompt is delivered. */
  readonly inject: WayIn;
  /** The number of MCP servers to which the child connects. */
  readonly connections: number;
  /** Whether the child's first request waits for MCP servers. */
  readonly isGated: boolean;
  /** Path of the debug log that the caller asked for. */
  readonly callerLog: string | undefined;
  /** Path of the debug log that the child writes. */
  readonly log: string | undefined;
  /** The user's own settings, if Claude Code reads them for the run. */
  readonly userSettings: JsonObject | undefined;
  /** The folder of the project's automatic memory. */
  readonly memoryPath: string;
  /** The child's rendezvous socket, if the prompt is delivered there. */
  readonly rendezvous: RendezvousOptions | undefined;
  readonly splitShell: SplitShell | undefined;
  /** The names of MCP servers that are bridged to this program: the caller's, and ours if needed. */
  readonly servers: readonly string[];
}

/** The facts of a run, and the decisions made from them. */
export interface KnownRun {
  readonly facts: PlanFacts;
  readonly decided: Decisions;
}

const NO_AGENTS: CallerAgents = { agents: { args: [], files: [] }, hidesUser: false };

/**
 * Makes the decisions on which several parts of a plan depend.
 *
 * @throws {CliError} when the order cannot be carried out
 */
export function decide(order: RunOrder, facts: PlanFacts): Decisions {
  const { userConfig, gated, secret, settings } = facts;
  const session = sessionOf(order, facts);
  const inject = order.prompt === undefined || gated.verbatim === true
    ? "rendezvous"
    : order.inject;
  const servers = bridgedServers(order, facts);
  const connections = new Set([
    ...facts.mcpServers.filter(({ disabled }) => !disabled).map(({ name }) => name),
    ...servers,
  ]).size;
  const isGated = connections > 0;
  const callerLog = order.debugFile === undefined
    ? (order.debug ? `${userConfig.dir}/debug/${session.id}.txt` : undefined)
    : absolutePath(order.debugFile, order.cwd);
  const { logPath, rendezvousPath, longPromptsPath } = folderParts(facts.folder);
  return {
    session,
    ...modesOf(order, facts),
    sealsHooks: silencesHooks(valuesOf(settings)),
    inject,
    connections,
    isGated,
    callerLog,
    log: callerLog ?? (isGated || order.retries || order.debugToStderr ? logPath : undefined),
    ...facts.callerAgents ?? NO_AGENTS,
    userSettings: userSettingsOf(facts),
    memoryPath: memoryPathOf(facts),
    rendezvous: inject === "rendezvous"
      ? { path: rendezvousPath, secret, longPromptsPath }
      : undefined,
    splitShell: splitShellOf(order, facts.folder),
    servers,
  };
}

/**
 * The permission modes of the run and of its child.
 *
 * @throws {UnsupportedError} when the order turns off hooks and also asks for a feature that needs them
 */
export function modesOf(
  order: RunOrder,
  facts: Pick<RunFacts, "settings" | "version">,
): Pick<Decisions, "mode" | "childMode" | "hookless"> {
  const mode = permissionMode(order, facts);
  const hookless = hooklessFlag(order);
  const childMode = hookless === undefined
    ? mode
    : modeWithoutHooks(order, { flag: hookless, mode });
  return { mode, childMode, hookless };
}

function bridgedServers(
  order: RunOrder,
  { output, promptServer }: PlanFacts,
): readonly string[] {
  const { switched = {} } = order;
  const names = [
    ...(output === undefined ? [] : [OUTPUT_SERVER]),
    ...(promptServer === undefined ? [] : [promptServer.name]),
    ...callerServersOf(order).filter((name) => switched[name] !== false),
  ];
  return [...new Set(names)];
}

/** The names of the MCP servers in the caller's process: those of `mcp_set_servers`, or those at the start. */
export function callerServersOf(
  { initialized, callerServers = [], setServers }: RunOrder,
): readonly string[] {
  return setServers === undefined
    ? [...new Set([...callerServers, ...initialized?.servers ?? []])]
    : Object.keys(setServers).filter((name) => isSdkServer(setServers[name]));
}

function userSettingsOf({ settings }: Pick<RunFacts, "settings">): JsonObject | undefined {
  return settings.find(({ source }) => source === "user")?.values;
}

/** The folder of automatic memory, with a slash at its end. The caller's or the user's settings may name another one. */
export function memoryPathOf(
  facts: Pick<RunFacts, "callerSettings" | "settings" | "userConfig" | "root">,
): string {
  const { callerSettings, userConfig, root } = facts;
  return [callerSettings, userSettingsOf(facts)].map((each) => each?.["autoMemoryDirectory"])
    .find((path) => typeof path === "string") ??
    `${userConfig.dir}/projects/${projectSlug(root)}/memory/`;
}

/**
 * How the output of shells is printed while they run. `CLAUDE_PRINT_SHELL_OUTPUT=off` overrides `--shell-output`, for
 * users who cannot change the command line of a program that calls this one.
 */
export function shellOutputOf({ shellOutput, env }: RunOrder): RunOrder["shellOutput"] {
  return env["CLAUDE_PRINT_SHELL_OUTPUT"] === "off" ? undefined : shellOutput;
}

/** The script that replaces the user's shell, if stdout and stderr of commands are printed separately. */
function splitShellOf(order: RunOrder, folder: string): SplitShell | undefined {
  if (shellOutputOf(order) !== "split") return undefined;
  const { shellDir, streamsDir } = folderParts(folder);
  const shell = shellOf(order.env);
  return {
    path: `${shellDir}/${nameOf(shell)}`,
    shell,
    named: order.env["CLAUDE_CODE_SHELL"],
    folder: streamsDir,
  };
}

/** The text that `claude -p` prints if `--resume` names no session. */
const NO_SESSION =
  "Error: --resume requires a valid session ID or session title when used with --print. " +
  "Usage: claude -p --resume <session-id|title>";

/** The session of a run. */
export interface RunSession {
  readonly id: string;
  /** Whether the caller chose the id of a new session. No session may have that id yet. */
  readonly isNew: boolean;
  /** The session that is resumed. */
  readonly resumed?: string;
}

/**
 * Chooses the session: the one that the caller names, the resumed one unless it is forked, or a new one. If there is no
 * session to continue, a new session begins, as in `claude -p`.
 *
 * @throws {CliError} when no session has the requested title, or several have it
 */
export function sessionOf(
  order: Pick<RunOrder, "sessionId" | "resume" | "resumption" | "forkSession">,
  { freshId, found }: Pick<PlanFacts, "freshId" | "found">,
): RunSession {
  const { sessionId, forkSession } = order;
  const resumed = order.resume ?? found.latest ?? namedSession(order, found);
  const continued = forkSession ? undefined : resumed;
  return {
    id: sessionId ?? continued ?? freshId,
    isNew: sessionId !== undefined && continued === undefined,
    ...(resumed === undefined ? {} : { resumed }),
  };
}

function namedSession(
  { resumption }: Pick<RunOrder, "resumption">,
  { named = [] }: FoundSessions,
): string | undefined {
  const title = resumption?.named;
  if (title === undefined) return undefined;
  const [id, ...more] = title === "" ? [] : named;
  if (id === undefined) {
    const why = title === ""
      ? ""
      : `. Provided value "${title}" is not a UUID and does not match any session title.`;
    throw new CliError(`${NO_SESSION}${why}`, {
      suggestion: "Use --resume <id>, with the session_id of an earlier json result",
      failedBeforeStart: true,
    });
  }
  if (more.length > 0) {
    throw new CliError(
      `Cannot resume a session: ${named.length} sessions have the title "${title}"`,
      { suggestion: `Use --resume with the id of one of them: ${named.join(", ")}` },
    );
  }
  return id;
}
