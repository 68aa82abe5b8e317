import type { Entry } from "../../../claude/transcript/entry.ts";
import type { JsonObject } from "../../../json_object.ts";
import type { HookPayload } from "../../control/input.ts";
import type { CallbackHook } from "../caller_options.ts";

/** A call of a tool that the model has made. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  /** The subagent that has made it; absent for the session itself. */
  readonly agentId?: string;
  /** The input with which its permission has been asked for, as JSON: nobody is asked about a call twice. */
  readonly askedWith?: string;
  /** Whether the caller has allowed it, with that input if with no other one. */
  readonly allowed?: true;
  /** The other input with which the caller has allowed it, as JSON. */
  readonly allowedWith?: string;
  /** The words with which a hook of the caller's has wanted somebody to be asked about it. */
  readonly hookAsks?: string;
  /** Whether its result has been told. */
  readonly returned?: true;
}

/** What somebody has asked the caller, and the hook that waits for the answer. */
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
    /** The call that it is about. */
    readonly toolUseId?: string;
    /** When its time is up; absent where Claude Code alone bounds it. */
    readonly due?: number;
  }
  /** What an MCP server wants to know of the user. */
  | { readonly kind: "elicitation"; readonly hookId: string }
  | {
    readonly kind: "server";
    readonly server: string;
    /** The id of the request in JSON-RPC; absent where the server is only told something. */
    readonly rpcId?: unknown;
    /** What is asked, such as `tools/list`. */
    readonly method?: unknown;
  };

/** A hook that waits for the caller, who is not asked before what it is about has been told. */
export interface WaitingHook {
  readonly hookId: string;
  readonly payload: HookPayload;
  /** The caller's hook that it stands for; absent where a permission is asked for, or something of the user. */
  readonly callback?: CallbackHook;
  /** Whether an MCP server asks the user something. */
  readonly elicits?: true;
}

/** A call of a tool of an MCP server of the caller's, which is not made before it has been told. */
export interface WaitingMessage {
  readonly server: string;
  readonly message: JsonObject;
}

/** A line of calls, or any that a subagent has said or been told, whose frames have not been printed yet. */
export interface UntoldLine {
  readonly entry: Extract<Entry, { readonly type: "assistant" | "user" }>;
  readonly agentId?: string;
}

/** What an MCP server in the caller's own process reports of itself. */
interface ReportedServer {
  readonly serverInfo?: unknown;
  readonly tools?: readonly JsonObject[];
  /** Whether the server has failed to report anything, or has not done so in time. */
  readonly failed?: true;
}

/** Questions to the caller, and what they may be about. */
export interface QuestionState {
  /** How many questions were asked. */
  readonly questionCount: number;
  /** Questions that are not answered, by their ids, the oldest first. */
  readonly openQuestions: ReadonlyMap<string, Question>;
  /** Questions that wait until the frames of their subject are printed, the oldest first. */
  readonly waitingQuestions: readonly (WaitingHook | WaitingMessage)[];
  /** Hooks whose question was withdrawn while Escape ends the turn. None has an answer yet. */
  readonly withdrawnHooks: readonly string[];
  readonly unprintedLines: readonly UntoldLine[];
  /**
   * Calls whose frames are printed, the oldest first. A call that has returned is kept until the same agent makes others, or
   * is over.
   */
  readonly printedCalls: readonly ToolCall[];
  /** The permission mode that an answer of the caller's has given the child. */
  readonly appliedMode?: string;
  /** Ids of the subagents that have begun and whose last printed line, if there is one, has no text. */
  readonly silentAgents: ReadonlySet<string>;
  /** What the caller's MCP servers report of themselves, by their names. */
  readonly callerServers: ReadonlyMap<string, ReportedServer>;
  /** Whether the user was told that the caller does not answer its hooks; false once it answers one again. */
  readonly isCallerSilent?: boolean;
  /** The tools of the prompt tool's server, as far as it has listed them. */
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

/** Returns questions with later times, because this program was stopped for so many milliseconds. */
export function dueLater(
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
export function without(
  asked: QuestionState["openQuestions"],
  id: string,
): QuestionState["openQuestions"] {
  return new Map([...asked].filter(([other]) => other !== id));
}
