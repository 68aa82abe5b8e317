import { asText, isJsonObject, type JsonObject } from "../../json_object.ts";

/** The facts about a session's caller. */
export interface CallerOptions {
  /** The prefix of the ids of questions, which differs between the children of a conversation. */
  readonly idPrefix: string;
  /** Whether the caller is asked for permissions. Otherwise they are refused. */
  readonly permissions?: true;
  /** Whether the caller answers no question from the beginning. */
  readonly isAbsent?: true;
  /** The tool that is asked for permissions instead of the caller. */
  readonly promptTool?: PromptTool;
  /** Whether the caller may choose the mode `bypassPermissions`. */
  readonly mayBypass?: true;
  /** The permission mode in which the child is started. */
  readonly permissionMode?: string;
  /**
   * Whether settings have a hook that Claude Code calls when the model changes. It does not call the hook when another
   * child has another model.
   */
  readonly watchesModels?: true;
  /** The names of the MCP servers in the caller's own process. */
  readonly servers?: readonly string[];
  /** The MCP servers that the caller has set by `mcp_set_servers`. */
  readonly setServers?: JsonObject;
  /** The MCP servers that the caller has switched off (false) or on again (true). */
  readonly switched?: Readonly<Record<string, boolean>>;
  /** The caller's hooks. The child's hooks name one of them by its index in this list. */
  readonly callbacks: readonly CallbackHook[];
  /** The `initialize` request with which the child was started; `error` if a part of it was impossible. */
  readonly initialized?: { readonly id: string; readonly error?: string };
}

/** A tool of an MCP server that decides on permissions (`--permission-prompt-tool`). */
export interface PromptTool {
  /** The name on the command line. */
  readonly name: string;
  /** The server to which the name refers; absent if there is none. */
  readonly server?: string;
  /** The server's own name for the tool. */
  readonly tool: string;
  /** The server to which the name refers, if it is in the caller's own process. */
  readonly ownServer?: string;
}

/** One of the caller's hooks. */
export interface CallbackHook {
  readonly event: string;
  /** The matcher, as in settings; absent if the hook is for every such event. */
  readonly matcher?: string;
  /** The caller's name for the hook. */
  readonly id: string;
  /** The time limit of its answer, in seconds; absent for that of Claude Code. */
  readonly timeoutS?: number;
  /** Whether a failure of the hook forbids the action; since 2.1.330. */
  readonly blocks?: true;
}

/** The tool with which the model loads a skill. */
export const SKILL_TOOL = "Skill";

/**
 * Whether the caller has chosen a skill. A name also selects skills of plugins, whose full name is the plugin's, a colon and
 * this name (2.1.330).
 */
export function isChosen(name: string, chosen: readonly string[]): boolean {
  return chosen.some((each) => name === each || name.endsWith(`:${each}`));
}

/**
 * The answer to PreToolUse that forbids loading a skill which the caller has not chosen; undefined for any other call.
 *
 * Settings hide the skills that are known at the child's start, but not those that Claude Code finds later, in the
 * folders of files that it reads.
 */
export function unchosenSkill(
  chosen: readonly string[] | undefined,
  { tool_name: tool, tool_input: input }: JsonObject,
): JsonObject | undefined {
  if (chosen === undefined || tool !== SKILL_TOOL) return undefined;
  const name = asText(isJsonObject(input) ? input["skill"] : undefined).trim().replace(/^\//u, "");
  if (isChosen(name, chosen)) return undefined;
  return {
    hookSpecificOutput: {
      hookEventName: "PreToolUse",
      permissionDecision: "deny",
      permissionDecisionReason: `Skill ${name} is not in this session's skills allowlist`,
    },
  };
}
