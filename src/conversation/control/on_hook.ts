import { isFirstStop } from "./background_turns.ts";
import { decided, veto } from "../protocol/answering.ts";
import { askWhenTold, onElicitation } from "../protocol/questions/asking.ts";
import { callOf } from "../protocol/questions/told_calls.ts";
import { unchosenSkill } from "../protocol/chosen_skills.ts";
import type { CallbackHook } from "../protocol/caller_options.ts";
import { isOutOfTries, owesOutput, REMINDER } from "../protocol/structured_output.ts";
import { isWritten } from "./stop_turn.ts";
import { began } from "./begin_turn.ts";
import type { Answer } from "./effect.ts";
import { hasOtherStopHooks, isFollowed, isNextTaken, mayBeWoken } from "./follow_ups.ts";
import { onSessionEnd } from "./end_session.ts";
import { handTogether } from "./deliver.ts";
import { ASKING, denial, dontAskWords, STOP } from "./hook_answers.ts";
import { type HookPayload, type Input, isTurnFailure } from "./input.ts";
import { onToolsReturned, onToolUse } from "./budget.ts";
import { holdForServers } from "./await_servers.ts";
import { takeHook } from "./turn_hooks.ts";
import { onAnnounced } from "./on_status.ts";
import { isOverspent, type SessionState } from "./session_state.ts";
import { act, andThen, stay, type Step } from "./step.ts";
import { takeFirst } from "./taken_prompts.ts";
import { intoNextTurn } from "./end_turn.ts";
import { askPrice, overWhenPriced } from "./wait_times.ts";
import { isJsonObject } from "../../json_object.ts";
import { mayForbid } from "../../claude/settings/may_forbid.ts";
import { denialWords } from "../../claude/transcript/permission_denials.ts";

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
  const isAnnounced = next.state.phase === "settling" &&
    (state.phase !== "settling" || announcesTurnEnd(call));
  return isAnnounced && ranAt !== undefined ? onAnnounced(next, ranAt) : next;
}

/** Whether a hook announces the end of the turn itself, not of a subagent. */
function announcesTurnEnd({ event, payload }: HookCall): boolean {
  return ENDS_OF_TURNS.includes(event) && payload["agent_id"] === undefined;
}

function answer(state: SessionState, call: HookCall): Step {
  const begun = isOfNextTurn(state, call)
    ? intoNextTurn(state, { noticed: isNextTaken(state) })
    : undefined;
  if (begun !== undefined) return andThen(begun, (state) => answer(state, call));
  const { event, id } = call;
  if (id === undefined) return takeCounted(state, call);
  const asking = { ...call, id };
  if (isHeld(state, event)) {
    const held = holdForServers(state, id);
    const next = takeHook(held.state, call);
    return act(next.state, [...next.effects, ...held.effects]);
  }
  switch (event) {
    case "PreToolUse":
      return onPreToolUse(state, asking);
    case "PostToolBatch":
      return onPostToolBatch(state, asking);
    case "PermissionRequest":
      return onPermissionRequest(state, asking);
    case "Elicitation":
      return andThen(
        takeHook(state, call),
        (state) => onElicitation(state, { ...asking, hookId: id }),
      );
    case "Stop":
      return onStop(state, asking);
    case "SessionEnd":
      return onSessionEnd(state, id);
    default:
      return answered(takeHook(state, call), id);
  }
}

/** A call of a hook that waits for an answer. */
type AskingHook = HookCall & { readonly id: string };

/** Answers a hook before anything else is done because of it; without a reply there is nothing to say to it. */
function answered({ state, effects }: Step, id: string, reply?: HookPayload): Step {
  return act(state, [
    { type: "answer", id, ...(reply === undefined ? {} : { reply }) },
    ...effects,
  ]);
}

/** A call of a tool: some are refused, some wait for the price of the answer that makes them. */
function onPreToolUse(state: SessionState, call: AskingHook): Step {
  const { payload, id } = call;
  const unchosen = unchosenSkill(state, payload);
  const next = takeHook(state, call);
  return unchosen === undefined && state.options.maxBudgetUsd !== undefined
    ? andThen(next, (state) => onToolUse(state, { id, payload }))
    : answered(next, id, unchosen ?? (isTightened(state) ? ASKING : undefined));
}

/** Whether the caller has chosen a mode that may ask about a call which the child would carry out in its own. */
function isTightened({ options, changes, appliedMode }: SessionState): boolean {
  const chosen = changes?.permissionMode;
  return options.loose === true && chosen !== undefined && chosen !== appliedMode &&
    chosen !== "bypassPermissions";
}

/** The tools of an answer have returned: a request more has been made, and perhaps as many as there may be. */
function onPostToolBatch(state: SessionState, call: AskingHook): Step {
  const counted = countRequest(onToolsReturned(state, call.payload), call.payload);
  const limited = limitReached(counted, call.payload);
  const next = takeHook(counted, { ...call, limited });
  return answered(next, call.id, limited === undefined ? undefined : STOP);
}

/** A hook of which nothing is told but that it runs. */
function takeCounted(state: SessionState, call: HookCall): Step {
  const { event, payload } = call;
  const returned = event === "PostToolBatch" ? onToolsReturned(state, payload) : state;
  const counted = ENDS_OF_REQUESTS.includes(event) ? countRequest(returned, payload) : returned;
  const limited = event === "PostToolBatch" ? limitReached(counted, payload) : undefined;
  return takeHook(counted, { ...call, limited });
}

/** The turn is over as far as the assistant goes, which may have to give a structured answer first. */
function onStop(state: SessionState, call: AskingHook): Step {
  const { id } = call;
  const counted = countRequest(state, call.payload);
  const owes = owesOutput(state);
  const isLastRequest = mayNotGoOn(counted) && (owes || hasOtherStopHooks(state));
  if (owes && !isLastRequest) {
    const next = began({ ...takeFirst(counted), output: { ...state.output, reminded: true } });
    return answered(
      act(next.state, [{ type: "trace", text: "reminded" }, ...next.effects]),
      id,
      REMINDER,
    );
  }
  const ending = isLastRequest ? { ...counted, atLimit: true } : counted;
  const next = withAllThatWaits(takeHook(ending, call));
  // Other hooks of its kind may want the turn to go on.
  const reply = isLastRequest ? { reply: { ...owes ? REMINDER : {}, ...STOP } } : {};
  const stopHook: Answer = { type: "answer", id, ...reply };
  if (!goesOn(next.state)) return act(next.state, [stopHook, ...next.effects]);
  // A turn that is settling asks by itself.
  const asking = next.state.phase === "settling" ? [] : [overWhenPriced(), ...askPrice(state)];
  return act({ ...next.state, stopHook }, [...next.effects, ...asking]);
}

/** A permission is asked for, which nobody but the caller can give. */
function onPermissionRequest(state: SessionState, call: AskingHook): Step {
  const { id: hookId, payload, at } = call;
  const next = takeHook(state, call);
  if (state.changes?.permissionMode === "dontAsk") {
    const { tool_name: tool } = payload;
    return answered(next, hookId, denial(dontAskWords(typeof tool === "string" ? tool : "a tool")));
  }
  if (state.options.caller?.permissions && mayAsk(next.state)) {
    return andThen(next, (state) => askWhenTold(state, { asking: { hookId, payload }, at }));
  }
  const { id: callId, hookAsks } = callOf(next.state, payload) ?? {};
  const asked = state.options.unattended ? undefined : hookAsks;
  const reply = denial(asked ?? denialWordsOf(next.state, payload));
  const unasked = asked === undefined ? [] : decided(callId, "unasked");
  return answered(act(next.state, [...unasked, ...next.effects]), hookId, reply);
}

/** What the model is told of a call that nobody is there to be asked about. */
function denialWordsOf(
  { options: { unattended } }: SessionState,
  payload: HookPayload,
): string {
  const { tool_name: tool, tool_input: input, cwd } = payload;
  return denialWords({
    tool: typeof tool === "string" ? tool : "a tool",
    input: isJsonObject(input) ? input : {},
    cwd: typeof cwd === "string" ? cwd : "/",
  }, { unattended });
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
  if (callback === undefined) return act(state, [veto(hookId)]);
  // Hooks of a turn's own prompt have ended before that is written: the child goes on with what it has in its queue.
  const isOfNext = callback.event === "UserPromptSubmit" && state.phase === "aborting" &&
    isWritten(state);
  if (mayAsk(state) || isOfNext) {
    return askWhenTold(withSubagent(state, { callback, payload }), {
      asking: { hookId, payload, callback },
      at,
    });
  }
  // Escape or the end of the child ends what this hook guards.
  return mayForbid(callback.event)
    ? stay({ ...state, withdrawn: [...state.withdrawn, hookId] })
    : act(state, [{ type: "answer", id: hookId }]);
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
  const { ending, options, introduced, held } = state;
  return options.mcpServers !== undefined && ending === undefined && held === undefined &&
    event === "SessionStart" && !introduced;
}

/** A Stop that was just heard, with what could wait until then. */
function withAllThatWaits({ state, effects }: Step): Step {
  const next = handTogether(state);
  return act(next.state, [...effects, ...next.effects]);
}

/** What tells that a request was answered: its tools have returned, or it has called none. */
const ENDS_OF_REQUESTS = ["PostToolBatch", "Stop"];

/** Hooks that announce the end of a turn; PostToolBatch does where a limit stops the turn. */
const ENDS_OF_TURNS = [...ENDS_OF_REQUESTS, "StopFailure"];

/** Counts the requests of the turn; subagents make requests of their own. */
function countRequest(state: SessionState, payload: HookPayload): SessionState {
  return payload["agent_id"] === undefined ? { ...state, requests: state.requests + 1 } : state;
}

/**
 * The limit that forbids a further request after the tools of this one; a subagent's cost money too. That a tool is
 * refused need not end a turn, whatever its hook says: the model would be told of it.
 */
function limitReached(state: SessionState, payload: HookPayload): SessionState["limited"] {
  if (isOverspent(state)) return "budget";
  if (payload["agent_id"] !== undefined) return undefined;
  if (isOutOfTries(state)) return "output-tries";
  return mayNotGoOn(state) ? "max-turns" : undefined;
}

/** Whether the turn has made as many requests as it may, so that no Stop hook can have it make another one. */
function mayNotGoOn({ requests, options: { maxTurns } }: SessionState): boolean {
  return maxTurns !== undefined && requests + 1 > maxTurns;
}

/** Whether a hook shows that the child has gone on by itself after the turn that settles, before its prompt is read. */
function isOfNextTurn(
  state: SessionState,
  { event, payload }: Pick<HookCall, "event" | "payload">,
): boolean {
  if (state.phase !== "settling") return false;
  if (event === "Stop") return isFirstStop(payload);
  // A turn that another Stop hook has made go on may fail as well.
  if (isTurnFailure(event, payload)) return mayHaveGoneOn(state);
  if (payload["agent_id"] !== undefined) return false;
  // Nothing follows the hook that stops a turn at its limit.
  return (event === "PostToolBatch" && state.limited === "max-turns") ||
    (OF_TURNS.includes(event) && isNextTaken(state));
}

/** Whether there is anything with which the child can have gone on by itself after the turn that settles. */
function mayHaveGoneOn(state: SessionState): boolean {
  const { sent, wakeup, lifeAt } = state;
  const isDue = wakeup === undefined ? mayBeWoken(state) : wakeup.at <= lifeAt;
  return sent.length > 0 || isDue || isFollowed(state);
}

/** Hooks that are called while a turn is under way. */
const OF_TURNS = ["PreToolUse", "PermissionRequest", "PostToolBatch"];
