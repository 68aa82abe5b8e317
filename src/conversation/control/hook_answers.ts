import { DEFERRED_RESULT, TURN_LIMIT_REASON } from "../../claude/transcript/special_entries.ts";
import type { HookPayload } from "./input.ts";

/** The denial if a hook requires a question to the user and gives no reason, in the words of `claude -p`. */
export function confirmationAsked(tool: string): string {
  return `Hook PreToolUse:${tool} asked for confirmation for this tool`;
}

/** The answer to PreToolUse that requires a permission in every mode. */
export const ASKING: HookPayload = {
  hookSpecificOutput: {
    hookEventName: "PreToolUse",
    permissionDecision: "ask",
    permissionDecisionReason: "The permission mode has changed",
  },
};

/** The beginning of the denial of a call that needs a permission in the mode "dontAsk". */
export function dontAskWords(tool: string): string {
  return `Permission to use ${tool} has been denied because Claude Code is running in don't ask mode.`;
}

/** The answer to PermissionRequest that denies a call, with a message for the model. */
export function denial(message: string): HookPayload {
  return {
    hookSpecificOutput: {
      hookEventName: "PermissionRequest",
      decision: { behavior: "deny", message },
    },
  };
}

/**
 * The answer to PreToolUse once the budget is used up: the tool does not run, and the model receives no further
 * request.
 */
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
 * The answer to PostToolBatch and Stop that ends the turn. After it no other Stop hook continues the turn: its text is written
 * to the transcript, and no API request follows (2.1.330).
 */
export const STOP: HookPayload = { continue: false, stopReason: TURN_LIMIT_REASON };

/**
 * The answer to PreToolUse that defers a call. The interactive Claude Code (2.1.330) ignores `defer` and carries the
 * call out; `claude -p` ends the turn at the call.
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
