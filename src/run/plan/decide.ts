import type { RendezvousOptions } from "../../driver/hands/rendezvous.ts";
import { shellOf, type SplitShell } from "../../sandbox/child/split_shell.ts";
import { partsOf } from "../../sandbox/folder/folder_parts.ts";
import type { JsonObject } from "../../transcript/json_object.ts";
import type { WayIn } from "../../session/message.ts";
import { projectSlug } from "../../transcript/project_slug.ts";
import { absolutePath } from "../../sandbox/absolute_path.ts";
import { modeFacts, permissionMode } from "./permission_mode.ts";
import type { PlanFacts } from "./plan_facts.ts";
import type { RunOrder } from "./run_order.ts";
import { shellOutputOf } from "./shell_output_of.ts";
import { type RunSession, sessionOf } from "./session_of.ts";

/** What follows from order and facts alone, and is needed for more than one part of a plan. */
export interface Decisions {
  readonly session: RunSession;
  /** The permission mode in which the child begins. */
  readonly mode: string;
  readonly inject: WayIn;
  /** Whether the first request waits for MCP servers. */
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
}

/** What stands in the place of the user's shell, if stdout and stderr of commands are to be told apart. */
function splitShellOf(order: RunOrder, folder: string): SplitShell | undefined {
  if (shellOutputOf(order) !== "split") return undefined;
  const { shellDir, streamsDir } = partsOf(folder);
  const shell = shellOf(order.env);
  return {
    path: `${shellDir}/${shell.slice(shell.lastIndexOf("/") + 1)}`,
    shell,
    named: order.env["CLAUDE_CODE_SHELL"],
    folder: streamsDir,
  };
}

/** Decides what several parts of a plan hang on. */
export function decide(order: RunOrder, facts: PlanFacts): Decisions {
  const { userConfig, gated, secret, settings } = facts;
  const session = sessionOf(order, facts);
  const byMessage = order.prompt === undefined;
  const inject = byMessage || gated.verbatim === true ? "rendezvous" : order.inject;
  const isGated = facts.mcpServers + serversOf(order).length > 0;
  const callerLog = order.debugFile === undefined
    ? (order.debug ? `${userConfig.dir}/debug/${session.id}.txt` : undefined)
    : absolutePath(order.debugFile, order.cwd);
  const userSettings = settings.find(({ source }) => source === "user")?.values;
  const { logPath, rendezvousPath } = partsOf(facts.folder);
  return {
    session,
    mode: permissionMode({ ...modeFacts(order, settings), version: facts.version }),
    inject,
    isGated,
    callerLog,
    log: callerLog ??
      (isGated || order.retries || order.debugToStderr ? logPath : undefined),
    userSettings,
    memoryPath: memoryPathOf([facts.callerSettings, userSettings]) ??
      `${userConfig.dir}/projects/${projectSlug(facts.root)}/memory/`,
    rendezvous: inject === "rendezvous" ? { path: rendezvousPath, secret } : undefined,
    splitShell: splitShellOf(order, facts.folder),
  };
}

/** The names of the caller's own MCP servers. */
export function serversOf({ initialized, callerServers = [] }: RunOrder): readonly string[] {
  return [...new Set([...callerServers, ...initialized?.servers ?? []])];
}

/** The place for automatic memory that the first of several settings names. */
function memoryPathOf(settings: readonly (JsonObject | undefined)[]): string | undefined {
  return settings.map((each) => each?.["autoMemoryDirectory"])
    .find((path) => typeof path === "string");
}
