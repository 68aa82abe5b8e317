import type { StopSignal } from "../../wire/stop_signal.ts";
import { announced, clearedDeadlines, interrupt, kill } from "../ending.ts";
import type { SessionState } from "../session_state.ts";
import { act, stay, type Step } from "../step.ts";

/** Somebody asks this program to stop. */
export function onSignal(state: SessionState, signal: StopSignal): Step {
  switch (state.phase) {
    case "interrupting": {
      // A second signal means now.
      const ending = state.ending ?? { kind: "interrupted", signal };
      const killed = kill({ ...state, phase: "ending", ending }, "SIGKILL");
      return act(killed.state, [...clearedDeadlines(), ...killed.effects]);
    }
    case "ending":
      // Teardown after any other ending is bounded and goes on.
      return state.ending?.kind === "interrupted" ? kill(state, "SIGKILL") : stay(state);
    default:
      return interrupt(state, announced(state) ?? { kind: "interrupted", signal });
  }
}
