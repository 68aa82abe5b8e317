import type { Decisions } from "./decisions/decide.ts";
import type { PlacedTexts } from "./placed_texts.ts";
import type { RunOrder } from "./run_order.ts";
import { jsonObjectIn } from "../../claude/wire/json_object_in.ts";
import type { FolderParts } from "../../sandbox/folder/folder_parts.ts";

/** Tools that ask a person: `claude -p` does not offer them either, unless somebody answers for one. */
export const HIDING = "--disallowedTools=AskUserQuestion,EnterPlanMode,ExitPlanMode";

/** A kind of subagent that comes along, and that `claude -p` does not offer to anybody. */
export const HIDING_AGENT = "--disallowedTools=Agent(claude-code-guide)";

/** The command line of the child. */
export function childArgs(
  order: RunOrder,
  { session, childMode, hookless, sealsHooks, log, servers, agents, parts, texts }: Decisions & {
    readonly parts: FolderParts;
    readonly texts: PlacedTexts;
  },
): readonly string[] {
  const { resumed } = session;
  // A session that the caller names is named among the forwarded arguments.
  const isOwn = order.sessionId === undefined && session.id !== resumed;
  return [
    `--permission-mode=${childMode}`,
    // Given by a variable, which does not reach the child.
    ...(hookless === undefined || order.forwarded.includes(hookless) ? [] : [hookless]),
    ...(order.asksCaller || order.promptTool !== undefined ? [] : [HIDING]),
    // The model is not to call it.
    ...(order.promptTool === undefined ? [] : [`--disallowedTools=${order.promptTool}`]),
    HIDING_AGENT,
    ...order.disallowedTools.map((tools) => `--disallowedTools=${tools}`),
    `--settings=${parts.settingsPath}`,
    ...texts.asked,
    // Older versions ask for no redacted thoughts with it, as with -p, but say so in other words; which version it is a
    // text does not wait to be told.
    ...(order.omitsThinking && !order.forwarded.some(isThinkingDisplay)
      ? ["--thinking-display=omitted"]
      : []),
    ...(isOwn ? [`--session-id=${session.id}`] : []),
    ...(resumed === undefined ? [] : [`--resume=${resumed}`]),
    ...texts.forwarded.filter((argument) => !argument.startsWith("--resume=")),
    // Of sources, and of agents, the last are those that count.
    ...agents.args,
    // Of servers with one name the last is the one that counts.
    ...(servers.length === 0 ? [] : [`--mcp-config=${parts.bridgeConfigPath}`]),
    ...(sealsHooks ? sealingArgs(order, parts) : []),
    ...(order.debugFile === undefined && log !== undefined ? [`--debug-file=${log}`] : []),
  ];
}

function isThinkingDisplay(argument: string): boolean {
  return argument.startsWith("--thinking-display=");
}

/**
 * The arguments by which no hooks run but those of our plugin (2.1.330). Of several managed settings the last
 * count.
 */
export function sealingArgs(
  { forwarded }: Pick<RunOrder, "forwarded">,
  { hooksPluginDir }: Pick<FolderParts, "hooksPluginDir">,
): readonly string[] {
  const flag = "--managed-settings=";
  const given = forwarded.findLast((argument) => argument.startsWith(flag))?.slice(flag.length);
  const { strictPluginOnlyCustomization: strict, ...managed } = jsonObjectIn(given ?? "") ?? {};
  const sealed = [...Array.isArray(strict) ? strict : [], "hooks"];
  return [
    `${flag}${JSON.stringify({ ...managed, strictPluginOnlyCustomization: sealed })}`,
    `--plugin-dir=${hooksPluginDir}`,
  ];
}
