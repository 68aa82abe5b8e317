import { isAborted, isPromptLost, resendLostPrompts, retryAbort } from "./stop_turn.ts";
import { askRemaining, onLinesPrinted } from "../protocol/questions/ask_caller.ts";
import { onCallbacksDue } from "../protocol/questions/hook_callbacks.ts";
import { onForegroundDeadline, onTaskDeadline } from "../protocol/requests/background_calls.ts";
import { backgroundTasksOf } from "./background_wait.ts";
import { lookBeforeEnter } from "./begin_turn.ts";
import type { ControlStep } from "./control_step.ts";
import { forgetNotices, hasOtherStopHooks, isFollowed } from "./follow_ups.ts";
import { answerEndHook, endSession, remindChild } from "./end_session.ts";
import { deliverNext, isAtRest, renewEarly } from "./deliver.ts";
import { releaseTools } from "./budget.ts";
import { releaseFirstRequest } from "./await_servers.ts";
import { slashWord } from "./prompt/prompt_text.ts";
import { deadline } from "./effect.ts";
import type { DeadlineName } from "./input.ts";
import type { SessionState } from "./session_state.ts";
import { currentPrompt, takeFirst } from "./taken_prompts.ts";
import { endInAnyCase, endTurn, settleCost, stopChild } from "./end_turn.ts";

/** Handles an expired deadline. */
export function onDeadline(
  step: ControlStep,
  { name, at }: { readonly name: DeadlineName; readonly at: number },
): void {
  const { phase } = step.state;
  if (name === "exit") {
    if (phase === "ending") remindChild(step);
  } else if (phase === "ending") {
    if (name === "record") answerEndHook(step, { inAnyCase: true });
  } else {
    onOpenDeadline(step, { name, at });
  }
}

/** Handles an expired deadline of a session whose child has not been asked to exit. */
function onOpenDeadline(
  step: ControlStep,
  { name, at }: { readonly name: Exclude<DeadlineName, "exit">; readonly at: number },
): void {
  switch (name) {
    case "timeout":
      return stopChild(step, { kind: "timeout" });
    case "start":
      return endSession(step, {
        kind: "not-started",
        silent: step.state.firstOutputAt === undefined,
      });
    case "delivery":
      return onUndelivered(step);
    case "silence":
      return onSilence(step, at);
    case "interrupt":
      return onInterrupt(step);
    case "look":
    case "echo":
      return step.emit({ type: "look" });
    case "enter":
      return lookBeforeEnter(step);
    case "rendezvous":
      return onUnreachable(step);
    case "renewal":
      return renewEarly(step);
    case "servers":
      return releaseFirstRequest(step);
    case "idle":
      return onIdleForLong(step);
    case "background":
      return onBackgroundOver(step);
    case "foreground":
      return onForegroundDeadline(step);
    case "task":
      return onTaskDeadline(step);
    case "drain":
      return onUndrained(step);
    case "cost":
      return settleCost(step);
    case "budget":
      return releaseTools(step);
    case "told":
      return askRemaining(step, at);
    case "callback":
      return onCallbacksDue(step, at);
    // These inputs print the deferred lines.
    case "init":
    case "subagent":
      return onLinesPrinted(step, at);
    case "record":
    case "shells":
    case "compaction":
    case "priced":
    case "beat":
      return;
    default:
      return name satisfies never;
  }
}

/** Fails because the child has not taken a message in time, unless the caller has cancelled the message. */
function onUndelivered(step: ControlStep): void {
  const { phase, queue, sent } = step.state;
  if (queue.length + sent.length === 0) return;
  endSession(step, { kind: phase === "pasted" ? "undelivered" : "not-taken" });
}

function onUnreachable(step: ControlStep): void {
  const { phase, isReachable } = step.state;
  if (phase === "resting" && !isReachable) endSession(step, { kind: "unreachable" });
}

/** Continues after the time limit for Escape. */
function onInterrupt(step: ControlStep): void {
  const { phase, ending } = step.state;
  if (phase === "interrupting") {
    endSession(step, ending);
  } else if (phase === "aborting") {
    if (isAborted(step.state)) {
      takeFirst(step);
      endTurn(step, { kind: "aborted" });
    } else {
      retryAbort(step);
    }
  }
}

/** Ends a turn whose child has been idle for so long that no hook will announce the turn's end. */
function onIdleForLong(step: ControlStep): void {
  const { hasBackgroundTasks, phase, isComplete, isPromptKnown, taken, sent } = step.state;
  // A child that rests has no turn that could end, even while it waits for a wake-up.
  if (hasBackgroundTasks || phase === "resting") return;
  if (isPromptLost(step.state)) return resendLostPrompts(step);
  // The transcript shows an end that no hook could report, for example because the FIFO is missing.
  if (isComplete) return endTurn(step, { kind: "answered", stop: {} });
  // The start deadline, which ends when a turn begins, handles a prompt that was never taken. A command of Claude
  // Code's own may have no hook.
  if (!isPromptKnown && phase !== "working" && !isCommand(step.state)) return;
  step.update({ taken: [...taken, ...sent], sent: [] });
  endTurn(step, { kind: "idle", prompted: isPromptKnown });
}

/** Ends the wait for background tasks, or for a wake-up. */
function onBackgroundOver(step: ControlStep): void {
  const { phase, wakeup, hasBackgroundTasks, backgroundStop: stop, options } = step.state;
  if (phase === "resting" && wakeup?.awaited) {
    endSession(step, { kind: "closed" });
  } else if (isFollowed(step.state)) {
    forgetNotices(step);
    step.emit(deadline("background", options.drainTimeoutMs));
  } else if (phase === "working" && hasBackgroundTasks && stop !== undefined) {
    endSession(step, { kind: "answered", stop, unfinished: backgroundTasksOf(stop) });
  }
}

/**
 * The child was not idle in time. If it rests, sends the next message; if it waits for the caller or hooks, waits
 * again; otherwise ends it.
 */
function onUndrained(step: ControlStep): void {
  if (isAtRest(step.state)) {
    forgetNotices(step);
    deliverNext(step);
  } else if (awaitsCaller(step.state) || isAtHooks(step.state)) {
    step.emit(deadline("drain", step.state.options.drainTimeoutMs));
  } else {
    endInAnyCase(step);
  }
}

/** Ends a silent child. A running tool or background task does not count as silence, even if it takes long. */
function onSilence(step: ControlStep, at: number): void {
  const { options: { idleTimeoutMs }, tools, hasBackgroundTasks, phase, lifeAt } = step.state;
  if (idleTimeoutMs === undefined) return;
  const isBusy = tools.size > 0 || hasBackgroundTasks || phase === "resting" ||
    awaitsCaller(step.state);
  const quietMs = isBusy ? 0 : at - lifeAt;
  if (quietMs < idleTimeoutMs) step.emit(deadline("silence", idleTimeoutMs - quietMs));
  else stopChild(step, { kind: "silent" });
}

/** Whether the child waits for the caller, who may be a person. */
function awaitsCaller({ openQuestions, waitingQuestions }: SessionState): boolean {
  return openQuestions.size + waitingQuestions.length > 0;
}

/**
 * Whether other Stop hooks still run, for example hooks that run a project's tests. Claude Code itself limits their
 * time.
 */
function isAtHooks(state: SessionState): boolean {
  return hasOtherStopHooks(state) && state.phase === "settling" && !state.isComplete &&
    state.status?.status === "busy";
}

/** Whether Claude Code may carry a prompt out itself. 2.1.330 skips white space before the slash. */
function isCommand(state: SessionState): boolean {
  const prompt = currentPrompt(state);
  return prompt !== undefined && (prompt.way !== "rendezvous" || prompt.command !== undefined) &&
    slashWord(prompt.text) !== undefined;
}
