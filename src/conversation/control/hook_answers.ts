import { DEFERRED_RESULT, TURN_LIMIT_REASON } from "../../claude/transcript/special_entries.ts";
import type { HookPayload } from "./input.ts";

/** What the model is told instead where a hook that has not said why wants somebody to be asked, as by `claude -p`. */
export function confirmationAsked(tool: string): string {
  return `Hook PreToolUse:${tool} asked for confirmation for this tool`;
}

/** The answer to PreToolUse that has a call asked about, whatever the mode of the child allows. */
export const ASKING: HookPayload = {
  hookSpecificOutput: {
    hookEventName: "PreToolUse",
    permissionDecision: "ask",
    permissionDecisionReason: "The permission mode has changed",
  },
};

/** How the denial of a call begins that needs a permission in the mode "dontAsk". */
export function dontAskWords(tool: string): string {
  return `Permission to use ${tool} has been denied because Claude Code is running in don't ask mode.`;
}

/** The answer to PermissionRequest that refuses, with what the model is told. */
export function denial(message: string): HookPayload {
  return {
    hookSpecificOutput: {
      hookEventName: "PermissionRequest",
      decision: { behavior: "deny", message },
    },
  };
}

/** The answer to PreToolUse once the budget is used up: the tool does not run, and nothing more is asked. */
export const OVERSPENT: HookPayload = {
  continue: false,
  stopReason: "The budget is used up",
  hookSpecificOutput: {
    hookEventName: "PreToolUse",
    permissionDecision: "deny",
    permissionDecisionReason: "The budget is used up",
  },
};

/**
 * The answer to PostToolBatch that ends the turn; to Stop, the one after which no other hook has it go on: what that one
 * says is written down, and nothing is asked (2.1.330).
 */
export const STOP: HookPayload = { continue: false, stopReason: TURN_LIMIT_REASON };

/**
 * The answer to PreToolUse that puts a call off: the interactive Claude Code (2.1.330) takes no notice of
 * `defer` and carries the call out, where `claude -p` ends the turn with it.
 */
export const DEFERRAL: HookPayload = {
  continue: false,
  stopReason: DEFERRED_RESULT,
  hookSpecificOutput: {
    hookEventName: "PreToolUse",
    permissionDecision: "deny",
    permissionDecisionReason: DEFERRED_RESULT,
  },
};
