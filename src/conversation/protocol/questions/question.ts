import type { Entry } from "../../../claude/transcript/entry.ts";
import type { JsonObject } from "../../../json_object.ts";
import type { HookPayload } from "../../control/input.ts";
import type { CallbackHook } from "../caller_options.ts";

/** A call of a tool that the model has made. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  /** The subagent that made the call; absent for the session itself. */
  readonly agentId?: string;
  /**
   * The input for which the caller was asked for permission, as JSON. It is set so that the caller is asked only once
   * for each call.
   */
  readonly askedWith?: string;
  /** Whether the caller has allowed the call. */
  readonly allowed?: true;
  /** The other input with which the caller has allowed the call, as JSON. */
  readonly allowedWith?: string;
  /** The reason of a caller's hook that requests a question to the user. */
  readonly hookAsks?: string;
  /** Whether the call's result was printed. */
  readonly returned?: true;
}

/** An open question to the caller. */
export type Question =
  | {
    readonly kind: "permission";
    readonly hookId: string;
    readonly tool: unknown;
    readonly input: unknown;
    readonly call: ToolCall | undefined;
  }
  | {
    readonly kind: "callback";
    readonly hookId: string;
    readonly callback: CallbackHook;
    /** The call of the event. */
    readonly toolUseId?: string;
    /** The prompt of the event. */
    readonly prompt?: unknown;
    /** The time limit; absent if Claude Code has its own. */
    readonly due?: number;
  }
  /** A question of an MCP server to the user. */
  | { readonly kind: "elicitation"; readonly hookId: string }
  | {
    readonly kind: "server";
    readonly server: string;
    /** The id of the JSON-RPC request; absent for a notification. */
    readonly rpcId?: unknown;
    /** The method, such as `tools/list`. */
    readonly method?: unknown;
  };

/** A hook whose question is deferred until its subject is printed. */
export interface WaitingHook {
  readonly hookId: string;
  readonly payload: HookPayload;
  /** The caller's hook; absent for a permission and for a question to the user. */
  readonly callback?: CallbackHook;
  /** Whether an MCP server asks the user. */
  readonly elicits?: true;
}

/** A message to an MCP server of the caller, deferred until its tool call is printed. */
export interface WaitingMessage {
  readonly server: string;
  readonly message: JsonObject;
}

/** A line with tool calls or results, or any line of a subagent, whose frames are not printed yet. */
export interface UnprintedLine {
  readonly entry: Extract<Entry, { readonly type: "assistant" | "user" }>;
  readonly agentId?: string;
}

/** The facts that an MCP server in the caller's own process reports about itself. */
interface ReportedServer {
  readonly serverInfo?: unknown;
  readonly tools?: readonly JsonObject[];
  /** Whether the server has reported nothing in time. */
  readonly failed?: true;
}

/** The state of the questions to the caller. */
export interface QuestionState {
  /** The number of questions that were asked. */
  readonly questionCount: number;
  /** Unanswered questions by their ids, the oldest first. */
  readonly openQuestions: ReadonlyMap<string, Question>;
  /** Questions that wait until the frames of their subject are printed, the oldest first. */
  readonly waitingQuestions: readonly (WaitingHook | WaitingMessage)[];
  /** Hooks whose question was withdrawn while Escape ends the turn. None of them has an answer yet. */
  readonly withdrawnHooks: readonly string[];
  readonly unprintedLines: readonly UnprintedLine[];
  /**
   * Calls whose frames are printed, the oldest first. A returned call is kept until the same agent makes other calls,
   * or has ended.
   */
  readonly printedCalls: readonly ToolCall[];
  /** The child's permission mode after an answer of the caller. */
  readonly appliedMode?: string;
  /** Ids of the subagents that have begun and whose last printed line, if there is one, has no text. */
  readonly silentAgents: ReadonlySet<string>;
  /** The reports of the caller's MCP servers about themselves, by the names of the servers. */
  readonly callerServers: ReadonlyMap<string, ReportedServer>;
  /**
   * Whether the user was told that the caller does not answer its hooks; false once the caller answers a hook again.
   */
  readonly isCallerSilent?: boolean;
  /** The tools of the prompt tool's server that it has listed so far. */
  readonly promptTools: readonly string[];
}

export const NO_QUESTIONS: QuestionState = {
  questionCount: 0,
  openQuestions: new Map(),
  waitingQuestions: [],
  withdrawnHooks: [],
  unprintedLines: [],
  printedCalls: [],
  silentAgents: new Set(),
  callerServers: new Map(),
  promptTools: [],
};

/** Returns questions with later time limits, because this program was suspended for so many milliseconds. */
export function postponeQuestions(
  asked: QuestionState["openQuestions"],
  ms: number,
): QuestionState["openQuestions"] {
  return new Map(
    [...asked].map(([id, question]) =>
      question.kind === "callback" && question.due !== undefined
        ? [id, { ...question, due: question.due + ms }]
        : [id, question]
    ),
  );
}

/** Returns questions without one of them. */
export function removeQuestion(
  asked: QuestionState["openQuestions"],
  id: string,
): QuestionState["openQuestions"] {
  return new Map([...asked].filter(([other]) => other !== id));
}
