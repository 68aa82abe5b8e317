import { handOver } from "../handing_over.ts";
import type { SessionState } from "../session_state.ts";
import { act, deadline, stay, type Step } from "../step.ts";

/** `claude -p` waits for about 2 s. */
const CONNECT_MS = 2000;
/**
 * How much longer servers are waited for that are bridged to this program: `claude -p` has their tools at once, and here
 * they only take time on a busy machine.
 */
const BRIDGED_MS = 28_000;
/** Time until a connected server's tools are part of the next request; without it some runs miss them. */
const SETTLE_MS = 200;

/**
 * Holds the first request back until the MCP servers are connected, as `claude -p` does: the interactive Claude Code
 * sends it without them.
 */
export function holdForServers(state: SessionState, id: string): Step {
  return act({ ...state, held: { id, overdue: false }, wasHeld: true }, [
    deadline("servers", CONNECT_MS),
  ]);
}

/** The child connects to its servers. */
export function onServers(
  before: SessionState,
  { begun, done, settled = {} }: {
    readonly begun: number;
    readonly done: number;
    readonly settled?: Readonly<Record<string, unknown>>;
  },
): Step {
  const state = { ...before, settled: Object.keys(settled) };
  const { held, options: { mcpServers = 0 } } = state;
  if (held === undefined) return stay(state);
  const isDone = begun >= mcpServers && done >= begun;
  return isDone || (held.overdue && !isBridging(state))
    ? act(state, [deadline("servers", SETTLE_MS)])
    : stay(state);
}

/** The servers are there, or have had their time. */
export function releaseHeld(state: SessionState): Step {
  const { held, ...rest } = state;
  // The hook that would wait for them never came: a message does not wait for it any longer.
  if (held === undefined) {
    return state.wasHeld ? stay(state) : handOver({ ...state, wasHeld: true });
  }
  if (!held.overdue && isBridging(state)) {
    return act({ ...state, held: { ...held, overdue: true } }, [deadline("servers", BRIDGED_MS)]);
  }
  const next = handOver(rest);
  return act(next.state, [{ type: "answer", id: held.id }, ...next.effects]);
}

/** Whether servers that are bridged to this program have yet to connect. */
function isBridging({ options: { bridged = [] }, settled }: SessionState): boolean {
  return bridged.some((name) => !settled.includes(name));
}
