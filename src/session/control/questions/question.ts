import type { Entry } from "../../../transcript/entry.ts";
import type { JsonObject } from "../../../json_object.ts";
import type { ControlRequest } from "../../../wire/control.ts";
import type { HookPayload } from "../../input.ts";

/** What a session knows of a caller that decides for it. */
export interface CallerOptions {
  /** What the ids of questions begin with: no other child of the conversation may have given the same. */
  readonly idPrefix: string;
  /** Whether the caller is asked for permissions, which are refused otherwise. */
  readonly permissions?: true;
  /** Whether nobody is there to answer, from the beginning. */
  readonly isAbsent?: true;
  /** The tool that is asked in its place. */
  readonly promptTool?: PromptTool;
  /** Whether the caller may have the mode in which no permission is needed. */
  readonly mayBypass?: true;
  /** Whether a hook of the settings has a say in another model: it is not called where that is another child's. */
  readonly watchesModels?: true;
  /** The names of its MCP servers, those that it has set, and those that it has switched off or on again. */
  readonly servers?: readonly string[];
  readonly setServers?: JsonObject;
  readonly switched?: Readonly<Record<string, boolean>>;
  /** The caller's hooks, each with a place by which the child's hooks name it. */
  readonly callbacks: readonly CallbackHook[];
  /** The initialization by which the child was started, and why it could not be as it was asked for. */
  readonly initialized?: { readonly id: string; readonly error?: string };
}

/** A tool of an MCP server that decides on permissions. */
export interface PromptTool {
  /** As the command line names it. */
  readonly name: string;
  /** The server that would have it, and what it calls it; absent where there is none. */
  readonly server?: string;
  readonly tool: string;
  /** The server in the caller's own process that would have it, in the place of another one. */
  readonly ownServer?: string;
}

/** A hook of the caller's: an event, and whom to call. */
export interface CallbackHook {
  readonly event: string;
  /** What of the event it is for, as in settings; absent for all. */
  readonly matcher?: string;
  /** The caller's name for it. */
  readonly id: string;
  /** How long its answer may take, in seconds; absent for as long as Claude Code gives a hook. */
  readonly timeoutS?: number;
  /** Whether what it guards is not to be done where it fails; since 2.1.330. */
  readonly blocks?: true;
}

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

/** What an MCP server in the caller's own process has said of itself. */
export interface ToldServer {
  readonly serverInfo?: unknown;
  readonly tools?: readonly JsonObject[];
  /** Whether it has not said what it is, but that it could not, or nothing for too long. */
  readonly failed?: true;
}

/** What is remembered of questions and of what they may be about. */
export interface AskingMemory {
  /** Requests of the caller's that a headless Claude Code is asked about, by their ids. */
  readonly consulted: ReadonlyMap<string, ControlRequest>;
  /** What the caller's MCP servers have said of themselves, by their names. */
  readonly servers: ReadonlyMap<string, ToldServer>;
  /** How many have been asked. */
  readonly questions: number;
  /** Those that are not answered, by their ids, the oldest first. */
  readonly asked: ReadonlyMap<string, Question>;
  /** What the caller is not asked before the frames of what it is about have been printed, the oldest first. */
  readonly waiting: readonly (WaitingHook | WaitingMessage)[];
  readonly untold: readonly UntoldLine[];
  /** Calls that have been told, the oldest first; those that have returned until the same agent makes others, or is over. */
  readonly calls: readonly ToolCall[];
  /** Ids of the subagents that have begun, and whose last line that has been told, if one has been, is no words. */
  readonly silent: ReadonlySet<string>;
  /** The tools that the server of the prompt tool has, as far as it has told. */
  readonly promptTools: readonly string[];
  /** By what names the screen may call what calls of tools have begun, by the ids of the calls that have not returned. */
  readonly launches: ReadonlyMap<string, readonly string[]>;
  /** The same of the tasks in the background, by their ids. */
  readonly atWork: ReadonlyMap<string, readonly string[]>;
  /** Those that the caller wants to be stopped; what is done about the first. */
  readonly stops: readonly Stopping[];
}

/** A task in the background that the caller wants to be stopped. */
export interface Stopping {
  readonly request: ControlRequest;
  readonly task: string;
  /** What is waited for: that keys may be pressed, the list of tasks, the task in it, its end, or that nothing is open. */
  readonly stage: "waiting" | "opening" | "finding" | "ending" | "closing";
  /** How often that was looked for. */
  readonly looks: number;
  /** Why it cannot be stopped. */
  readonly failure?: string;
  /** Whether the caller has been told that it is, and only the list is still open. */
  readonly answered?: true;
}

/** The questions without one that is not asked any more. */
export function without(asked: AskingMemory["asked"], id: string): AskingMemory["asked"] {
  return new Map([...asked].filter(([other]) => other !== id));
}

/** Nothing has been asked. */
export const NOTHING_ASKED: AskingMemory = {
  consulted: new Map(),
  servers: new Map(),
  questions: 0,
  asked: new Map(),
  waiting: [],
  untold: [],
  calls: [],
  silent: new Set(),
  promptTools: [],
  launches: new Map(),
  atWork: new Map(),
  stops: [],
};
