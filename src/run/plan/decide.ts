import type { RendezvousOptions } from "../../driver/effects/rendezvous.ts";
import { hooklessFlag, modeFacts, modeWithoutHooks, permissionMode } from "./permission_mode.ts";
import type { CallerAgents } from "./caller_agents.ts";
import type { FoundSessions, PlanFacts, RunFacts } from "./plan_facts.ts";
import type { RunOrder } from "./run_order.ts";
import { silencesHooks } from "../../sandbox/child/foreign_settings.ts";
import { valuesOf } from "../../sandbox/child/read_settings.ts";
import { shellOf, type SplitShell } from "../../sandbox/child/split_shell.ts";
import { folderParts } from "../../sandbox/folder/folder_parts.ts";
import { absolutePath, nameOf } from "../../sandbox/paths.ts";
import type { WayIn } from "../../conversation/control/message.ts";
import type { JsonObject } from "../../json_object.ts";
import { OUTPUT_SERVER } from "../../claude/transcript/structured_output.ts";
import { isCallers } from "../../claude/wire/control.ts";
import { projectSlug } from "../../claude/transcript/files/project_slug.ts";
import { CliError } from "../../cli_error.ts";

/** What follows from order and facts alone, and is needed for more than one part of a plan. */
export interface Decisions extends CallerAgents {
  readonly session: RunSession;
  /** The permission mode in which the child begins. */
  readonly mode: string;
  /** The one that the child is told, which is another one where nobody could refuse what it asks. */
  readonly childMode: string;
  /** The flag that turns off all hooks, if one does. */
  readonly hookless: string | undefined;
  /** Whether hooks of ours alone run: those of settings are silenced. */
  readonly sealsHooks: boolean;
  readonly inject: WayIn;
  /** How many MCP servers the child connects to, and whether its first request waits for them. */
  readonly connections: number;
  readonly isGated: boolean;
  /** The debug log that the caller wants, and the one that there is. */
  readonly callerLog: string | undefined;
  readonly log: string | undefined;
  /** The user's own settings, as far as Claude Code reads them for the run. */
  readonly userSettings: JsonObject | undefined;
  /** Where the project's automatic memory is kept. */
  readonly memoryPath: string;
  /** The child's rendezvous socket, when the prompt goes in there. */
  readonly rendezvous: RendezvousOptions | undefined;
  readonly splitShell: SplitShell | undefined;
  /** The names of the MCP servers that are bridged to this program: the caller's, and ours if it is needed. */
  readonly servers: readonly string[];
}

/** Where the caller has none that have to be placed. */
const NO_AGENTS: CallerAgents = { agents: { args: [], files: [] }, hidesUser: false };

/** What stands in the place of the user's shell, if stdout and stderr of commands are to be told apart. */
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

/**
 * Decides what several parts of a plan hang on.
 *
 * @throws {CliError} when what was asked for cannot be had
 */
export function decide(order: RunOrder, facts: PlanFacts): Decisions {
  const { userConfig, gated, secret, settings } = facts;
  const session = sessionOf(order, facts);
  const byMessage = order.prompt === undefined;
  const inject = byMessage || gated.verbatim === true ? "rendezvous" : order.inject;
  const servers = serversOf(order, facts);
  const connections = new Set([
    ...facts.mcpServers.filter(({ disabled }) => !disabled).map(({ name }) => name),
    ...servers,
  ]).size;
  const isGated = connections > 0;
  const callerLog = order.debugFile === undefined
    ? (order.debug ? `${userConfig.dir}/debug/${session.id}.txt` : undefined)
    : absolutePath(order.debugFile, order.cwd);
  const userSettings = settings.find(({ source }) => source === "user")?.values;
  const { logPath, rendezvousPath, longPromptsPath } = folderParts(facts.folder);
  return {
    session,
    ...modesOf(order, facts),
    sealsHooks: silencesHooks(valuesOf(settings)),
    inject,
    connections,
    isGated,
    callerLog,
    log: callerLog ??
      (isGated || order.retries || order.debugToStderr ? logPath : undefined),
    ...facts.callerAgents ?? NO_AGENTS,
    userSettings,
    memoryPath: memoryPathOf(facts),
    rendezvous: inject === "rendezvous"
      ? { path: rendezvousPath, secret, longPromptsPath }
      : undefined,
    splitShell: splitShellOf(order, facts.folder),
    servers,
  };
}

/**
 * The mode of the run, and that of the child.
 *
 * @throws {UnsupportedError} when the run is to be without hooks, and something is asked for that takes some
 */
export function modesOf(
  order: RunOrder,
  { settings, version }: Pick<RunFacts, "settings" | "version">,
): Pick<Decisions, "mode" | "childMode" | "hookless"> {
  const mode = permissionMode({ ...modeFacts(order, settings), version });
  const hookless = hooklessFlag(order);
  const childMode = hookless === undefined
    ? mode
    : modeWithoutHooks(order, { flag: hookless, mode });
  return { mode, childMode, hookless };
}

function serversOf(order: RunOrder, { output, promptServer }: PlanFacts): readonly string[] {
  const { switched = {} } = order;
  const names = [
    ...(output === undefined ? [] : [OUTPUT_SERVER]),
    ...(promptServer === undefined ? [] : [promptServer.name]),
    ...callerServersOf(order).filter((name) => switched[name] !== false),
  ];
  return [...new Set(names)];
}

/** The names of the MCP servers in the caller's own process: those that it has set last, or begun with. */
export function callerServersOf(
  { initialized, callerServers = [], setServers }: RunOrder,
): readonly string[] {
  return setServers === undefined
    ? [...new Set([...callerServers, ...initialized?.servers ?? []])]
    : Object.keys(setServers).filter((name) => isCallers(setServers[name]));
}

/** The folder for automatic memory, with a slash at its end: that of the project, unless the caller or the user names one. */
export function memoryPathOf(
  { callerSettings, settings, userConfig, root }: Pick<
    RunFacts,
    "callerSettings" | "settings" | "userConfig" | "root"
  >,
): string {
  const userSettings = settings.find(({ source }) => source === "user")?.values;
  return [callerSettings, userSettings].map((each) => each?.["autoMemoryDirectory"])
    .find((path) => typeof path === "string") ??
    `${userConfig.dir}/projects/${projectSlug(root)}/memory/`;
}

/**
 * How the output of shells is printed while they run. A command line that asks for it may be somebody else's: the
 * variable takes it back.
 */
export function shellOutputOf({ shellOutput, env }: RunOrder): RunOrder["shellOutput"] {
  return env["CLAUDE_PRINT_SHELL_OUTPUT"] === "off" ? undefined : shellOutput;
}

/** How `claude -p` refuses what names no session. */
const NO_SESSION =
  "Error: --resume requires a valid session ID or session title when used with --print. " +
  "Usage: claude -p --resume <session-id|title>";

/** The session that a run goes on in. */
export interface RunSession {
  readonly id: string;
  /** Whether the caller chose the id for a session that is yet to begin: then nobody may have had it before. */
  readonly isNew: boolean;
  /** The session with which it begins; absent when it begins with nothing. */
  readonly resumed?: string;
}

/**
 * Whose session a run goes on in: the one the caller names, the one that is resumed unless a fork of it is wanted, or
 * one of its own. With nothing to continue a run begins a session, as `claude -p` does.
 *
 * @param options.freshId the id of a session of its own
 * @param options.found the sessions that were looked for
 * @throws {CliError} when no session has the name that was looked for, or several have it
 */
export function sessionOf(
  order: Pick<RunOrder, "sessionId" | "resume" | "resumption" | "forkSession">,
  { freshId, found }: { readonly freshId: string; readonly found: FoundSessions },
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
  if (resumption?.named === undefined) return undefined;
  const [id, ...more] = resumption.named === "" ? [] : named;
  if (id === undefined) {
    throw new CliError(
      resumption.named === ""
        ? NO_SESSION
        : `${NO_SESSION}. Provided value "${resumption.named}" is not a UUID and does not match any session title.`,
      {
        suggestion: "Use --resume <id>, with the session_id of an earlier json result",
        isUnbegun: true,
      },
    );
  }
  if (more.length > 0) {
    throw new CliError(
      `Cannot resume a session: ${named.length} sessions have the title "${resumption.named}"`,
      { suggestion: `Use --resume with the id of one of them: ${named.join(", ")}` },
    );
  }
  return id;
}
