import { isWritten, onStoppable } from "./stop_turn.ts";
import { isFirstStop, onBackgroundStop, withWoken } from "./background_turns.ts";
import { backgroundTasksOf } from "./background_wait.ts";
import { began, isSubmitted, ready } from "./begin_turn.ts";
import type { Effect } from "./effect.ts";
import { end, settledEnding } from "./end_session.ts";
import { handToChild } from "./deliver.ts";
import { type HookPayload, isTurnFailure } from "./input.ts";
import { isTextOf } from "./message.ts";
import type { OpenSession, SessionState } from "./session_state.ts";
import { act, andThen, deadline, stay, type Step } from "./step.ts";
import { currentPrompt, take, takeFirst } from "./taken_prompts.ts";
import { isNotification } from "../../claude/transcript/task_notification.ts";
import { askTasks, intoNextTurn, isAwaitingStatus, overAtOnce, overTurn } from "./end_turn.ts";
import { askPrice, untilSettled } from "./wait_times.ts";
import { mayBeWoken } from "./follow_ups.ts";

/** What a hook says of the turn; `limited` says why there may be no further request after the tools that it tells of. */
export function takeHook(
  state: SessionState,
  { event, payload, limited, id }: {
    readonly event: string;
    readonly payload: HookPayload;
    readonly id?: string | undefined;
    readonly limited?: SessionState["limited"];
  },
): Step {
  if (state.phase === "ending") return stay(state);
  if (state.phase === "interrupting") {
    // The turn was over before Escape arrived, or because of it.
    const isOver = event === "Stop" || isTurnFailure(event, payload);
    return isOver ? end(state, state.ending) : stay(state);
  }
  if (state.ending !== undefined) return stay(state);
  const trace: Effect = { type: "trace", text: `hook ${event}` };
  if (limited !== undefined) {
    // No Stop follows it (2.1.330).
    return act(
      {
        ...takeFirst(state),
        phase: "settling",
        // The Stop that another hook blocked before is no end any more.
        stop: undefined,
        limited,
        priced: limited === "budget",
      },
      [trace, ...untilSettled(state)],
    );
  }
  switch (event) {
    case "Stop":
      return takeStop(state, { payload, id });
    case "StopFailure":
      if (!isTurnFailure(event, payload)) return act(state, [trace]);
      return act(
        {
          ...takeFirst(state),
          phase: "settling",
          stop: undefined,
          failure: payload,
          priced: false,
        },
        [trace, ...untilSettled(state)],
      );
    // What the model says may be told when its turn is over already.
    case "MessageDisplay":
      return stay(state);
    case "UserPromptSubmit": {
      const text = payload["prompt"];
      const next = takePrompt(state, text);
      return act(next.state, [trace, ...next.effects]);
    }
    default: {
      // A subagent in the background goes on when the turn that launched it is over.
      const isOver = state.phase === "settling" || state.phase === "resting";
      if (isOver && payload["agent_id"] !== undefined) return act(state, [trace]);
      // Any other hook of the turn proves that it is under way; SessionStart comes before it.
      const next = event === "SessionStart" ? introduced(state) : began(state);
      return act(next.state, [trace, ...next.effects]);
    }
  }
}

/** The assistant is done, unless its tasks in the background go on. */
function takeStop(
  state: OpenSession,
  { payload, id }: { readonly payload: HookPayload; readonly id: string | undefined },
): Step {
  const trace: Effect = { type: "trace", text: "hook Stop" };
  if (!isSubmitted(state)) return act(state, [trace]);
  if (state.phase === "resting") {
    // The first that is heard of a turn for which the model was woken.
    return andThen(began(state), (state) => takeHook(state, { event: "Stop", payload, id }));
  }
  const stop = withWoken(state, payload);
  if (backgroundTasksOf(stop).length > 0) {
    return andThen(act(state, [trace]), (state) => onBackgroundStop(state, stop));
  }
  const settling: SessionState = {
    ...takeFirst(state),
    phase: "settling",
    stop: payload,
    isStopAsking: id !== undefined,
    background: false,
    priced: false,
    late: state.late || (state.unasked && isFirstStop(payload)),
  };
  const over = overAtOnce(settling);
  return over === undefined
    ? act(settling, [
      trace,
      ...untilSettled(settling),
      ...(isAwaitingStatus(settling) ? askPrice(state) : []),
      ...askTasks(settling),
    ])
    : act(over.state, [trace, ...over.effects]);
}

/**
 * The child has told what it is started with, for which a message may wait that it need not take.
 */
function introduced(before: SessionState): Step {
  const { state, effects: begun } = ready({ ...before, introduced: true });
  // A message waits until the child's status is idle. Without a status file nothing else would end that wait.
  const effects = state.options.conversation === true && state.phase === "starting"
    ? [...begun, deadline("start", state.options.startTimeoutMs)]
    : begun;
  const [waiting] = state.queue;
  const mayWait = state.phase === "resting" && waiting !== undefined && waiting.way === undefined;
  if (!mayWait) return act(state, effects);
  const next = handToChild(state);
  return act(next.state, [...effects, deadline("servers"), ...next.effects]);
}

/** The child takes a prompt: one of ours, or one that tells the model of a task that ended in the background. */
function takePrompt(before: SessionState, text: unknown): Step {
  const taken = take(before, text);
  if (taken === undefined) {
    // The child goes on with the end of a task, or wakes the model, which makes a turn of its own.
    // Where its time was there as soon as the turn was over, the lines that tell of it may be read later.
    const noticed = isNotification(text);
    const isDue = (before.wakeup !== undefined || mayBeWoken(before)) && !noticed;
    const begun = isDue || noticed ? intoNextTurn(before, { woken: isDue, noticed }) : undefined;
    if (begun !== undefined) {
      const next = prompted(begun.state);
      return act(next.state, [...begun.effects, ...next.effects]);
    }
    const current = currentPrompt(before);
    // A line may have told of it before.
    const woken = isDue || (before.woken && !noticed);
    // What is sent as the model is woken is on its way, and still to be taken.
    const isForeign = !woken && !before.prompted && current !== undefined &&
      typeof text === "string" &&
      !isTextOf(current, text) && !noticed;
    return isForeign
      ? end(before, { kind: "undelivered", taken: text })
      : prompted({ ...before, woken, noticed: before.noticed || noticed });
  }
  // The child goes on with what it has in its queue by itself; a turn for which it is waited takes its own prompts first.
  // A command may be stopped before its own hook is heard.
  const isStopped = before.phase === "aborting" && before.prompted &&
    (before.escapes > 0 || isWritten(before));
  const over = settledEnding(before) ?? (isStopped ? { kind: "aborted" } as const : undefined);
  if (over === undefined) return prompted(taken);
  const ended = overTurn(before, over, { recorded: before.summed });
  const next = prompted(take(ended.state, text) ?? ended.state);
  return act(next.state, [...ended.effects, ...next.effects]);
}

function prompted(state: SessionState): Step {
  const begun = { ...state, prompted: true, background: false, waits: false, completed: false };
  const next = andThen(began(begun), onStoppable);
  const further = handToChild(next.state);
  return act(further.state, [...next.effects, deadline("background"), ...further.effects]);
}
