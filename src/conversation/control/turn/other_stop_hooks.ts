import type { SessionState } from "../session_state.ts";
import { currentPrompt } from "./taking.ts";
import type { Entry } from "../../../claude/transcript/entry.ts";
import { isGoalTyped, pursuesAfter } from "../../../claude/transcript/special_entries.ts";

/**
 * Whether something beside our Stop hook may make the assistant go on: another one, or a goal, which is looked after by
 * one of Claude Code's own. Then Stop is the end only once the child is idle.
 */
export function hasOtherStopHooks(state: SessionState): boolean {
  return state.options.otherStopHooks || state.pursues ||
    isGoalTyped(currentPrompt(state)?.text ?? "");
}

/** Notes whether the session pursues a goal after some lines. */
export function withGoal(state: SessionState, entries: readonly Entry[]): SessionState {
  const pursues = entries.map(pursuesAfter).findLast((each) => each !== undefined);
  return pursues === undefined || pursues === state.pursues ? state : { ...state, pursues };
}
