import { CliError } from "../../cli_error.ts";
import type { TwinPlan } from "../../driver/hands/twin_plan.ts";
import type { RendezvousOptions } from "../../driver/hands/rendezvous.ts";
import type { ConversationOptions } from "../../frames/conversation.ts";
import { INEFFECTIVE } from "./asked_order.ts";
import { askedSettings } from "./asked_settings.ts";
import { conversationOf, endsAlone, hasOtherHooks } from "./conversation_of.ts";
import { decide, type Decisions } from "./decide.ts";
import { idlePlugins } from "./idle_plugins.ts";
import { keepsBackups } from "./keeps_backups.ts";
import { ignoredRules } from "./ignored_rules.ts";
import { type PlacedTexts, placedTexts } from "./placed_texts.ts";
import type { FoundSessions, PlanFacts } from "./plan_facts.ts";
import { requestVariables } from "./request_variables.ts";
import type { RunOrder } from "./run_order.ts";
import { sameRequests } from "./same_requests.ts";
import { serverTerms } from "./server_terms.ts";
import { settingsWarnings } from "./settings_warnings.ts";
import { twinPlan } from "./twin_plan.ts";
import { SKILL_TOOL } from "../../session/control/chosen_skills.ts";
import { withoutBypass } from "./without_bypass.ts";
import { childEnvironment, contestedVariables } from "../../sandbox/child/child_environment.ts";
import { childFiles } from "../../sandbox/child/child_files.ts";
import { withoutScreenCommands } from "../../sandbox/child/foreign_settings.ts";
import type { HookEvent } from "../../sandbox/child/hooks.ts";
import { valuesOf } from "../../sandbox/child/read_settings.ts";
import type { Environment } from "../../sandbox/environment.ts";
import type { FolderContents, FolderFile } from "../../sandbox/folder/folder_contents.ts";
import { type FolderParts, folderParts } from "../../sandbox/folder/folder_parts.ts";
import { exposedRuns } from "../../sandbox/places/writable_folders.ts";
import type { Prompt } from "../../session/message.ts";
import { slashWord } from "../../session/prompt/slash_word.ts";
import { cutTranscript } from "../../transcript/cut_transcript.ts";
import { isJsonObject, type JsonObject } from "../../transcript/json_object.ts";
import { OUTPUT_SERVER } from "../../transcript/structured_output.ts";

/** Everything that a child is started with, and all that the machines are told. */
export interface Plan {
  readonly sessionId: string;
  /** The mode in which the child begins, which is always named. */
  readonly permissionMode: string;
  readonly args: readonly string[];
  readonly env: Environment;
  /** What is put into the private folder. */
  readonly contents: FolderContents;
  /** The child's rendezvous socket, when the prompt goes in there. */
  readonly rendezvous: RendezvousOptions | undefined;
  /** A headless Claude Code that is asked about the session, where there is a caller who may want to know. */
  readonly twin: TwinPlan | undefined;
  /** The debug log that tells of retries, when somebody wants to hear of them. */
  readonly retryLog: string | undefined;
  /** The debug log, when somebody wants to be told all of it. */
  readonly toldLog: string | undefined;
  /** The debug log that tells of connections to MCP servers, when the first request waits for some. */
  readonly mcpLog: string | undefined;
  /** What the machines are told, but for the time of the start. */
  readonly conversation: ConversationOptions;
  /** Whether nothing of the user's or the caller's ends with the child. */
  readonly endsAlone: boolean;
  /** The run's only message; absent where messages come as the run goes on. */
  readonly message: Prompt | undefined;
  /** What the user is to be told of flags, rules and settings that have no effect. */
  readonly warnings: readonly string[];
}

/** Tools that ask a person: `claude -p` does not offer them either, unless somebody answers for one. */
const HIDING = "--disallowedTools=AskUserQuestion,EnterPlanMode,ExitPlanMode";

/** A kind of subagent that comes along, and that `claude -p` does not offer to anybody. */
const HIDING_AGENT = "--disallowedTools=Agent(claude-code-guide)";

/**
 * Decides all that a run is started with. Nothing is read or made here: no clock, no file, no environment but the
 * caller's in the order, no random number.
 *
 * @throws {CliError} when there is no session, or no part of it, that can be gone on with as it was asked for
 */
export function plan(order: RunOrder, facts: PlanFacts): Plan {
  const decided = decide(order, facts);
  const { session, mode, isGated, log, rendezvous } = decided;
  const parts = folderParts(facts.folder);
  const { configDir, tempDir } = parts;
  const { variables: asked, betas, warnings } = requestVariables(order, {
    login: facts.login,
    settings: valuesOf(facts.settings),
  });
  const variables = {
    ...asked,
    ...sameRequests(order),
    // At a terminal 2.1.330 asks for short thoughts even beside the flag.
    ...(order.omitsThinking ? { CLAUDE_CODE_THINKING_DISPLAY_UPDATES: "0" } : {}),
    // It also tells the model of no skills and no tools whose definitions it could ask for.
    ...(order.readsNoMentions ? { CLAUDE_CODE_DISABLE_ATTACHMENTS: "1" } : {}),
    // The subagent and the shells that it starts are waited for then, too.
    ...(facts.gated.forks ? { CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: "1" } : {}),
    ...facts.relayVariables,
  };
  const texts = placedTexts(order, parts);
  const asksCaller = order.asksCaller === true || order.promptTool !== undefined;
  const args = argsOf(order, { ...decided, parts, texts });
  const { userConfig, scheduledTasks } = facts;
  const environment = { configDir, tempDir, userConfig, scheduledTasks };
  const caller = { ...order.env, ...variables };
  const env = childEnvironment(caller, {
    ...environment,
    rendezvous,
    logLevel: logLevel(order, decided),
    splitShell: decided.splitShell,
  });
  return {
    sessionId: session.id,
    permissionMode: mode,
    args,
    env,
    contents: contentsOf(order, {
      facts,
      decided,
      variables,
      env,
      texts: texts.files,
      asksCaller,
    }),
    rendezvous,
    twin: order.prompt !== undefined && facts.gated.asked === undefined && !facts.gated.rewinds
      ? undefined
      : twinPlan(parts, {
        args: args.filter((argument) =>
          ![HIDING, HIDING_AGENT, `--mcp-config=${parts.bridgeConfigPath}`].includes(argument) &&
          !decided.agents.args.includes(argument)
        ),
        agents: decided.agents.problem === undefined ? order.initialized?.longAgents : undefined,
        env: childEnvironment(caller, environment),
        userConfigDir: userConfig.dir,
        callerSettings: facts.callerSettings,
        asksCaller,
      }),
    retryLog: order.retries ? log : undefined,
    toldLog: order.debugToStderr ? log : undefined,
    mcpLog: isGated ? log : undefined,
    conversation: conversationOf(order, { facts, decided, betas }),
    endsAlone: endsAlone(order, { facts, decided }),
    message: messageOf(order, { facts, decided }),
    warnings: [
      ...warnings,
      ...(order.initialized?.ineffective ?? []).map((name) =>
        `"${name}" has no effect: ${INEFFECTIVE[name]}`
      ),
      ...ignoredRules(facts.settings, {
        distrust: facts.distrust,
        claudeJson: userConfig.claudeJson,
      }),
      ...settingsWarnings(order, facts),
    ],
  };
}

function messageOf(
  { prompt: text, altered }: RunOrder,
  { facts: { gated }, decided: { inject } }: {
    readonly facts: PlanFacts;
    readonly decided: Decisions;
  },
): Prompt | undefined {
  return text === undefined ? undefined : {
    text,
    way: inject,
    ...(gated.expands ? { command: `/${slashWord(text)?.name ?? ""}` } : {}),
    ...(altered === undefined ? {} : { altered }),
  };
}

function argsOf(
  order: RunOrder,
  { session, childMode, hookless, log, servers, agents, parts, texts }: Decisions & {
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
    ...(order.debugFile === undefined && log !== undefined ? [`--debug-file=${log}`] : []),
  ];
}

function isThinkingDisplay(argument: string): boolean {
  return argument.startsWith("--thinking-display=");
}

/** What the debug log has to tell: of connections to MCP servers, else only of failures; a caller's is the caller's. */
function logLevel(
  { debugToStderr }: RunOrder,
  { isGated, callerLog, log }: Decisions,
): "debug" | "warn" | undefined {
  if (isGated) return "debug";
  if (debugToStderr) return undefined;
  return log !== callerLog ? "warn" : undefined;
}

/** Whether there may be more than one message: where a text alone is printed there is one. */
function isLongConversation({ prompt, answerAlone }: RunOrder): boolean {
  return prompt === undefined && answerAlone !== true;
}

function contentsOf(
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
  const { session, inject, isGated, gate, memoryPath, mode, userSettings, agents, hidesUser } =
    decided;
  const parts = folderParts(folder);
  const terms = serverTerms(order);
  const shortened = cutOf(order, facts);
  const exposed = exposedRuns(facts.runs, { writable, inside: [folder, ...folders] });
  return {
    files: childFiles(parts, {
      secret,
      pid,
      hooks: hooksFor(order, decided),
      // A budget is for all tools.
      ...(order.maxBudgetUsd === undefined ? { matchers: { PreToolUse: SKILL_TOOL } } : {}),
      held: [
        ...(isGated ? [gate] : []),
        // What has come meanwhile is a turn of its own, after the cost of this one is known; without the
        // structured answer that it owes, no turn is over; and at its limit it goes on for no other hook.
        ...(isLongConversation(order) || facts.output !== undefined ||
            (order.maxTurns !== undefined && hasOtherHooks(order, { facts, event: "Stop" }))
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
      inheritsHooks: order.inheritHooks,
      callerSettings: withVariables(
        withoutScreenCommands(
          withoutBypass(
            askedSettings(facts.callerSettings, {
              hidden: facts.hiddenSkills,
              terms,
              settings: valuesOf(settings),
            }),
            { forwarded: order.forwarded, mode, version: facts.version },
          ),
          valuesOf(settings, { without: ["user", "flags"] }),
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
      apiKey: order.env["ANTHROPIC_API_KEY"],
      ...(inject === "stdin" && order.prompt !== undefined ? { stdin: order.prompt } : {}),
      asksCost: isLongConversation(order) || order.limitsTold === true ||
        order.maxBudgetUsd !== undefined,
      ...(decided.splitShell === undefined ? {} : { splitShell: decided.splitShell }),
    }),
    ...(inject === "stdin" ? { stdinPath: parts.promptPath } : {}),
    secret,
    bridges: decided.servers,
    ...(facts.promptServer === undefined ? {} : { relayed: facts.promptServer.name }),
    exposed,
    userConfigDir: userConfig.dir,
    hidesUser,
    ...(keepsBackups(order, settings) ? { keepsBackups: true as const } : {}),
    ...(session.resumed === undefined ? {} : { resume: session.resumed }),
    ...(shortened === undefined ? {} : { shortened }),
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
function hooksFor(
  { frames, altered, maxTurns, maxBudgetUsd, partialMessages, exactStream, initialized }: RunOrder,
  { inject, isGated, gate, servers }: Decisions,
): readonly HookEvent[] {
  const isLimited = maxTurns !== undefined || maxBudgetUsd !== undefined ||
    servers.includes(OUTPUT_SERVER);
  return [
    "Stop",
    "StopFailure",
    "SessionEnd",
    "PermissionRequest",
    "Elicitation",
    ...(frames ? ["PreCompact" as const, "PostCompact" as const] : []),
    ...(frames || isGated ? ["SessionStart" as const] : []),
    ...(inject !== "stdin" || altered !== undefined || gate === "UserPromptSubmit"
      ? ["UserPromptSubmit" as const]
      : []),
    ...(isLimited ? ["PostToolBatch" as const] : []),
    ...(maxBudgetUsd === undefined && initialized?.skills === undefined
      ? []
      : ["PreToolUse" as const]),
    ...(partialMessages && !exactStream ? ["MessageDisplay" as const] : []),
  ];
}

/**
 * What is left of the transcript of a session that is resumed in part; undefined where all of it is resumed, or there
 * is none.
 *
 * @throws {CliError} when there is no such part of it
 */
function cutOf(
  { resume, resumption: { upTo, dropsTurn } = { latest: false } }: Pick<
    RunOrder,
    "resume" | "resumption"
  >,
  { found: { latest, transcript } }: { readonly found: FoundSessions },
): FolderFile | undefined {
  if (resume !== undefined || latest !== undefined) return undefined;
  if (upTo === undefined || transcript === undefined) return undefined;
  const cut = cutTranscript(transcript.text, { upTo, dropsTurn });
  if (cut.kind === "cut") return { path: transcript.path, text: cut.text };
  if (cut.kind === "absent") {
    throw new CliError(`No message found with message.uuid of: ${upTo}`, {
      suggestion: "Use the uuid of an assistant message that ended an answer",
      isUnbegun: true,
    });
  }
  if (cut.by === "turn") {
    // Whoever uses an Agent SDK knows it by its first words.
    throw new CliError(`Resume rejected by --resume-drops-turn: ${cut.reason}`, {
      suggestion: "Leave it out, or resume at the end of the turn before",
      isUnbegun: true,
    });
  }
  throw new CliError(`Cannot honour --resume-session-at: ${cut.reason}`, {
    suggestion: "Use the uuid of an assistant message that ended an answer, or run claude -p",
  });
}
