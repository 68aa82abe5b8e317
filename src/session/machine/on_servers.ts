import type { SessionState } from "../session_state.ts";
import { act, deadline, stay, type Step } from "../step.ts";

/** `claude -p` waits for about 2 s. */
const CONNECT_MS = 2000;
/** Time until a connected server's tools are part of the next request; without it some runs miss them. */
const SETTLE_MS = 200;

/**
 * Holds the first request back until the MCP servers are connected, as `claude -p` does: the interactive Claude Code
 * sends it without them.
 */
export function holdForServers(state: SessionState, id: string): Step {
  return act({ ...state, held: id }, [deadline("servers", CONNECT_MS)]);
}

/** The child connects to its servers. */
export function onServers(
  state: SessionState,
  { begun, done }: { readonly begun: number; readonly done: number },
): Step {
  const { held, options: { mcpServers = 0 } } = state;
  return held !== undefined && begun >= mcpServers && done >= begun
    ? act(state, [deadline("servers", SETTLE_MS)])
    : stay(state);
}

/** The servers are there, or have had their time. */
export function releaseHeld(state: SessionState): Step {
  const { held, ...rest } = state;
  return held === undefined ? stay(state) : act(rest, [{ type: "answer", id: held }]);
}
