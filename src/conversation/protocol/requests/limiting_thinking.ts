import type { ControlRequest } from "../../../claude/wire/control.ts";
import type { SessionState } from "../../control/session_state.ts";
import { act, type Step } from "../../control/step.ts";
import { changed, refuse, respond } from "../answering.ts";

/** Values of `thinking_display`. */
const DISPLAYS: readonly unknown[] = ["summarized", "omitted", "highlights", null];

/** Sets the limit of thinking and how thinking is printed; what the request does not name stays as it is. */
export function onSetThinking(state: SessionState, request: ControlRequest): Step {
  const { max_thinking_tokens: tokens, thinking_display: display } = request.body;
  // Claude Code takes any number below none for one, too (2.1.332).
  const isLimit = tokens === undefined || tokens === null || Number.isInteger(tokens);
  if (!isLimit || (display !== undefined && !DISPLAYS.includes(display))) {
    return act(state, [
      refuse(request, {
        error: "set_max_thinking_tokens: max_thinking_tokens must be an integer or null and " +
          'thinking_display must be "summarized", "omitted", "highlights", or null',
      }),
    ]);
  }
  return act(
    changed(state, {
      ...(tokens === undefined
        ? {}
        : { maxThinkingTokens: typeof tokens === "number" ? tokens : null }),
      ...(display !== undefined
        ? { thinkingDisplay: typeof display === "string" ? display : null }
        : {}),
    }),
    [respond(request)],
  );
}
