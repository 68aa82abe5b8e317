import type { ControlRequest } from "../../../claude/wire/control.ts";
import type { Effect } from "../../control/effect.ts";
import type { SessionState } from "../../control/session_state.ts";
import { act, deadline, stay, type Step } from "../../control/step.ts";
import { refuse, respond } from "../answering.ts";

/** Ctrl+B, which puts all calls at work into the background that can go there. */
const TO_BACKGROUND: Effect = { type: "write", bytes: new Uint8Array([2]) };

/**
 * Claude Code heeds the key only once it has told a person of it, some 2 s after a call's start (2.1.330):
 * how long a call may take to be there in the background before the key is pressed again, and how often it is pressed.
 */
const AGAIN_MS = 300;
const MOST_PRESSES = 20;

/** Puts calls of tools into the background: all, or the one that is named, if it is the only one. */
export function onBackground(state: SessionState, request: ControlRequest): Step {
  const id = request.body["tool_use_id"] ?? undefined;
  if (id !== undefined && typeof id !== "string") {
    return act(state, [
      refuse(request, { error: "background_tasks: tool_use_id must be a string" }),
    ]);
  }
  const isAtWork = id === undefined ? state.tools.size > 0 : state.tools.has(id);
  const answer = respond(request, { response: id === undefined ? {} : { backgrounded: isAtWork } });
  if (!isAtWork || state.phase !== "working") return act(state, [answer]);
  if (id !== undefined && state.tools.size > 1) {
    return act(state, [
      refuse(request, {
        error: "claude-print can put only all calls into the background at once, " +
          `and more than "${id}" are at work`,
      }),
    ]);
  }
  const pressed = press({ ...state, moving: { calls: new Set(state.tools.keys()), presses: 0 } });
  return act(pressed.state, [answer, ...pressed.effects]);
}

/** Some calls have had their time to be in the background: what of them still is not is told so once more. */
export function onMoved(state: SessionState): Step {
  const { moving, ...rest } = state;
  const atWork = [...state.tools.keys()];
  // A call that has begun since was not meant.
  const isOver = moving === undefined || state.phase !== "working" || atWork.length === 0 ||
    moving.presses >= MOST_PRESSES || !atWork.every((id) => moving.calls.has(id));
  return isOver ? stay(rest) : press(state);
}

function press(state: SessionState): Step {
  const { moving } = state;
  if (moving === undefined) return stay(state);
  return act({ ...state, moving: { ...moving, presses: moving.presses + 1 } }, [
    TO_BACKGROUND,
    deadline("foreground", AGAIN_MS),
  ]);
}
