import { type LateTerms, limitsOf } from "../late_terms.ts";
import type { SessionState } from "../session_state.ts";
import { act, deadline, type Step } from "../step.ts";

/** The caller comes: the session goes on by its terms, before anything has been said in it. */
export function onTerms(
  state: SessionState,
  { terms, at }: { readonly terms: LateTerms; readonly at: number },
): Step {
  const { idleTimeoutMs: _, caller, ...options } = state.options;
  const { initializedBy: id } = terms;
  const initialized = id === undefined || caller === undefined
    ? caller
    : { ...caller, initialized: { ...caller.initialized, id } };
  const { idleTimeoutMs } = terms;
  return act({
    ...state,
    lifeAt: at,
    options: {
      ...options,
      ...limitsOf(terms),
      ...(initialized === undefined ? {} : { caller: initialized }),
    },
  }, [deadline("silence", idleTimeoutMs)]);
}
