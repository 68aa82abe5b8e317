import type { JsonObject } from "../../json_object.ts";

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
  /** The permission mode in which the child is started. */
  readonly permissionMode?: string;
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
