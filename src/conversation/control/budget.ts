import { changePhase, type ControlStep } from "./control_step.ts";
import { deadline, type Effect } from "./effect.ts";
import { endTurn } from "./end_turn.ts";
import { OVERSPENT } from "./hook_answers.ts";
import type { HookPayload } from "./input.ts";
import { isLast, isOverspent } from "./session_state.ts";

/**
 * How long a tool waits for the cost of the answer that called it, in milliseconds. The child reports the cost after
 * 0.3 s.
 */
const PRICE_MS = 5000;

/**
 * Delays a tool until the cost of the answer that calls it is known, because `claude -p` runs no tool once its budget
 * is used up. All tools of one answer share one wait.
 */
export function onToolUse(
  step: ControlStep,
  { id, payload }: { readonly id: string; readonly payload: HookPayload },
): void {
  const { unpaidHooks, paidAgents } = step.state;
  const agent = agentOf(payload);
  const isKnown = paidAgents.has(agent);
  if (isKnown && !isOverspent(step.state)) {
    step.emit({ type: "answer", id });
    return;
  }
  step.update({ unpaidHooks: [...unpaidHooks, { id, agent }] });
  if (isOverspent(step.state)) {
    stopSpending(step);
    return;
  }
  step.update({ paidAgents: new Set([...paidAgents, agent]) });
  step.emit(deadline("budget", PRICE_MS));
}

/** Forgets that the answer of an agent is paid: its tools have returned, and the next answer has its own cost. */
export function onToolsReturned(step: ControlStep, payload: HookPayload): void {
  step.update({ paidAgents: step.state.paidAgents.difference(new Set([agentOf(payload)])) });
}

/**
 * Records the cost of the conversation so far. While a tool waits, only an increase shows the cost of its answer: the
 * status line may still report an earlier change.
 */
export function onSpent(
  step: ControlStep,
  { totalUsd, apiDurationMs }: { readonly totalUsd: number; readonly apiDurationMs: number },
): void {
  const { spentUsd, apiDurationMs: durationBefore } = step.state;
  step.update({ spentUsd: totalUsd, apiDurationMs });
  if (totalUsd > spentUsd || apiDurationMs > durationBefore) releaseTools(step);
}

/** Runs or refuses the tools that wait for a cost: the cost is known, or was not reported in time. */
export function releaseTools(step: ControlStep): void {
  const { unpaidHooks } = step.state;
  if (unpaidHooks.length === 0) return;
  if (isOverspent(step.state)) {
    stopSpending(step);
    return;
  }
  step.update({ unpaidHooks: [] });
  step.emit(deadline("budget"), ...unpaidHooks.map(({ id }): Effect => ({ type: "answer", id })));
}

/**
 * The budget is used up: ends the turn without the waiting tools, if it is the last one. Otherwise the child refuses
 * them. The turn then continues if only tools of background subagents are refused.
 */
function stopSpending(step: ControlStep): void {
  const { unpaidHooks, phase, childQueue: { runningTasks } } = step.state;
  step.update({ unpaidHooks: [] });
  if (phase === "working" && isLast(step.state)) {
    endTurn(step, { kind: "budget" });
    return;
  }
  if (phase === "working" && unpaidHooks.some(({ agent }) => !runningTasks.has(agent))) {
    changePhase(step, { phase: "settling" });
    step.update({ limited: "budget", isCostSettled: true });
  }
  step.emit(
    deadline("budget"),
    ...unpaidHooks.map(({ id }): Effect => ({ type: "answer", id, reply: OVERSPENT })),
  );
}

function agentOf({ agent_id: agent }: HookPayload): string {
  return typeof agent === "string" ? agent : "";
}
