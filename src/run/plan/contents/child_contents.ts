import { askedSettings } from "./asked_settings.ts";
import { hasOtherHooks, mayTighten } from "../conversation_of.ts";
import type { Decisions } from "../decisions/decide.ts";
import type { RunSession } from "../decisions/session_of.ts";
import { idlePlugins } from "./idle_plugins.ts";
import { keepsBackups } from "./keeps_backups.ts";
import type { PlacedTexts } from "../placed_texts.ts";
import type { PlanFacts } from "../plan_facts.ts";
import type { RunOrder } from "../run_order.ts";
import { serverTerms } from "./server_terms.ts";
import { withoutBypass } from "./without_bypass.ts";
import { contestedVariables } from "../../../sandbox/child/child_environment.ts";
import { childFiles } from "../../../sandbox/child/child_files.ts";
import { withoutScreenCommands } from "../../../sandbox/child/foreign_settings.ts";
import type { HookEvent } from "../../../sandbox/child/hooks.ts";
import { valuesOf } from "../../../sandbox/child/read_settings.ts";
import type { Environment } from "../../../sandbox/environment.ts";
import type { FolderContents } from "../../../sandbox/folder/folder_contents.ts";
import { folderParts } from "../../../sandbox/folder/folder_parts.ts";
import { isBelow } from "../../../sandbox/paths.ts";
import { hiddenRuns, reopenedRuns } from "../../../sandbox/places/hidden_runs.ts";
import { exposedRuns } from "../../../sandbox/places/writable_folders.ts";
import { SKILL_TOOL } from "../../../conversation/protocol/chosen_skills.ts";
import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import { isGoalTyped } from "../../../claude/transcript/goal.ts";
import { OUTPUT_SERVER } from "../../../claude/transcript/structured_output.ts";

/** Whether there may be more than one message: where a text alone is printed there is one. */
function isLongConversation({ prompt, answerAlone }: RunOrder): boolean {
  return prompt === undefined && answerAlone !== true;
}

/** What is put into the private folder. */
export function childContents(
  order: RunOrder,
  { facts, decided, variables, env, texts, asksCaller }: {
    readonly facts: PlanFacts;
    readonly decided: Decisions;
    readonly variables: Environment;
    readonly env: Environment;
    readonly texts: PlacedTexts["files"];
    readonly asksCaller: boolean;
  },
): FolderContents {
  const { folder, folders, writable, settings, secret, pid, userConfig } = facts;
  const { session, inject, isGated, memoryPath, mode, userSettings, agents, hidesUser } = decided;
  const onStdin = inject === "stdin" ? order.prompt : order.onStdin;
  const parts = folderParts(folder);
  const terms = serverTerms(order);
  const exposed = exposedRuns(facts.runs, { writable, inside: [folder, ...folders] });
  const hidden = hiddenRuns(facts.runs, { folders });
  // What is missing cannot be hidden, and would not be if another run made it later.
  const footholds = facts.sandboxLack === undefined
    ? exposed
    : [...new Set([...exposed, ...hidden])].filter((runs) => !isBelow(folder, runs));
  return {
    files: childFiles(parts, {
      secret,
      pid,
      hooks: hooksFor(order, decided),
      // A budget is for all tools, and so is a mode.
      ...(order.maxBudgetUsd === undefined && !mayTighten(order, decided)
        ? { matchers: { PreToolUse: SKILL_TOOL } }
        : {}),
      held: [
        ...(isGated ? ["SessionStart" as const] : []),
        // What has come meanwhile is a turn of its own, after the cost of this one is known; without the
        // structured answer that it owes, no turn is over; and at its limit it goes on for no other hook.
        ...(isLongConversation(order) || facts.output !== undefined ||
            (order.maxTurns !== undefined &&
              (hasOtherHooks(order, { facts, event: "Stop" }) || mayHaveGoal(order, session)))
          ? ["Stop" as const]
          : []),
      ],
      marksLong: inject === "rendezvous",
      callbacks: order.initialized?.callbacks ?? [],
      asksCaller,
      texts,
      servers: decided.servers,
      timeouts: terms.timeouts,
      ...(facts.promptServer === undefined ? {} : { relayed: facts.promptServer }),
      ...(order.switched === undefined ? {} : { switched: order.switched }),
      userClaudeJson: hidesUser ? withoutServers(facts.userClaudeJson) : facts.userClaudeJson,
      userSettings,
      agents: agents.files,
      sealsHooks: decided.sealsHooks,
      inheritsHooks: order.inheritHooks,
      callerSettings: withVariables(
        withoutScreenCommands(
          withoutBypass(
            askedSettings(facts.callerSettings, {
              hidden: facts.hiddenSkills,
              terms,
              settings: valuesOf(settings),
              omitsThinking: order.omitsThinking === true,
            }),
            { forwarded: order.forwarded, mode },
          ),
        ),
        {
          variables,
          settings: valuesOf(settings),
          // A flag that takes the hooks away has Claude Code set such a variable itself.
          contested: decided.hookless === undefined
            ? contestedVariables(env, valuesOf(settings))
            : {},
        },
      ),
      memoryPath,
      ...(session.resumed === undefined ? {} : {
        earlierOutputs: { userConfigDir: userConfig.dir, session: session.resumed },
      }),
      plugins: idlePlugins(order, { facts, mode }),
      folders,
      exposed,
      hidden,
      reopened: reopenedRuns(hidden, { writable }),
      apiKey: order.env["ANTHROPIC_API_KEY"],
      ...(onStdin === undefined ? {} : { stdin: onStdin }),
      asksCost: isLongConversation(order) || order.limitsTold === true ||
        order.maxBudgetUsd !== undefined,
      ...(decided.splitShell === undefined ? {} : { splitShell: decided.splitShell }),
    }),
    ...(inject === "stdin" || onStdin !== undefined ? { stdinPath: parts.promptPath } : {}),
    secret,
    bridges: decided.servers,
    ...(facts.promptServer === undefined ? {} : { relayed: facts.promptServer.name }),
    footholds,
    userConfigDir: userConfig.dir,
    hidesUser,
    ...(keepsBackups(order, settings) ? { keepsBackups: true as const } : {}),
    ...(session.resumed === undefined ? {} : { resume: session.resumed }),
    ...(facts.shortened === undefined ? {} : { shortened: facts.shortened }),
    ...(order.history === undefined || facts.found.transcript === undefined
      ? {}
      : { begun: facts.found.transcript }),
    isNewSession: session.isNew,
  };
}

/** The user's `.claude.json` without the MCP servers that are the user's in every project. */
function withoutServers({ mcpServers: _, ...rest }: JsonObject = {}): JsonObject {
  return rest;
}

/** The caller's settings with variables of ours, where settings name them too: these come before the environment. */
function withVariables(
  caller: JsonObject,
  { variables, settings, contested }: {
    readonly variables: Environment;
    readonly settings: readonly JsonObject[];
    /** Those of the child that are ours whoever names them. */
    readonly contested: Environment;
  },
): JsonObject {
  const isNamed = Object.keys(variables).some((name) =>
    settings.some(({ env }) => isJsonObject(env) && env[name] !== undefined)
  );
  const added = { ...(isNamed ? variables : {}), ...contested };
  if (Object.keys(added).length === 0) return caller;
  const { env } = caller;
  return { ...caller, env: { ...(isJsonObject(env) ? env : {}), ...added } };
}

/** The hooks a run needs; each that fires before the answer costs 10 to 20 ms. */
function hooksFor(order: RunOrder, decided: Decisions): readonly HookEvent[] {
  const { frames, altered, maxTurns, maxBudgetUsd, partialMessages, exactStream } = order;
  const { initialized } = order;
  const { inject, isGated, servers } = decided;
  const isLimited = maxTurns !== undefined || maxBudgetUsd !== undefined ||
    servers.includes(OUTPUT_SERVER);
  // An answer can be displayed before the transcript holds the calls before it: their batch says which those are.
  const isDisplayed = partialMessages && !exactStream;
  return [
    "Stop",
    "StopFailure",
    "SessionEnd",
    "PermissionRequest",
    "Elicitation",
    ...(frames ? ["PreCompact" as const, "PostCompact" as const] : []),
    ...(frames || isGated ? ["SessionStart" as const] : []),
    ...(inject !== "stdin" || altered !== undefined ? ["UserPromptSubmit" as const] : []),
    ...(isLimited || isDisplayed ? ["PostToolBatch" as const] : []),
    ...(maxBudgetUsd === undefined && initialized?.skills === undefined &&
        !mayTighten(order, decided)
      ? []
      : ["PreToolUse" as const]),
    ...(isDisplayed ? ["MessageDisplay" as const] : []),
  ];
}

/** Whether a run may pursue a goal: the prompt sets one, or the session that is resumed may have one. */
function mayHaveGoal({ prompt = "" }: RunOrder, { resumed }: RunSession): boolean {
  return resumed !== undefined || isGoalTyped(prompt);
}
