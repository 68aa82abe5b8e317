import { onStoppable } from "../turn/aborting.ts";
import { isFirstStop, onBackgroundStop, withWoken } from "../turn/background_stop.ts";
import { backgroundTasksOf } from "../turn/background_wait.ts";
import { decided } from "../control/answering.ts";
import { askWhenTold, onElicitation } from "../control/questions/asking.ts";
import { callOf } from "../control/questions/told_calls.ts";
import { unchosenSkill } from "../control/chosen_skills.ts";
import type { CallbackHook } from "../control/caller_options.ts";
import { isOutOfTries, owesOutput, REMINDER } from "../control/structured_output.ts";
import { began, isSubmitted, ready } from "../turn/beginning.ts";
import type { Answer, Effect } from "../effect.ts";
import { isFollowed, isNextTaken } from "../turn/child_queue.ts";
import { end, onSessionEnd, settledEnding } from "../turn/ending.ts";
import { handToChild, handTogether } from "../turn/handing_over.ts";
import { denial, STOP } from "../hook_answers.ts";
import { type HookPayload, type Input, isTurnFailure } from "../input.ts";
import { onToolsReturned, onToolUse } from "./on_budget.ts";
import { holdForServers } from "./on_servers.ts";
import { onAnnounced } from "./on_status.ts";
import { isTextOf } from "../message.ts";
import { isOverspent } from "../memory/spending_memory.ts";
import type { SessionState } from "../session_state.ts";
import { act, andThen, deadline, stay, type Step } from "../step.ts";
import { hasOtherStopHooks } from "../turn/other_stop_hooks.ts";
import { currentPrompt, take, takeFirst } from "../turn/taking.ts";
import { isNotification } from "../../transcript/task_notification.ts";
import {
  askTasks,
  intoNextTurn,
  isAwaitingStatus,
  overAtOnce,
  overTurn,
} from "../turn/turn_end.ts";
import { askPrice, overWhenPriced, untilSettled } from "../turn/waits.ts";
import { mayBeWoken } from "../turn/wakeup.ts";

/** A call of a hook of ours, as the input tells it. */
type HookCall = Extract<Input, { readonly type: "hook" }>;

/** A hook of ours runs: the turn is under way, or over. Whoever asks is answered, whatever becomes of the turn. */
export function onHook(
  state: SessionState,
  call: HookCall,
): Step {
  const { callback, payload, id, at } = call;
  if (callback !== undefined) {
    return onCallback(state, { payload, hookId: id, place: callback, at });
  }
  const next = answer(state, call);
  const { ranAt } = call;
  return next.state.phase === "settling" && ranAt !== undefined ? onAnnounced(next, ranAt) : next;
}

function answer(state: SessionState, call: HookCall): Step {
  const begun = isOfNextTurn(state, call) ? intoNextTurn(state) : undefined;
  if (begun !== undefined) {
    const next = answer(begun.state, call);
    return act(next.state, [...begun.effects, ...next.effects]);
  }
  const { event, payload, id, at } = call;
  if (id !== undefined && isHeld(state, event)) {
    const held = holdForServers(state, id);
    const next = takeHook(held.state, { event, payload, id });
    return act(next.state, [...next.effects, ...held.effects]);
  }
  if (event === "SessionEnd" && id !== undefined) return onSessionEnd(state, id);
  const unchosen = event === "PreToolUse" ? unchosenSkill(state, payload) : undefined;
  if (unchosen !== undefined && id !== undefined) {
    const next = takeHook(state, { event, payload, id });
    return act(next.state, [{ type: "answer", id, reply: unchosen }, ...next.effects]);
  }
  if (event === "PreToolUse" && id !== undefined && state.options.maxBudgetUsd !== undefined) {
    const next = takeHook(state, { event, payload, id });
    const waiting = onToolUse(next.state, { id, payload });
    return act(waiting.state, [...next.effects, ...waiting.effects]);
  }
  const returned = event === "PostToolBatch" ? onToolsReturned(state, payload) : state;
  const counted = ENDS_OF_REQUESTS.includes(event) ? countRequest(returned, payload) : returned;
  const owes = event === "Stop" && id !== undefined && owesOutput(state);
  const isLastRequest = event === "Stop" && id !== undefined && mayNotGoOn(counted) &&
    (owes || hasOtherStopHooks(state));
  if (owes && !isLastRequest) {
    const next = began({ ...takeFirst(counted), output: { ...state.output, reminded: true } });
    const reminder: Effect = { type: "answer", id, reply: REMINDER };
    return act(next.state, [reminder, { type: "trace", text: "reminded" }, ...next.effects]);
  }
  const limited = event === "PostToolBatch" ? limitReached(counted, payload) : undefined;
  const ending = isLastRequest ? { ...counted, atLimit: true } : counted;
  const taken = takeHook(ending, { event, payload, limited, id });
  if (id === undefined) return taken;
  const next = event === "Stop" ? withAllThatWaits(taken) : taken;
  if (event === "Stop") {
    // Other hooks of its kind may want the turn to go on.
    const reply = isLastRequest ? { reply: { ...owes ? REMINDER : {}, ...STOP } } : {};
    const stopHook: Answer = { type: "answer", id, ...reply };
    if (!goesOn(next.state)) return act(next.state, [stopHook, ...next.effects]);
    // A turn that is settling asks by itself.
    const asking = next.state.phase === "settling" ? [] : [overWhenPriced(), ...askPrice(state)];
    return act({ ...next.state, stopHook }, [...next.effects, ...asking]);
  }
  if (event === "Elicitation") {
    const asking = onElicitation(next.state, { hookId: id, payload, at });
    return act(asking.state, [...next.effects, ...asking.effects]);
  }
  if (event === "PermissionRequest" && state.options.caller?.permissions && mayAsk(next.state)) {
    const asking = askWhenTold(next.state, { asking: { hookId: id, payload }, at });
    return act(asking.state, [...next.effects, ...asking.effects]);
  }
  if (event === "PermissionRequest") {
    const { id: callId, hookAsks } = callOf(next.state, payload) ?? {};
    const { unattended } = state.options;
    const isOfHook = hookAsks !== undefined && !unattended;
    const reply = denial({ ...unattended ? { unattended } : {}, hookAsks });
    return act(next.state, [
      { type: "answer", id, reply },
      ...(isOfHook ? decided(callId, "unasked") : []),
      ...next.effects,
    ]);
  }
  const reply = limited === undefined ? undefined : STOP;
  const answered: Effect = { type: "answer", id, ...(reply === undefined ? {} : { reply }) };
  return act(next.state, [answered, ...next.effects]);
}

/** The child calls a hook of the caller's, which says nothing of the turn: ours of the same event does. */
function onCallback(
  state: SessionState,
  { payload, hookId, place, at }: {
    readonly payload: HookPayload;
    readonly hookId: string | undefined;
    readonly place: number;
    readonly at: number;
  },
): Step {
  if (hookId === undefined) return stay(state);
  const callback = state.options.caller?.callbacks[place];
  return callback === undefined || !mayAsk(state)
    ? act(state, [{ type: "answer", id: hookId }])
    : askWhenTold(withSubagent(state, { callback, payload }), {
      asking: { hookId, payload, callback },
      at,
    });
}

/** Notes of a subagent that it has begun: from then on its last words are waited for. */
function withSubagent(
  state: SessionState,
  { callback, payload }: { readonly callback: CallbackHook; readonly payload: HookPayload },
): SessionState {
  const { agent_id: agentId } = payload;
  return callback.event === "SubagentStart" && typeof agentId === "string"
    ? { ...state, silent: new Set([...state.silent, agentId]) }
    : state;
}

/** Whether anything that is answered now still matters. */
function mayAsk({ phase }: SessionState): boolean {
  return phase !== "ending" && phase !== "interrupting" && phase !== "aborting";
}

/** Whether the child goes on by itself after the Stop that was just heard, before what the turn cost is known. */
function goesOn(state: SessionState): boolean {
  const { options, phase, sent, background } = state;
  return options.conversation === true &&
    (phase === "settling"
      ? sent.length > 0 || isFollowed(state)
      : phase === "working" && background);
}

/**
 * Whether the child may have yet to connect to its MCP servers, or to note the tools of those that it has. Whether it is
 * ready or busy says nothing: on a busy machine its status is read before the hook.
 */
function isHeld(state: SessionState, event: string): boolean {
  const { ending, options, introduced, held, turns, prompted } = state;
  if (options.mcpServers === undefined || ending !== undefined || held !== undefined) return false;
  return options.holdsPrompt
    ? event === "UserPromptSubmit" && turns === 0 && !prompted
    : event === "SessionStart" && !introduced;
}

/**
 * The child has told what it is started with, for which a message may wait that it need not take, or whose own hook waits
 * for the servers.
 */
function introduced(before: SessionState): Step {
  const { state, effects } = ready({ ...before, introduced: true });
  const [waiting] = state.queue;
  const mayWait = state.phase === "resting" && waiting !== undefined &&
    (waiting.way === undefined || state.options.holdsPrompt === true);
  if (!mayWait) return act(state, effects);
  const next = handToChild(state);
  return act(next.state, [...effects, deadline("servers"), ...next.effects]);
}

/** A Stop that was just heard, with what could wait until then. */
function withAllThatWaits({ state, effects }: Step): Step {
  const next = handTogether(state);
  return act(next.state, [...effects, ...next.effects]);
}

/** What tells that a request was answered: its tools have returned, or it has called none. */
const ENDS_OF_REQUESTS = ["PostToolBatch", "Stop"];

/** Counts the requests of the turn; subagents make requests of their own. */
function countRequest(state: SessionState, payload: HookPayload): SessionState {
  return payload["agent_id"] === undefined ? { ...state, requests: state.requests + 1 } : state;
}

/**
 * The limit that forbids a further request after the tools of this one; a subagent's cost money too. That a tool is
 * refused ends no turn of 2.1.197, whatever its hook says: the model would be told of it.
 */
function limitReached(state: SessionState, payload: HookPayload): SessionState["limited"] {
  if (isOverspent(state)) return "budget";
  if (payload["agent_id"] !== undefined) return undefined;
  if (isOutOfTries(state)) return "output-tries";
  const { requests, options: { maxBudgetUsd, output, maxTurns } } = state;
  // The first recordings hold only the call at the limit, and not what the limit was.
  const isOld = maxBudgetUsd === undefined && output === undefined;
  // As `claude -p` does, whatever number it is.
  return requests + 1 > (maxTurns ?? (isOld ? 0 : Infinity)) ? "max-turns" : undefined;
}

/** Whether the turn has made as many requests as it may, so that no Stop hook can have it make another one. */
function mayNotGoOn({ requests, options: { maxTurns } }: SessionState): boolean {
  return maxTurns !== undefined && requests + 1 > maxTurns;
}

/** What a hook says of the turn; `limited` says why there may be no further request after the tools that it tells of. */
function takeHook(
  state: SessionState,
  { event, payload, limited, id }: Pick<HookCall, "event" | "payload"> & {
    readonly id: string | undefined;
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
    // No Stop follows it (2.1.168 to 2.1.330).
    return act(
      { ...takeFirst(state), phase: "settling", limited, priced: limited === "budget" },
      [trace, ...untilSettled(state)],
    );
  }
  switch (event) {
    case "Stop": {
      if (!isSubmitted(state)) return act(state, [trace]);
      if (state.phase === "resting") {
        // The first that is heard of a turn for which the model was woken.
        const begun = began(state);
        const next = takeHook(begun.state, { event, payload, id });
        return act(next.state, [...begun.effects, ...next.effects]);
      }
      const stop = withWoken(state, payload);
      if (backgroundTasksOf(stop).length > 0) {
        const next = onBackgroundStop(state, stop);
        return act(next.state, [trace, ...next.effects]);
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
    case "StopFailure":
      if (!isTurnFailure(event, payload)) return act(state, [trace]);
      return act(
        { ...takeFirst(state), phase: "settling", failure: payload, priced: false },
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
      // Any hook of the turn proves that it is under way; SessionStart comes before it.
      const next = event === "SessionStart" ? introduced(state) : began(state);
      return act(next.state, [trace, ...next.effects]);
    }
  }
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
  const isStopped = before.phase === "aborting" && (before.escapes > 0 || before.recorded);
  const over = settledEnding(before) ?? (isStopped ? { kind: "aborted" } as const : undefined);
  if (over === undefined || before.phase === "working") return prompted(taken);
  const ended = overTurn(before, over, { recorded: false });
  const next = prompted(take(ended.state, text) ?? ended.state);
  return act(next.state, [...ended.effects, ...next.effects]);
}

/** Whether a hook shows that the child has gone on by itself after the turn that settles, before its prompt is read. */
function isOfNextTurn(
  state: SessionState,
  { event, payload }: Pick<HookCall, "event" | "payload">,
): boolean {
  if (state.phase !== "settling") return false;
  if (event === "Stop") return isFirstStop(payload);
  if (isTurnFailure(event, payload)) return true;
  if (payload["agent_id"] !== undefined) return false;
  // Nothing follows the hook that stops a turn at its limit.
  return (event === "PostToolBatch" && state.limited === "max-turns") ||
    (OF_TURNS.includes(event) && isNextTaken(state));
}

/** Hooks that are called while a turn is under way. */
const OF_TURNS = ["PreToolUse", "PermissionRequest", "PostToolBatch"];

function prompted(state: SessionState): Step {
  const begun = { ...state, prompted: true, background: false, waits: false, completed: false };
  const next = andThen(began(begun), onStoppable);
  const further = handToChild(next.state);
  return act(further.state, [...next.effects, deadline("background"), ...further.effects]);
}
