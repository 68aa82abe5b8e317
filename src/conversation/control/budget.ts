import type { Effect } from "./effect.ts";
import { OVERSPENT } from "./hook_answers.ts";
import type { HookPayload } from "./input.ts";
import { isLast, isOverspent, type SessionState } from "./session_state.ts";
import { act, deadline, stay, type Step } from "./step.ts";
import { overTurn } from "./end_turn.ts";

/** How long a tool waits for the child to tell what the answer that called it has cost: it takes 0.3 s. */
const PRICE_MS = 5000;

/**
 * Holds a tool back until it is known what the answer that calls it has cost: `claude -p` runs no tool once its budget
 * is used up. All tools of one answer wait once.
 */
export function onToolUse(
  state: SessionState,
  { id, payload }: { readonly id: string; readonly payload: HookPayload },
): Step {
  const agent = agentOf(payload);
  const unpaid = [...state.unpaid, { id, agent }];
  if (isOverspent(state)) return stopSpending({ ...state, unpaid });
  if (state.paidAgents.has(agent)) return act(state, [{ type: "answer", id }]);
  return act({
    ...state,
    unpaid,
    paidAgents: new Set([...state.paidAgents, agent]),
  }, [deadline("budget", PRICE_MS)]);
}

/** The tools of an answer have returned: what comes next has a price of its own. */
export function onToolsReturned(state: SessionState, payload: HookPayload): SessionState {
  return { ...state, paidAgents: state.paidAgents.difference(new Set([agentOf(payload)])) };
}

/**
 * The child tells what it has cost. While a tool waits, only what is more than before is the price of its answer: the
 * status line may tell of an earlier change yet.
 */
export function onSpent(
  before: SessionState,
  told: { readonly totalUsd: number; readonly apiDurationMs: number },
): Step {
  const { paidUsd = 0 } = before.options;
  // Since 2.1.330 a child that resumes a session may go on with its costs.
  const spentUsd = told.totalUsd < paidUsd ? told.totalUsd + paidUsd : told.totalUsd;
  const { apiDurationMs } = told;
  const isMore = spentUsd > before.spentUsd || apiDurationMs > before.apiDurationMs;
  const state = { ...before, spentUsd, apiDurationMs };
  return isMore ? onPaid(state) : stay(state);
}

/** It is known what the answer has cost, or was not in time: tools may run, or nothing more is done. */
export function onPaid(state: SessionState): Step {
  if (state.unpaid.length === 0) return stay(state);
  if (isOverspent(state)) return stopSpending(state);
  return act({ ...state, unpaid: [] }, [
    deadline("budget"),
    ...state.unpaid.map(({ id }): Effect => ({ type: "answer", id })),
  ]);
}

/**
 * Ends the turn under way without the tools that wait; where the child has to live on, they are refused. A subagent's
 * tools may wait after the turn's end, and any while the turn is stopped for another reason: that reason stands. A turn
 * goes on where nothing but subagents in the background is refused a tool.
 */
function stopSpending(before: SessionState): Step {
  const state: SessionState = { ...before, unpaid: [] };
  if (state.phase === "working" && isLast(state)) return overTurn(state, { kind: "budget" });
  const isTurns = before.unpaid.some(({ agent }) => !state.childQueue.running.has(agent));
  const next: SessionState = state.phase === "working" && isTurns
    ? { ...state, phase: "settling", limited: "budget", priced: true }
    : state;
  return act(next, [
    deadline("budget"),
    ...before.unpaid.map(({ id }): Effect => ({ type: "answer", id, reply: OVERSPENT })),
  ]);
}

function agentOf({ agent_id: agent }: HookPayload): string {
  return typeof agent === "string" ? agent : "";
}
