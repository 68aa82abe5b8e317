import type { HookPayload } from "../control/input.ts";
import type { SessionState } from "../control/session_state.ts";
import { asText, isJsonObject } from "../../json_object.ts";

/** The tool with which the model loads a skill. */
export const SKILL_TOOL = "Skill";

/**
 * Whether a skill is among those that the caller has chosen: a name stands for the one that is called so, and for those of
 * plugins behind whose own name it stands (2.1.330).
 */
export function isChosen(name: string, chosen: readonly string[]): boolean {
  return chosen.some((each) => name === each || name.endsWith(`:${each}`));
}

/**
 * The answer to PreToolUse by which the model does not load a skill that the caller has not chosen; undefined for any other
 * call. Settings hide the skills that are known at the child's start, not those that Claude Code finds later below the
 * folders of files that it reads.
 */
export function unchosenSkill(
  { options: { skills } }: Pick<SessionState, "options">,
  { tool_name: tool, tool_input: input }: HookPayload,
): HookPayload | undefined {
  if (skills === undefined || tool !== SKILL_TOOL) return undefined;
  const name = asText(isJsonObject(input) ? input["skill"] : undefined).trim().replace(/^\//u, "");
  if (isChosen(name, skills)) return undefined;
  return {
    hookSpecificOutput: {
      hookEventName: "PreToolUse",
      permissionDecision: "deny",
      permissionDecisionReason: `Skill ${name} is not in this session's skills allowlist`,
    },
  };
}
