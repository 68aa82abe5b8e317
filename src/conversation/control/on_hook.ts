import { isFirstStop } from "./background_turns.ts";
import { answerHook, recordDecision, veto } from "../protocol/answers.ts";
import { askOncePrinted, onElicitation } from "../protocol/questions/ask_caller.ts";
import { findPermissionCall } from "../protocol/questions/printed_calls.ts";
import { unchosenSkill } from "../protocol/caller_options.ts";
import { isOutOfTries, owesOutput, REMINDER } from "../protocol/structured_output.ts";
import { isNextPrompt } from "./stop_turn.ts";
import { beginTurn } from "./begin_turn.ts";
import type { ControlStep } from "./control_step.ts";
import { hasOtherStopHooks, isFollowed, isNextTaken, mayBeWoken } from "./follow_ups.ts";
import { onSessionEnd } from "./end_session.ts";
import { deliverTogether } from "./deliver.ts";
import { ASKING, denial, dontAskWords, STOP } from "./hook_answers.ts";
import { type HookPayload, type Input, isTurnFailure } from "./input.ts";
import { onToolsReturned, onToolUse } from "./budget.ts";
import { awaitServers } from "./await_servers.ts";
import { onTurnHook } from "./turn_hooks.ts";
import { onAnnounced } from "./on_status.ts";
import { isOverspent, type SessionState } from "./session_state.ts";
import { takeFirst } from "./taken_prompts.ts";
import { beginNextTurn } from "./end_turn.ts";
import { askCost, costDeadline } from "./wait_times.ts";
import { isJsonObject } from "../../json_object.ts";
import { mayForbid } from "../../claude/settings/may_forbid.ts";
import { denialText } from "../../claude/transcript/permission_denials.ts";

/** A call of a hook. */
type HookCall = Extract<Input, { readonly type: "hook" }>;

/** A call of a hook that waits for an answer. */
type AskingHook = HookCall & { readonly id: string };

/** Receives a call of a hook. If the hook waits, answers it in every state of the turn. */
export function onHook(step: ControlStep, call: HookCall): void {
  if (call.callback !== undefined) {
    onCallback(step, call, call.callback);
    return;
  }
  const { phase: before } = step.state;
  receiveHook(step, call);
  const { ranAt } = call;
  if (ranAt === undefined) return;
  const isAnnounced = step.state.phase === "settling" &&
    (before !== "settling" || announcesTurnEnd(call));
  if (isAnnounced) onAnnounced(step, ranAt);
  else if (call.event === "Stop" && step.state.hasBackgroundTasks) {
    step.update({ beganAfter: ranAt });
  }
}

/** Whether a hook announces the end of the turn itself, and not of a subagent. */
function announcesTurnEnd({ event, payload }: HookCall): boolean {
  return ENDS_OF_TURNS.includes(event) && payload["agent_id"] === undefined;
}

function receiveHook(step: ControlStep, call: HookCall): void {
  const isNext = isOfNextTurn(step.state, call) &&
    beginNextTurn(step, { noticed: isNextTaken(step.state) });
  if (isNext) {
    receiveHook(step, call);
    return;
  }
  const { event, id } = call;
  if (id === undefined) {
    onSilentHook(step, call);
    return;
  }
  if (mustAwaitServers(step.state, event)) {
    // The deadline for the servers comes after the deadline of a start without servers.
    const effects = step.capture(() => awaitServers(step, id));
    onTurnHook(step, call);
    step.emit(...effects);
    return;
  }
  const asking = { ...call, id };
  switch (event) {
    case "PreToolUse":
      onPreToolUse(step, asking);
      return;
    case "PostToolBatch":
      onPostToolBatch(step, asking);
      return;
    case "PermissionRequest":
      onPermissionRequest(step, asking);
      return;
    case "Elicitation":
      onTurnHook(step, call);
      onElicitation(step, { ...asking, hookId: id });
      return;
    case "Stop":
      onStop(step, asking);
      return;
    case "SessionEnd":
      onSessionEnd(step, id);
      return;
    default:
      step.emit(answerHook(id));
      onTurnHook(step, call);
  }
}

/** Receives a hook that waits for no answer. */
function onSilentHook(step: ControlStep, call: HookCall): void {
  const { event, payload } = call;
  if (event === "PostToolBatch") onToolsReturned(step, payload);
  if (ENDS_OF_REQUESTS.includes(event)) countRequest(step, payload);
  const limited = event === "PostToolBatch" ? limitReached(step.state, payload) : undefined;
  onTurnHook(step, { ...call, limited });
}

/** Receives a call of a tool. Some calls are refused, others wait for the cost of the answer that makes them. */
function onPreToolUse(step: ControlStep, call: AskingHook): void {
  const { payload, id } = call;
  const unchosen = unchosenSkill(step.state.options.skills, payload);
  if (unchosen === undefined && step.state.options.maxBudgetUsd !== undefined) {
    onTurnHook(step, call);
    onToolUse(step, { id, payload });
    return;
  }
  step.emit(answerHook(id, unchosen ?? (isTightened(step.state) ? ASKING : undefined)));
  onTurnHook(step, call);
}

/** Whether the caller has chosen a mode that may ask about a call which the child would carry out in its own mode. */
function isTightened({ options, changes, appliedMode }: SessionState): boolean {
  const chosen = changes?.permissionMode;
  return options.loose === true && chosen !== undefined && chosen !== appliedMode &&
    chosen !== "bypassPermissions";
}

/** Counts a request of the turn whose tools have returned, and stops the turn at a limit. */
function onPostToolBatch(step: ControlStep, call: AskingHook): void {
  const { payload, id } = call;
  onToolsReturned(step, payload);
  countRequest(step, payload);
  const limited = limitReached(step.state, payload);
  step.emit(answerHook(id, limited === undefined ? undefined : STOP));
  onTurnHook(step, { ...call, limited });
}

/** Receives a Stop hook: the assistant has finished, but may have to give a structured answer first. */
function onStop(step: ControlStep, call: AskingHook): void {
  const { id } = call;
  const owes = owesOutput(step.state);
  countRequest(step, call.payload);
  const isLastRequest = mayNotGoOn(step.state) && (owes || hasOtherStopHooks(step.state));
  if (owes && !isLastRequest) {
    remindOfOutput(step, id);
    return;
  }
  if (isLastRequest) step.update({ isAtLimit: true });
  const effects = step.capture(() => {
    onTurnHook(step, call);
    deliverTogether(step);
  });
  // Other Stop hooks may continue the turn.
  const reply = isLastRequest ? { ...(owes ? REMINDER : {}), ...STOP } : undefined;
  const answer = answerHook(id, reply);
  if (!goesOn(step.state)) {
    step.emit(answer, ...effects);
    return;
  }
  step.update({ stopHook: answer });
  step.emit(...effects);
  // A turn that is settling has already asked for the cost.
  if (step.state.phase === "settling") return;
  step.emit(costDeadline());
  askCost(step);
}

/** Continues the turn until the model has given a structured answer. */
function remindOfOutput(step: ControlStep, id: string): void {
  step.emit(answerHook(id, REMINDER), { type: "trace", text: "reminded" });
  step.update({ output: { ...step.state.output, reminded: true } });
  takeFirst(step);
  beginTurn(step);
}

/** Receives a permission question, which only the caller can answer. */
function onPermissionRequest(step: ControlStep, call: AskingHook): void {
  const { id: hookId, payload, at } = call;
  const { changes, options: { caller, unattended } } = step.state;
  if (changes?.permissionMode === "dontAsk") {
    step.emit(answerHook(hookId, denial(dontAskWords(toolOf(payload)))));
    onTurnHook(step, call);
    return;
  }
  const effects = step.capture(() => onTurnHook(step, call));
  if (caller?.permissions && mayAsk(step.state)) {
    step.emit(...effects);
    askOncePrinted(step, { asking: { hookId, payload }, at });
    return;
  }
  const { id: callId, hookAsks } = findPermissionCall(step.state as SessionState, payload) ?? {};
  const asked = unattended ? undefined : hookAsks;
  step.emit(answerHook(hookId, denial(asked ?? denialWordsOf(step.state, payload))));
  if (asked !== undefined) recordDecision(step, callId, "unasked");
  step.emit(...effects);
}

/** The message to the model about a call that needs a permission if nobody can give one. */
function denialWordsOf({ options: { unattended } }: SessionState, payload: HookPayload): string {
  const { tool_input: input, cwd } = payload;
  return denialText({
    tool: toolOf(payload),
    input: isJsonObject(input) ? input : {},
    cwd: typeof cwd === "string" ? cwd : "/",
  }, { unattended });
}

function toolOf({ tool_name: tool }: HookPayload): string {
  return typeof tool === "string" ? tool : "a tool";
}

/**
 * Receives a call of a caller's hook. It shows nothing about the turn, because our own hook of the same event does.
 *
 * @param place the hook's index in the caller's hooks
 */
function onCallback(step: ControlStep, call: HookCall, place: number): void {
  const { payload, id: hookId, at } = call;
  if (hookId === undefined) return;
  const callback = step.state.options.caller?.callbacks[place];
  if (callback === undefined) {
    step.emit(veto(hookId));
    return;
  }
  const { phase, silentAgents, withdrawnHooks } = step.state;
  const isOfNext = callback.event === "UserPromptSubmit" && phase === "aborting" &&
    isNextPrompt(step.state, payload["prompt"]);
  if (mayAsk(step.state) || isOfNext) {
    const { agent_id: agentId } = payload;
    // From now on, the turn waits for the last text of this subagent.
    if (callback.event === "SubagentStart" && typeof agentId === "string") {
      step.update({ silentAgents: new Set([...silentAgents, agentId]) });
    }
    askOncePrinted(step, { asking: { hookId, payload, callback }, at });
    return;
  }
  // Escape or the end of the child stops the action that this hook guards.
  if (mayForbid(callback.event)) step.update({ withdrawnHooks: [...withdrawnHooks, hookId] });
  else step.emit(answerHook(hookId));
}

/** Whether an answer of the caller still has an effect. */
function mayAsk({ phase }: SessionState): boolean {
  return phase !== "ending" && phase !== "interrupting" && phase !== "aborting";
}

/** Whether the child continues without a message after a Stop hook, before the turn's cost is known. */
function goesOn(state: SessionState): boolean {
  const { options, phase, sent, hasBackgroundTasks } = state;
  return options.conversation === true &&
    (phase === "settling"
      ? sent.length > 0 || isFollowed(state)
      : phase === "working" && hasBackgroundTasks);
}

/**
 * Whether the child may still have to connect to its MCP servers, or to record the tools of connected servers. This
 * includes a ready or busy child: on a busy machine, its status is read before the hook.
 */
function mustAwaitServers(state: SessionState, event: string): boolean {
  const { ending, options, hasSessionStarted, waitingStartHook } = state;
  return options.mcpServers !== undefined && ending === undefined &&
    waitingStartHook === undefined &&
    event === "SessionStart" && !hasSessionStarted;
}

/** Hooks that show that a request was answered: its tools have returned, or it has called none. */
const ENDS_OF_REQUESTS = ["PostToolBatch", "Stop"];

/** Hooks that announce the end of a turn. PostToolBatch does so if a limit stops the turn. */
const ENDS_OF_TURNS = [...ENDS_OF_REQUESTS, "StopFailure"];

/** Counts a request of the turn. Requests of subagents do not count. */
function countRequest(step: ControlStep, payload: HookPayload): void {
  if (payload["agent_id"] === undefined) step.update({ requests: step.state.requests + 1 });
}

/**
 * The limit that forbids a further request after the tools of this one. A subagent's requests also cost money. A
 * refused tool need not end a turn, whatever its hook answers, because the model would receive the refusal.
 */
function limitReached(state: SessionState, payload: HookPayload): SessionState["limited"] {
  if (isOverspent(state)) return "budget";
  if (payload["agent_id"] !== undefined) return undefined;
  if (isOutOfTries(state)) return "output-tries";
  return mayNotGoOn(state) ? "max-turns" : undefined;
}

/** Whether the turn has made its maximum number of requests, so that no Stop hook can cause another one. */
function mayNotGoOn({ requests, options: { maxTurns } }: SessionState): boolean {
  return maxTurns !== undefined && requests + 1 > maxTurns;
}

/** Whether a hook shows that the child has continued after the turn that settles, before the next prompt is read. */
function isOfNextTurn(
  state: SessionState,
  { event, payload }: Pick<HookCall, "event" | "payload">,
): boolean {
  if (state.phase !== "settling") return false;
  if (event === "Stop") return isFirstStop(payload);
  // A turn that another Stop hook has continued may also fail.
  if (isTurnFailure(event, payload)) return mayHaveGoneOn(state);
  if (payload["agent_id"] !== undefined) return false;
  // No hook of the same turn follows the hook that stops it at its limit.
  return (event === "PostToolBatch" && state.limited === "max-turns") ||
    (OF_TURNS.includes(event) && isNextTaken(state));
}

/**
 * Whether a message, a notice or a wake-up exists with which the child may have continued after the turn that settles.
 */
function mayHaveGoneOn(state: SessionState): boolean {
  const { sent, wakeup, lifeAt } = state;
  const isDue = wakeup === undefined ? mayBeWoken(state) : wakeup.at <= lifeAt;
  return sent.length > 0 || isDue || isFollowed(state);
}

/** Hooks that run during a turn. */
const OF_TURNS = ["PreToolUse", "PermissionRequest", "PostToolBatch"];
