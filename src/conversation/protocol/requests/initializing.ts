import { type ControlRequest, isEmpty } from "../../../claude/wire/control.ts";
import type { SessionState } from "../../control/session_state.ts";
import { act, stay, type Step } from "../../control/step.ts";
import { refuse } from "../answering.ts";
import { consult, passedOn } from "./consulting.ts";

/**
 * What an initialization asks for has become a part of how the child was started, if it came before that; afterwards it
 * would be missing without a word.
 */
export function onInitialize(before: SessionState, request: ControlRequest): Step {
  const { initialized } = before.options.caller ?? {};
  const isFirst = initialized?.id === request.id;
  const missing = isFirst ? initialized.error : lateError(
    Object.keys(request.body).filter((name) =>
      !isEmpty(request.body[name]) && !NOTHING_LATER.includes(name) &&
      !isInForce(before, request, name)
    ),
  );
  const state = isFirst ? { ...before, inForce: request.body } : before;
  if (missing !== undefined) {
    return request.ahead ? stay(state) : act(state, [refuse(request, { error: missing })]);
  }
  const { foretold, ...others } = state;
  return foretold === undefined || initialized?.id !== request.id
    ? consult(state, request)
    : act(others, [passedOn(others, { request, said: foretold })]);
}

/** Fields that have no effect in `claude -p` unless the initialization comes first. */
const NOTHING_LATER = [
  ...["systemPrompt", "appendSystemPrompt", "agents", "promptSuggestions", "jsonSchema"],
  // The answer says whether they are there.
  ...["plugins", "mcpServers"],
];

/** Whether what a field asks for is what the first initialization has asked for: a caller may say all of it again. */
function isInForce(
  { inForce = {}, options: { caller } }: SessionState,
  { body }: ControlRequest,
  name: string,
): boolean {
  return caller?.initialized?.error === undefined && Object.hasOwn(inForce, name) &&
    JSON.stringify(inForce[name]) === JSON.stringify(body[name]);
}

function lateError(fields: readonly string[]): string | undefined {
  if (fields.length === 0) return undefined;
  const names = fields.map((name) => `"${name}"`).join(", ");
  return `claude-print can honour ${names} only in an initialize that comes first`;
}
