import type { JsonObject } from "../../json_object.ts";
import { handToChild } from "./deliver.ts";
import type { SessionState } from "./session_state.ts";
import { act, deadline, stay, type Step } from "./step.ts";

/** `claude -p` waits for about 2 s. */
const CONNECT_MS = 2000;
/**
 * How much longer servers are waited for that are bridged to this program, whose tools `claude -p` has at once, and which
 * here only take time on a busy machine; and those that `claude -p` waits for as long as they may take to connect.
 */
const LONGER_MS = 28_000;
/**
 * Time until a connected server's tools are part of the next request, in milliseconds: the child notes them with a timer
 * of 16 ms, which a busy machine delays.
 */
const SETTLE_MS = 200;
/** The same where the child can be asked whether its timers have had their turn. */
const ASKED_SETTLE_MS = 40;
/** How often it is asked: by its answer it has read the question, and by that to the next one it has run its timers. */
const PINGS = 2;
/** How long it may take to answer, in milliseconds. */
const PONG_MS = 5000;
/** The id of what it is asked, which no server of a caller's has. */
const PING_ID = "claude-print-ping";

/**
 * Holds the first request back until the MCP servers are connected, as `claude -p` does: the interactive Claude Code
 * sends it without them.
 */
export function holdForServers(state: SessionState, id: string): Step {
  return act({ ...state, held: { id, overdue: false }, introduced: true }, [
    deadline("servers", CONNECT_MS),
  ]);
}

/** The child connects to its servers. */
export function onServers(
  before: SessionState,
  { begun, done, settled = {} }: {
    readonly begun: number;
    readonly done: number;
    readonly settled?: SessionState["settled"];
  },
): Step {
  const { held, options: { mcpServers = 0 } } = before;
  if (held === undefined) return stay({ ...before, settled });
  const state = { ...before, settled, held: { ...held, connecting: begun > done } };
  const isDone = begun >= mcpServers && done >= begun;
  const settleMs = toPing(state) === undefined ? SETTLE_MS : ASKED_SETTLE_MS;
  return isDone || (held.overdue && !isAwaiting(state))
    ? act(state, [deadline("servers", settleMs)])
    : stay(state);
}

/** The servers are there, or have had their time. */
export function releaseHeld(state: SessionState): Step {
  const { held, ...rest } = state;
  // The hook that would wait for them never came: a message does not wait for it any longer.
  if (held === undefined) {
    return state.introduced ? stay(state) : handToChild({ ...state, introduced: true });
  }
  if (!held.overdue && isAwaiting(state)) {
    return act({ ...state, held: { ...held, overdue: true } }, [deadline("servers", LONGER_MS)]);
  }
  if (held.pings === undefined && toPing(state) !== undefined) return ping(state);
  const next = handToChild(rest);
  return act(next.state, [{ type: "answer", id: held.id }, ...next.effects]);
}

/** The child answers what it was asked with {@linkcode ping}. */
export function onPong(state: SessionState): Step {
  const pings = state.held?.pings;
  if (pings === undefined) return stay(state);
  if (pings < PINGS) return ping(state);
  const released = releaseHeld(state);
  return act(released.state, [deadline("servers"), ...released.effects]);
}

/** Whether the child answers what it was asked here, and not by a server of the caller's. */
export function isPong({ id, method }: JsonObject): boolean {
  return id === PING_ID && method === undefined;
}

/** Asks the child for a sign of life in the name of a server, as MCP has it: who gives one has run its timers. */
function ping(state: SessionState): Step {
  const { held } = state;
  const server = toPing(state);
  if (held === undefined || server === undefined) return stay(state);
  return act({ ...state, held: { ...held, pings: (held.pings ?? 0) + 1 } }, [
    { type: "mcp-message", server, message: { jsonrpc: "2.0", id: PING_ID, method: "ping" } },
    deadline("servers", PONG_MS),
  ]);
}

/** A connected server in whose name the child can be asked something: behind one for permissions there is a program. */
function toPing(
  { options: { bridged = [], caller }, settled }: SessionState,
): string | undefined {
  return bridged.find((name) =>
    settled[name] === "connected" && name !== caller?.promptTool?.server
  );
}

/**
 * Whether servers have yet to connect that are bridged to this program, or that are waited for as long as that takes: one of
 * these may never begin to, where a policy forbids it.
 */
function isAwaiting({ options: { bridged = [], awaited = [] }, settled, held }: SessionState) {
  const names = held?.connecting === true ? [...bridged, ...awaited] : bridged;
  return names.some((name) => !Object.hasOwn(settled, name));
}
