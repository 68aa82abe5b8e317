import type { ControlRequest } from "../../../wire/control.ts";
import type { SessionState } from "../../session_state.ts";
import { act, type Step } from "../../step.ts";
import { changed, isNew, refuse, respond } from "../answering.ts";

/** How thinking may be told of; 2.1.197 takes no notice of it. */
const DISPLAYS: readonly unknown[] = ["summarized", "omitted", "highlights", null];

/** Since 2.1.330 a request that says nothing of a limit leaves that as it is. */
export function onSetThinking(state: SessionState, request: ControlRequest): Step {
  const { max_thinking_tokens: tokens, thinking_display: display } = request.body;
  // Claude Code takes any number below none for one, too (2.1.197 and 2.1.330).
  const isLimit = tokens === undefined || tokens === null || Number.isInteger(tokens);
  if (!isLimit || (isNew(state) && display !== undefined && !DISPLAYS.includes(display))) {
    return act(state, [
      refuse(request, {
        error: isNew(state)
          ? "set_max_thinking_tokens: max_thinking_tokens must be an integer or null and " +
            'thinking_display must be "summarized", "omitted", "highlights", or null'
          : "Cannot set max_thinking_tokens: it has to be a whole number, or null for no limit",
      }),
    ]);
  }
  const isKept = tokens === undefined && isNew(state);
  return act(
    changed(state, {
      ...(isKept ? {} : { maxThinkingTokens: typeof tokens === "number" ? tokens : null }),
      ...(isNew(state) && display !== undefined
        ? { thinkingDisplay: typeof display === "string" ? display : null }
        : {}),
    }),
    [respond(request)],
  );
}
