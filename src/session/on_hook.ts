import { backgroundTasksOf } from "./background_wait.ts";
import { began, isSubmitted, ready } from "./beginning.ts";
import type { Effect, Ending } from "./effect.ts";
import { end } from "./ending.ts";
import type { HookPayload } from "./input.ts";
import type { SessionState } from "./session_state.ts";
import { act, deadline, stay, type Step } from "./step.ts";
import { overWhenSettled } from "./waits.ts";

/** A hook of ours ran: the turn is under way, or over. */
export function onHook(state: SessionState, event: string, payload: HookPayload): Step {
  if (state.phase === "ending") return stay(state);
  if (state.phase === "interrupting") {
    // The turn was over before Escape arrived, or because of it.
    return event === "Stop" || event === "StopFailure"
      ? end(state, state.ending as Ending)
      : stay(state);
  }
  const trace: Effect = { type: "trace", text: `hook ${event}` };
  switch (event) {
    case "Stop": {
      if (!isSubmitted(state)) return act(state, [trace]);
      // With tasks in the background another turn follows, and another Stop.
      if (backgroundTasksOf(payload).length > 0) {
        const working = began({ ...state, background: true, backgroundStop: payload });
        return act(working.state, [trace, ...working.effects]);
      }
      return act(
        { ...state, phase: "settling", stop: payload, background: false },
        settle(state, trace),
      );
    }
    case "StopFailure":
      return act({ ...state, phase: "settling", failure: payload }, settle(state, trace));
    case "PostToolBatch":
      // Only the call that stops the turn is announced, and no Stop follows it.
      return act({ ...state, phase: "settling", limited: true }, settle(state, trace));
    case "UserPromptSubmit": {
      const taken = payload["prompt"];
      // Later ones announce tasks that ended in the background.
      if (!state.prompted && typeof taken === "string" && taken !== state.options.prompt) {
        const ended = end(state, { kind: "undelivered", taken });
        return act(ended.state, [trace, ...ended.effects]);
      }
      const next = began({ ...state, prompted: true, background: false, completed: false });
      return act(next.state, [trace, ...next.effects]);
    }
    default: {
      // Any hook of the turn proves that it is under way; SessionStart comes before it.
      const next = event === "SessionStart" ? ready(state) : began(state);
      return act(next.state, [trace, ...next.effects]);
    }
  }
}

/** What is waited for once a hook has announced the end. */
function settle(state: SessionState, trace: Effect): readonly Effect[] {
  return [
    trace,
    deadline("start"),
    deadline("delivery"),
    deadline("look"),
    deadline("idle"),
    // Another Stop hook may make the child go on.
    state.options.otherStopHooks
      ? deadline("drain", state.options.drainTimeoutMs)
      : overWhenSettled(state.options),
  ];
}
