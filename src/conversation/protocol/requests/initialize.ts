import { type ControlRequest, isEmpty } from "../../../claude/wire/control.ts";
import type { ControlStep } from "../../control/control_step.ts";
import type { Effect } from "../../control/effect.ts";
import type { Input } from "../../control/input.ts";
import type { SessionState } from "../../control/session_state.ts";
import { refuse } from "../answers.ts";
import { askHelper, initializeResponse } from "./ask_helper.ts";

/**
 * Answers an `initialize` request. The first one is already part of the child's start. A later one with other fields is
 * refused, because they would have no effect.
 */
export function onInitialize(step: ControlStep, request: ControlRequest): void {
  const { initialized } = step.state.options.caller ?? {};
  const isFirst = initialized?.id === request.id;
  const error = isFirst ? initialized.error : lateFieldsError(step.state, request);
  if (isFirst) step.update({ initialization: request.body });
  if (error !== undefined) {
    if (!request.ahead) step.emit(refuse(request, { error }));
    return;
  }
  const { earlyInitialization } = step.state;
  if (earlyInitialization === undefined || !isFirst) {
    askHelper(step, request);
    return;
  }
  step.update({ earlyInitialization: undefined });
  step.emit(initializeResponse(step.state, { request, answer: earlyInitialization }));
}

/** Fields that also have no effect in `claude -p`, unless the initialization comes first. */
const WITHOUT_EFFECT_LATER = [
  ...["systemPrompt", "appendSystemPrompt", "agents", "promptSuggestions", "jsonSchema"],
  // The answer reports whether they exist.
  ...["plugins", "mcpServers"],
];

/** Returns the error for fields of a later `initialize`; undefined if it is valid. */
function lateFieldsError(state: SessionState, request: ControlRequest): string | undefined {
  const late = Object.keys(request.body).filter((name) =>
    !isEmpty(request.body[name]) && !WITHOUT_EFFECT_LATER.includes(name) &&
    !isInForce(state, request, name)
  );
  if (late.length === 0) return undefined;
  const names = late.map((name) => `"${name}"`).join(", ");
  return `claude-print can honour ${names} only in an initialize that comes first`;
}

/** Whether the first initialization has requested the same. A caller may repeat all of its fields. */
function isInForce(
  { initialization = {}, options: { caller } }: SessionState,
  { body }: ControlRequest,
  name: string,
): boolean {
  return caller?.initialized?.error === undefined && Object.hasOwn(initialization, name) &&
    JSON.stringify(initialization[name]) === JSON.stringify(body[name]);
}

/**
 * Emits the effects of an input. Answers to requests that came after an initialization are deferred until the
 * initialization has been answered, because callers read the first answer as that of the initialization, and `claude
 * -p` does nothing else until then (2.1.330). The requests themselves are carried out immediately.
 *
 * @param options.before the state before the input
 */
export function emitAfterInitialization(
  step: ControlStep,
  { effects, before, input }: {
    readonly effects: readonly Effect[];
    readonly before: SessionState;
    readonly input: Input;
  },
): void {
  const { consultedRequests, ending, deferredAnswers: deferredBefore } = step.state;
  // Most inputs are lines and bytes, which come while no request is pending.
  if (before.consultedRequests.size + deferredBefore.length === 0) {
    step.emit(...effects);
    return;
  }
  const isPending = (id: string) =>
    ending === undefined && isInitialization(consultedRequests.get(id));
  const initialization = initializationBefore(before, input);
  const defers = initialization !== undefined && isPending(initialization);
  const deferred = deferredBefore.filter((each) => isPending(each.initialization));
  const due = deferredBefore.filter((each) => !isPending(each.initialization));
  for (const effect of effects) {
    if (defers && effect.type === "respond") deferred.push({ initialization, answer: effect });
    else step.emit(effect);
  }
  step.update({ deferredAnswers: deferred });
  step.emit(...due.map(({ answer }) => answer));
}

/** The id of the last unanswered initialization that came before the request that is answered now. */
function initializationBefore(
  { consultedRequests }: SessionState,
  input: Input,
): string | undefined {
  const ids = [...consultedRequests.keys()];
  const place = input.type === "consulted" ? ids.indexOf(input.id) : ids.length;
  return ids.slice(0, Math.max(place, 0)).findLast((id) =>
    isInitialization(consultedRequests.get(id))
  );
}

/** Whether an initialization is unanswered. */
export function isInitializing({ consultedRequests, ending }: SessionState): boolean {
  return ending === undefined && [...consultedRequests.values()].some(isInitialization);
}

/** Whether a request is an unanswered initialization that the caller itself has sent. */
function isInitialization(request: ControlRequest | undefined): boolean {
  return request?.subtype === "initialize" && !request.ahead && !request.isAnswered;
}
