import { isGoalCommand } from "../../claude/transcript/special_entries.ts";
import { OUTPUT_SERVER } from "../../claude/transcript/structured_output_tool.ts";
import { SKILL_TOOL } from "../../conversation/protocol/caller_options.ts";
import { definedFields } from "../../defined_fields.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { childFiles } from "../../sandbox/child/child_files.ts";
import type { HookEvent } from "../../sandbox/child/hooks.ts";
import { type Settings, valuesOf } from "../../sandbox/child/read_settings.ts";
import { type Environment, isSwitchedOn } from "../../sandbox/environment.ts";
import { type FolderContents, folderParts } from "../../sandbox/folder/folder_layout.ts";
import { isBelow } from "../../paths.ts";
import {
  findExposedRuns,
  findHiddenRuns,
  findReopenedRuns,
} from "../../sandbox/folder/tool_access.ts";
import { variableOf } from "./api_variables.ts";
import { asksForPermissions, type PlacedTexts } from "./child_args.ts";
import { childSettings, serverTerms } from "./child_settings.ts";
import { hasOtherHooks, mayTighten } from "./conversation_options.ts";
import type { Decisions, KnownRun, RunSession } from "./decide.ts";
import type { PlanFacts } from "./plan_facts.ts";
import type { RunOrder } from "./run_order.ts";

interface ContentOptions extends KnownRun {
  /** Variables that this program adds to the child's environment. */
  readonly variables: Environment;
  /** The child's complete environment. */
  readonly env: Environment;
  readonly texts: PlacedTexts["files"];
}

/** The contents of the private folder. */
export function childContents(order: RunOrder, options: ContentOptions): FolderContents {
  const { facts, decided } = options;
  const { secret, userConfig, promptServer, settings } = facts;
  const { session, inject, servers, hidesUser } = decided;
  const stdin = inject === "stdin" ? order.prompt : order.onStdin;
  const others = otherRuns(facts);
  return {
    files: contentFiles(order, { ...options, stdin, others }),
    secret,
    bridges: servers,
    footholds: others.footholds,
    userConfigDir: userConfig.dir,
    hidesUser,
    isNewSession: session.isNew,
    ...definedFields({
      stdinPath: inject === "stdin" || stdin !== undefined
        ? folderParts(facts.folder).promptPath
        : undefined,
      relayed: promptServer?.name,
      keepsBackups: keepsBackups(order, settings) || undefined,
      resume: session.resumed,
      shortened: facts.shortened,
      begun: order.history === undefined ? undefined : facts.found.transcript,
    }),
  };
}

function contentFiles(
  order: RunOrder,
  { facts, decided, variables, env, texts, stdin, others: { exposed, hidden, reopened } }:
    & ContentOptions
    & { readonly stdin: string | undefined; readonly others: ReturnType<typeof otherRuns> },
): FolderContents["files"] {
  const { secret, pid, userConfig, userClaudeJson } = facts;
  const { session, inject, servers, hidesUser } = decided;
  const terms = serverTerms(order);
  return childFiles(folderParts(facts.folder), {
    secret,
    pid,
    hooks: hooksFor(order, decided),
    held: blockingHooks(order, { facts, decided }),
    marksLong: inject === "rendezvous",
    callbacks: order.initialized?.callbacks ?? [],
    asksCaller: asksForPermissions(order),
    texts,
    servers,
    timeouts: terms.timeouts,
    userClaudeJson: hidesUser ? withoutServers(userClaudeJson) : userClaudeJson,
    userSettings: decided.userSettings,
    agents: decided.agents.files,
    sealsHooks: decided.sealsHooks,
    inheritsHooks: order.inheritHooks,
    callerSettings: childSettings(order, { facts, decided, terms, variables, env }),
    memoryPath: decided.memoryPath,
    plugins: idlePlugins(order, { facts, decided }),
    folders: facts.folders,
    exposed,
    hidden,
    reopened,
    apiKey: order.env["ANTHROPIC_API_KEY"],
    asksCost: mayHaveSeveralMessages(order) || order.limitsTold === true ||
      order.maxBudgetUsd !== undefined,
    ...definedFields({
      // A budget and a stricter mode apply to calls of every tool, chosen skills only to calls of one tool.
      matchers: order.maxBudgetUsd === undefined && !mayTighten(order, decided)
        ? { PreToolUse: SKILL_TOOL }
        : undefined,
      relayed: facts.promptServer,
      switched: order.switched,
      earlierOutputs: session.resumed === undefined
        ? undefined
        : { userConfigDir: userConfig.dir, session: session.resumed },
      stdin,
      splitShell: decided.splitShell,
    }),
  });
}

/** Whether more than one message may come. In text output, only one can. */
function mayHaveSeveralMessages({ prompt, answerAlone }: RunOrder): boolean {
  return prompt === undefined && answerAlone !== true;
}

/** The folders of other runs, by the access that the child's tools have. */
function otherRuns({ folder, folders, writable, runs, sandboxLack }: PlanFacts) {
  const exposed = findExposedRuns(runs, { writable, inside: [folder, ...folders] });
  const hidden = findHiddenRuns(runs, { folders });
  // The sandbox can only hide a folder that exists before the child starts.
  const footholds = sandboxLack === undefined
    ? exposed
    : [...new Set([...exposed, ...hidden])].filter((each) => !isBelow(folder, each));
  return { exposed, hidden, footholds, reopened: findReopenedRuns(hidden, { writable }) };
}

/** The user's `.claude.json` without the MCP servers that the user has in every project. */
function withoutServers({ mcpServers: _, ...rest }: JsonObject = {}): JsonObject {
  return rest;
}

/** The hooks that a run needs. Each hook that runs before the answer costs 10 to 20 ms. */
function hooksFor(order: RunOrder, decided: Decisions): readonly HookEvent[] {
  const { frames, altered, maxTurns, maxBudgetUsd, partialMessages, exactStream } = order;
  const { inject, isGated, servers } = decided;
  const isLimited = maxTurns !== undefined || maxBudgetUsd !== undefined ||
    servers.includes(OUTPUT_SERVER);
  // Claude Code may display an answer before the transcript has the calls before it. PostToolBatch names those calls.
  const isDisplayed = partialMessages && !exactStream;
  const watchesCalls = maxBudgetUsd !== undefined || order.initialized?.skills !== undefined ||
    mayTighten(order, decided);
  const needed: readonly (readonly [HookEvent, boolean])[] = [
    ["Stop", true],
    ["StopFailure", true],
    ["SessionEnd", true],
    ["PermissionRequest", true],
    ["Elicitation", true],
    ["PreCompact", frames],
    ["PostCompact", frames],
    ["SessionStart", frames || isGated],
    ["UserPromptSubmit", inject !== "stdin" || altered !== undefined],
    ["PostToolBatch", isLimited || isDisplayed],
    ["PreToolUse", watchesCalls],
    ["MessageDisplay", isDisplayed],
  ];
  return needed.filter(([, isNeeded]) => isNeeded).map(([event]) => event);
}

/** The hooks for whose answer the child waits. */
function blockingHooks(
  order: RunOrder,
  { facts, decided }: KnownRun,
): readonly HookEvent[] {
  // Three reasons to delay the child at its Stop hook: messages that arrived meanwhile are a separate turn, after the
  // cost of this turn is known; a turn must not end without its structured answer; and at its limit, a turn must not
  // continue for another hook or a goal.
  const holdsStop = mayHaveSeveralMessages(order) || facts.output !== undefined ||
    (order.maxTurns !== undefined &&
      (hasOtherHooks(order, { facts, event: "Stop" }) || mayHaveGoal(order, decided.session)));
  return [
    ...(decided.isGated ? ["SessionStart" as const] : []),
    ...(holdsStop ? ["Stop" as const] : []),
  ];
}

/** Whether a run may pursue a goal: the prompt sets one, or a resumed session may have one. */
function mayHaveGoal({ prompt = "" }: RunOrder, { resumed }: RunSession): boolean {
  return resumed !== undefined || isGoalCommand(prompt);
}

/** Makes `claude -p` keep the state of files before edits. The interactive Claude Code always does. */
const CHECKPOINTS = "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING";

/** Whether the state of files before edits is kept with the session. */
function keepsBackups(
  { env, persistSession, rewindsTo }: Pick<RunOrder, "env" | "persistSession" | "rewindsTo">,
  settings: readonly Settings[],
): boolean {
  if (!persistSession && rewindsTo === undefined) return false;
  return isSwitchedOn(variableOf(CHECKPOINTS, { env, settings: valuesOf(settings) }));
}

/** A built-in plugin that draws changed files on the screen. `claude -p` does not have it. */
const DIFF = "diff";
/** A built-in plugin that gives AGENTS.md to the model in a project without a CLAUDE.md. */
const AGENTS = "agents-md";

/** Modes in which tools write only what a rule allows. */
const READING_MODES: readonly string[] = ["default", "dontAsk", "plan"];

/**
 * The `enabledPlugins` setting that switches off built-in plugins with nothing to do in a run, because each takes 20 to
 * 90 ms of its start (2.1.330). Plugins that settings mention are left unchanged.
 *
 * Claude Code reads AGENTS.md at the start, above the working directory, and later next to files that it reads. The
 * plugin is switched off if there is no AGENTS.md and none can appear: because a CLAUDE.md makes Claude Code ignore
 * those below it, or because no tool may write one.
 */
function idlePlugins(
  order: RunOrder,
  { facts: { settings, instructions }, decided }: KnownRun,
): JsonObject {
  const values = valuesOf(settings);
  const isMentioned = (plugin: string) =>
    values.some(({ enabledPlugins, pluginConfigs }) =>
      [enabledPlugins, pluginConfigs].some((each) =>
        isJsonObject(each) && Object.keys(each).some((name) => name.startsWith(plugin))
      )
    );
  const mayAppear = !instructions.claude &&
    (instructions.skills || mayWrite(order, { values, mode: decided.mode }));
  const mayBeElsewhere = order.forwarded.some((each) => /^(?:--worktree|-w)(?:=|$)/u.test(each)) ||
    values.some(({ claudeMdExcludes }) => claudeMdExcludes !== undefined);
  const isAgentsIdle = !instructions.agents && !mayAppear && !mayBeElsewhere;
  const idle = [DIFF, ...isAgentsIdle ? [AGENTS] : []].filter((name) =>
    // Claude Code knows each plugin by two names.
    !isMentioned(`${name}@`) && !isMentioned(`cc-plugin-${name}@`)
  );
  return Object.fromEntries(idle.map((name) => [`${name}@builtin`, false]));
}

/** Whether a tool of the run may write a file. */
function mayWrite(
  { forwarded, initialized }: RunOrder,
  { values, mode }: { readonly values: readonly JsonObject[]; readonly mode: string },
): boolean {
  return !READING_MODES.includes(mode) || initialized?.longAgents !== undefined ||
    forwarded.some((argument) => /^--(?:allowed-?tools|plugin-|agents?)/iu.test(argument)) ||
    values.some(({ permissions, sandbox, hooks, enabledPlugins }) =>
      (isJsonObject(permissions) && permissions["allow"] !== undefined) ||
      [sandbox, hooks, enabledPlugins].some((each) => each !== undefined)
    );
}
