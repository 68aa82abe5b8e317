import { type ControlRequest, isEmpty } from "../../../wire/control.ts";
import type { SessionState } from "../../session_state.ts";
import { act, stay, type Step } from "../../step.ts";
import { isNew, refuse } from "../answering.ts";
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
      !isEmpty(request.body[name]) && !isWithoutEffect(before, name) &&
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

const NOTHING_LATER = [
  ...["systemPrompt", "appendSystemPrompt", "agents", "promptSuggestions"],
  // The answer says whether they are there.
  ...["plugins", "mcpServers"],
];

/** Whether a field of an initialization that does not come first is nothing to `claude -p` (2.1.197 and 2.1.330). */
function isWithoutEffect(state: SessionState, name: string): boolean {
  return NOTHING_LATER.includes(name) || name === (isNew(state) ? "jsonSchema" : "hooks");
}

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
