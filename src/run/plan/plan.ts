import type { TwinPlan } from "../../driver/effects/twin_plan.ts";
import type { RendezvousOptions } from "../../driver/effects/rendezvous.ts";
import type { ConversationOptions } from "../../conversation/output/conversation.ts";
import { childArgs, HIDING, HIDING_AGENT, sealingArgs } from "./child_args.ts";
import { childContents } from "./contents/child_contents.ts";
import { conversationOf, endsAlone } from "./conversation_of.ts";
import { decide, type Decisions } from "./decisions/decide.ts";
import { placedTexts } from "./placed_texts.ts";
import { namedVariable } from "./named_variable.ts";
import type { PlanFacts } from "./plan_facts.ts";
import { requestVariables } from "./request_variables.ts";
import type { RunOrder } from "./run_order.ts";
import { sameRequests } from "./same_requests.ts";
import { twinPlan } from "./twin_plan.ts";
import { childEnvironment } from "../../sandbox/child/child_environment.ts";
import {
  descriptorVariables,
  type PassedCredential,
} from "../../sandbox/child/passed_credentials.ts";
import { silencesHooks } from "../../sandbox/child/foreign_settings.ts";
import { valuesOf } from "../../sandbox/child/read_settings.ts";
import type { Environment } from "../../sandbox/environment.ts";
import type { FolderContents } from "../../sandbox/folder/folder_contents.ts";
import { folderParts } from "../../sandbox/folder/folder_parts.ts";
import type { Prompt } from "../../conversation/control/message.ts";
import type { JsonObject } from "../../json_object.ts";
import { slashWord } from "../../conversation/control/prompt/slash_word.ts";

/** Everything that a child is started with, and all that the machines are told. */
export interface Plan {
  readonly sessionId: string;
  /** The mode in which the child begins, which is always named. */
  readonly permissionMode: string;
  readonly args: readonly string[];
  readonly env: Environment;
  /** Credentials that the child finds on descriptors, which `env` names. */
  readonly credentials: readonly PassedCredential[];
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

/**
 * Decides all that a run is started with. Nothing is read or made here: no clock, no file, no environment but the
 * caller's in the order, no random number.
 *
 * @throws {CliError} when there is no session, or no part of it, that can be gone on with as it was asked for
 */
export function plan(asked: RunOrder, facts: PlanFacts): Plan {
  const read = valuesOf(facts.settings);
  const order = {
    ...boundedOrder(asked, read),
    ...(silencesHooks(read) ? { inheritHooks: false } : {}),
  };
  const decided = decide(order, facts);
  const { session, mode, isGated, log, rendezvous } = decided;
  const parts = folderParts(facts.folder);
  const { configDir, tempDir } = parts;
  const { variables: added, betas, warnings } = requestVariables(order, {
    login: facts.login,
    settings: valuesOf(facts.settings),
  });
  const variables = {
    ...added,
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
  const args = childArgs(order, { ...decided, parts, texts });
  const sealing = decided.sealsHooks ? sealingArgs(order, parts) : [];
  const { userConfig, scheduledTasks } = facts;
  const environment = { configDir, tempDir, userConfig, scheduledTasks };
  const caller = { ...order.env, ...variables };
  const { credentials } = facts;
  const env = childEnvironment({ ...caller, ...descriptorVariables(credentials) }, {
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
    credentials,
    contents: childContents(order, {
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
          ![HIDING, HIDING_AGENT, `--mcp-config=${parts.bridgeConfigPath}`, ...sealing]
            .includes(argument) &&
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
      ...(order.ineffective ?? []),
      ...(order.initialized?.ineffective ?? []),
      ...facts.warnings,
    ],
  };
}

/** The variable by which `claude -p` takes how many requests a turn may make, where no flag says so. */
const TURNS = "CLAUDE_CODE_MAX_TURNS";

/**
 * An order with the limit of turns that a variable names, which the interactive Claude Code does not heed. One that makes
 * no sense it refuses itself, as `claude -p` does (2.1.330).
 *
 * @param settings what Claude Code reads for the run
 */
function boundedOrder(order: RunOrder, settings: readonly JsonObject[]): RunOrder {
  if (order.maxTurns !== undefined) return order;
  const turns = namedVariable(TURNS, { env: order.env, settings });
  return /^[1-9]\d*$/u.test(turns) ? { ...order, maxTurns: Number(turns) } : order;
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

/** What the debug log has to tell: of connections to MCP servers, else only of failures; a caller's is the caller's. */
function logLevel(
  { debugToStderr }: RunOrder,
  { isGated, callerLog, log }: Decisions,
): "debug" | "warn" | undefined {
  if (isGated) return "debug";
  if (debugToStderr) return undefined;
  return log !== callerLog ? "warn" : undefined;
}
