import type { Prompt } from "../../conversation/control/message.ts";
import { slashWord } from "../../conversation/control/prompt/prompt_text.ts";
import type { ConversationOptions } from "../../conversation/output/conversation.ts";
import { definedFields } from "../../defined_fields.ts";
import type { RendezvousOptions } from "../../driver/effects/rendezvous.ts";
import type { HelperPlan } from "../../driver/effects/headless_helper.ts";
import type { JsonObject } from "../../json_object.ts";
import { childEnvironment } from "../../sandbox/child/child_environment.ts";
import { silencesHooks, valuesOf } from "../../sandbox/child/read_settings.ts";
import {
  descriptorVariables,
  type PassedCredential,
} from "../../sandbox/child/passed_credentials.ts";
import type { Environment } from "../../sandbox/environment.ts";
import { type FolderContents, folderParts } from "../../sandbox/folder/folder_layout.ts";
import { deterministicVariables, requestVariables, variableOf } from "./api_variables.ts";
import { childArgs, headlessPlan, placeTexts } from "./child_args.ts";
import { childContents } from "./child_contents.ts";
import { conversationOptions, endsAlone } from "./conversation_options.ts";
import { decide, type Decisions, type KnownRun } from "./decide.ts";
import type { PlanFacts } from "./plan_facts.ts";
import type { RunOrder } from "./run_order.ts";

/** How a child is started, and the options of its conversation. */
export interface Plan {
  readonly sessionId: string;
  /** The mode in which the run begins. */
  readonly permissionMode: string;
  readonly args: readonly string[];
  readonly env: Environment;
  /** Credentials that the child reads from the descriptors that `env` names. */
  readonly credentials: readonly PassedCredential[];
  /** The files of the private folder. */
  readonly contents: FolderContents;
  /** The child's rendezvous socket, if the prompt is delivered there. */
  readonly rendezvous: RendezvousOptions | undefined;
  /** The headless helper that answers requests which the TUI cannot answer; undefined if the run never needs one. */
  readonly helper: HelperPlan | undefined;
  /** The debug log from which API retries are read. */
  readonly retryLog: string | undefined;
  /** The debug log to copy to stderr. */
  readonly toldLog: string | undefined;
  /** The debug log from which MCP connections are read, if the first request waits for some. */
  readonly mcpLog: string | undefined;
  /** The options of the conversation, without the time of its start. */
  readonly conversation: ConversationOptions;
  /** Whether no program of the user or the caller ends with the child. */
  readonly endsAlone: boolean;
  /** The run's only message; undefined in a conversation. */
  readonly message: Prompt | undefined;
  /** Warnings about flags, rules and settings that have no effect. */
  readonly warnings: readonly string[];
}

/**
 * Plans a run. This function is pure: it reads no clock, no file, no environment except the one in the order, and no
 * random number.
 *
 * @throws {CliError} when the order cannot be carried out, for example because its session does not exist
 */
export function plan(asked: RunOrder, facts: PlanFacts): Plan {
  const order = effectiveOrder(asked, valuesOf(facts.settings));
  const decided = decide(order, facts);
  const known = { facts, decided };
  const { session, mode, isGated, log, rendezvous } = decided;
  const { userConfig, scheduledTasks, credentials } = facts;
  const parts = folderParts(facts.folder);
  const { variables, betas, warnings } = addedVariables(order, facts);
  const texts = placeTexts(order, parts);
  const args = childArgs(order, { decided, parts, texts });
  const places = {
    configDir: parts.configDir,
    tempDir: parts.tempDir,
    userConfig,
    scheduledTasks,
  };
  const callerEnv = { ...order.env, ...variables };
  const env = childEnvironment({ ...callerEnv, ...descriptorVariables(credentials) }, {
    ...places,
    rendezvous,
    logLevel: logLevel(order, decided),
    splitShell: decided.splitShell,
  });
  return {
    sessionId: session.id,
    permissionMode: mode,
    args,
    env,
    credentials,
    contents: childContents(order, { ...known, variables, env, texts: texts.files }),
    rendezvous,
    helper: needsHeadless(order, facts)
      ? headlessPlan(order, { ...known, args, parts, env: childEnvironment(callerEnv, places) })
      : undefined,
    retryLog: order.retries ? log : undefined,
    toldLog: order.debugToStderr ? log : undefined,
    mcpLog: isGated ? log : undefined,
    conversation: conversationOptions(order, known, betas),
    endsAlone: endsAlone(order, known),
    message: messageOf(order, known),
    warnings: [
      ...warnings,
      ...order.ineffective ?? [],
      ...order.initialized?.ineffective ?? [],
      ...facts.warnings,
    ],
  };
}

/**
 * The order with two changes that settings cause: a limit of requests, and no hooks of the user.
 *
 * Only `claude -p` reads the limit from `CLAUDE_CODE_MAX_TURNS`. The interactive Claude Code refuses invalid values, as
 * `claude -p` does (2.1.330), so they are passed on to it.
 */
function effectiveOrder(order: RunOrder, settings: readonly JsonObject[]): RunOrder {
  const turns = variableOf("CLAUDE_CODE_MAX_TURNS", { env: order.env, settings });
  return {
    ...order,
    ...definedFields({
      maxTurns: order.maxTurns ?? (/^[1-9]\d*$/u.test(turns) ? Number(turns) : undefined),
      inheritHooks: silencesHooks(settings) ? false : undefined,
    }),
  };
}

/** The variables that this program adds to the child's environment. */
function addedVariables(
  order: RunOrder,
  { login, settings, gated, relayVariables }: PlanFacts,
): ReturnType<typeof requestVariables> {
  const added = requestVariables(order, { login, settings: valuesOf(settings) });
  return {
    ...added,
    variables: {
      ...added.variables,
      ...deterministicVariables(order),
      ...definedFields({
        // In a terminal, 2.1.330 asks for short thoughts even with --thinking-display=omitted.
        CLAUDE_CODE_THINKING_DISPLAY_UPDATES: order.omitsThinking ? "0" : undefined,
        // This also hides skills from the model, and tools whose definitions it could ask for.
        CLAUDE_CODE_DISABLE_ATTACHMENTS: order.readsNoMentions ? "1" : undefined,
        // Makes Claude Code wait for the subagent that carries out the prompt, and for shells that it starts.
        CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: gated.forks ? "1" : undefined,
      }),
      ...relayVariables,
    },
  };
}

/** Whether a caller may ask questions that the TUI cannot answer, or the run itself is such a question. */
function needsHeadless({ prompt }: RunOrder, { gated }: PlanFacts): boolean {
  return prompt === undefined || gated.asked !== undefined || gated.rewinds === true;
}

function messageOf(
  { prompt, altered }: RunOrder,
  { facts: { gated }, decided }: KnownRun,
): Prompt | undefined {
  if (prompt === undefined) return undefined;
  const command = gated.expands ? `/${slashWord(prompt)?.name ?? ""}` : undefined;
  return { text: prompt, way: decided.inject, ...definedFields({ command, altered }) };
}

/** The least severe level that the debug log needs. Connections of MCP servers are logged at "debug". */
function logLevel(
  { debugToStderr }: RunOrder,
  { isGated, callerLog, log }: Decisions,
): "debug" | "warn" | undefined {
  if (isGated) return "debug";
  // The user has asked for this log, and may set its level.
  if (debugToStderr || log === callerLog) return undefined;
  return "warn";
}
