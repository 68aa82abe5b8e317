import { isLost, isStopped, sayAgain, stopAgain } from "./stop_turn.ts";
import { askRest, onTold } from "../protocol/questions/asking.ts";
import { onCallbacksDue } from "../protocol/questions/hook_callbacks.ts";
import { onMoved } from "../protocol/requests/backgrounding.ts";
import { onTaskDue } from "../protocol/requests/stopping.ts";
import { backgroundTasksOf } from "./background_wait.ts";
import { enterAgainUnlessAsked } from "./begin_turn.ts";
import { givenUp, hasOtherStopHooks, isFollowed } from "./follow_ups.ts";
import { announced, answerEndHook, end, interrupt, remind } from "./end_session.ts";
import { handToChild, isAtRest, renewEarly } from "./deliver.ts";
import { onPaid } from "./budget.ts";
import { releaseHeld } from "./await_servers.ts";
import { slashWord } from "./prompt/prompt_text.ts";
import type { DeadlineName } from "./input.ts";
import type { SessionState } from "./session_state.ts";
import { act, deadline, stay, type Step } from "./step.ts";
import { currentPrompt, takeFirst } from "./taken_prompts.ts";
import { onPriced, overInAnyCase, overTurn } from "./end_turn.ts";

/** Something took as long as it may. */
export function onDeadline(
  state: SessionState,
  { name, at }: { readonly name: DeadlineName; readonly at: number },
): Step {
  if (name === "exit") return state.phase === "ending" ? remind(state) : stay(state);
  if (state.phase === "ending") {
    return name === "record" ? answerEndHook(state, { inAnyCase: true }) : stay(state);
  }
  switch (name) {
    case "timeout":
      return interrupt(state, announced(state) ?? { kind: "timeout" });
    case "start":
      return end(state, { kind: "not-started", silent: state.heardAt === undefined });
    case "delivery":
      // The caller may have taken back what it was for.
      if (state.queue.length + state.sent.length === 0) return stay(state);
      return end(state, { kind: state.phase === "pasted" ? "undelivered" : "not-taken" });
    case "silence":
      return onSilence(state, at);
    case "interrupt":
      if (state.phase === "interrupting") return end(state, state.ending);
      if (state.phase !== "aborting") return stay(state);
      return isStopped(state) ? overTurn(takeFirst(state), { kind: "aborted" }) : stopAgain(state);
    case "look":
    case "echo":
      return act(state, [{ type: "look" }]);
    case "enter":
      return enterAgainUnlessAsked(state);
    case "rendezvous":
      return state.phase === "resting" && !state.reachable
        ? end(state, { kind: "unreachable" })
        : stay(state);
    case "renewal":
      return renewEarly(state);
    case "servers":
      return releaseHeld(state);
    case "idle":
      // A child that rests has no turn that could be over, also while it is waited for that the model is woken.
      if (state.background || state.phase === "resting") return stay(state);
      if (isLost(state)) return sayAgain(state);
      // The transcript knows of an end that no hook could tell, as when the FIFO is gone.
      if (state.completed) return overTurn(state, { kind: "answered", stop: {} });
      // A prompt that was never taken stays with the start deadline, unless it is a command of Claude Code's own; once a
      // turn is under way there is no such deadline any more.
      return state.prompted || state.phase === "working" || isCommand(state)
        ? overTurn({ ...state, taken: [...state.taken, ...state.sent], sent: [] }, {
          kind: "idle",
          prompted: state.prompted,
        })
        : stay(state);
    case "background": {
      const { background, backgroundStop: stop } = state;
      if (state.phase === "resting" && state.wakeup?.awaited) return end(state, { kind: "closed" });
      if (isFollowed(state)) {
        const { options: { drainTimeoutMs } } = state;
        return act(givenUp(state), [deadline("background", drainTimeoutMs)]);
      }
      return state.phase === "working" && background && stop !== undefined
        ? end(state, { kind: "answered", stop, unfinished: backgroundTasksOf(stop) })
        : stay(state);
    }
    case "foreground":
      return onMoved(state);
    case "task":
      return onTaskDue(state);
    case "drain":
      if (isAtRest(state)) return handToChild(givenUp(state));
      return isWaitedFor(state) || isAtHooks(state)
        ? act(state, [deadline("drain", state.options.drainTimeoutMs)])
        : overInAnyCase(state);
    case "cost":
      return onPriced(state);
    case "budget":
      return onPaid(state);
    case "told":
      return askRest(state, at);
    case "callback":
      return onCallbacksDue(state, at);
    // What was held back is told with it.
    case "init":
    case "subagent":
      return onTold(state, at);
    case "record":
    case "shells":
    case "compaction":
    case "priced":
    case "beat":
      return stay(state);
    default:
      return name satisfies never;
  }
}

/** A tool at work, or a task in the background, is not silence, however long it takes. */
function onSilence(state: SessionState, at: number): Step {
  const { idleTimeoutMs } = state.options;
  if (idleTimeoutMs === undefined) return stay(state);
  const busy = state.tools.size > 0 || state.background || state.phase === "resting" ||
    isWaitedFor(state);
  const quietMs = busy ? 0 : at - state.lifeAt;
  return quietMs < idleTimeoutMs
    ? act(state, [deadline("silence", idleTimeoutMs - quietMs)])
    : interrupt(state, announced(state) ?? { kind: "silent" });
}

/** Whether the child waits for the caller, who may be a person. */
function isWaitedFor({ asked, waiting }: SessionState): boolean {
  return asked.size + waiting.length > 0;
}

/** Whether other Stop hooks are still at work, as those that run a project's tests are: Claude Code itself limits their time. */
function isAtHooks(state: SessionState): boolean {
  return hasOtherStopHooks(state) && state.phase === "settling" && !state.completed &&
    state.status?.status === "busy";
}

/** Whether Claude Code may carry a prompt out by itself: 2.1.330 skips white space before the slash. */
function isCommand(state: SessionState): boolean {
  const prompt = currentPrompt(state);
  return prompt !== undefined && (prompt.way !== "rendezvous" || prompt.command !== undefined) &&
    slashWord(prompt.text) !== undefined;
}
