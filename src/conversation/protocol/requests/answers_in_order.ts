import type { Effect } from "../../control/effect.ts";
import type { Input } from "../../control/input.ts";
import type { SessionState } from "../../control/session_state.ts";
import type { Step } from "../../control/step.ts";
import type { ControlRequest } from "../../../claude/wire/control.ts";

/**
 * Holds back what answers a request until the initialization before it has been answered, as `claude -p` does nothing
 * else until then (2.1.330): callers take the first answer for that of the initialization. What requests ask
 * for is done at once.
 *
 * @param options.before the session before the input
 */
export function answersInOrder(
  step: Step,
  { before, input }: { readonly before: SessionState; readonly input: Input },
): Step {
  const { state, effects } = step;
  const { heldAnswers = [] } = state;
  // As nearly always: most inputs are lines and bytes.
  if (before.consulted.size + heldAnswers.length === 0) return step;
  const isPending = (id: string) =>
    state.ending === undefined && isInitialization(state.consulted.get(id));
  const behind = initializationBefore(before, input);
  const isHeld = behind !== undefined && isPending(behind);
  const held = [
    ...heldAnswers.filter((each) => isPending(each.behind)),
    ...(isHeld ? effects.filter(isAnswer).map((answer) => ({ behind, answer })) : []),
  ];
  if (held.length + heldAnswers.length === 0) return step;
  const { heldAnswers: _, ...others } = state;
  return {
    state: held.length === 0 ? others : { ...others, heldAnswers: held },
    effects: [
      ...effects.filter((effect) => !isHeld || !isAnswer(effect)),
      ...heldAnswers.filter((each) => !isPending(each.behind)).map(({ answer }) => answer),
    ],
  };
}

/** The last initialization that is not answered yet and that was asked for before what is answered now. */
function initializationBefore({ consulted }: SessionState, input: Input): string | undefined {
  const ids = [...consulted.keys()];
  const place = input.type === "consulted" ? ids.indexOf(input.id) : ids.length;
  return ids.slice(0, Math.max(place, 0)).findLast((id) => isInitialization(consulted.get(id)));
}

/** Whether an initialization is still to be answered. */
export function isInitializing({ consulted, ending }: SessionState): boolean {
  return ending === undefined &&
    [...consulted.values()].some(isInitialization);
}

/** Whether a request is the caller's own to initialize, not one that was asked before it, and is not answered yet. */
function isInitialization(request: ControlRequest | undefined): boolean {
  return request?.subtype === "initialize" && !request.ahead && !request.isAnswered;
}

function isAnswer({ type }: Effect): boolean {
  return type === "respond";
}
