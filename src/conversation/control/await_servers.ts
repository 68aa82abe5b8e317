import type { ControlStep } from "./control_step.ts";
import { deliverNext } from "./deliver.ts";
import { deadline } from "./effect.ts";
import type { JsonObject } from "../../json_object.ts";
import type { SessionState } from "./session_state.ts";

/** How long `claude -p` waits for MCP servers: about 2 s. */
const CONNECT_MS = 2000;
/**
 * The additional wait of the first request for two kinds of servers, in milliseconds: servers that are bridged to this
 * program, which only need time on a busy machine (`claude -p` has their tools immediately); and servers for which
 * `claude -p` waits without a limit.
 */
const LONGER_MS = 28_000;
/**
 * Time until a connected server's tools are part of the next request, in milliseconds. The child records the tools with
 * a timer of 16 ms, which a busy machine delays.
 */
const SETTLE_MS = 200;
/** The settle time in milliseconds if pings can show whether the child's timers have run. */
const ASKED_SETTLE_MS = 40;
/**
 * The number of pings. The first answer shows that the child has read the ping, the second that its timers have run.
 */
const PINGS = 2;
/** How long the answer to a ping may take, in milliseconds. */
const PONG_MS = 5000;
/** The id of our ping request. It differs from every id that a caller's MCP server uses. */
const PING_ID = "claude-print-ping";

/**
 * Delays the first request until the MCP servers are connected, as in `claude -p`. The interactive Claude Code sends
 * the request without them.
 *
 * @param hookId the SessionStart hook; the child sends no request until the hook is answered
 */
export function awaitServers(step: ControlStep, hookId: string): void {
  step.update({ waitingStartHook: { id: hookId, overdue: false }, hasSessionStarted: true });
  step.emit(deadline("servers", CONNECT_MS));
}

/** Records the number of servers to which the child has connected. */
export function onServers(
  step: ControlStep,
  { begun, done, settled = {} }: {
    readonly begun: number;
    readonly done: number;
    readonly settled?: SessionState["facts"]["servers"];
  },
): void {
  const { waitingStartHook, facts, options: { mcpServers = 0 } } = step.state;
  step.update({ facts: { ...facts, servers: settled } });
  if (waitingStartHook === undefined) return;
  step.update({ waitingStartHook: { ...waitingStartHook, connecting: begun > done } });
  const isDone = begun >= mcpServers && done >= begun;
  const settleMs = serverToPing(step.state) === undefined ? SETTLE_MS : ASKED_SETTLE_MS;
  if (isDone || (waitingStartHook.overdue && !isAwaiting(step.state))) {
    step.emit(deadline("servers", settleMs));
  }
}

/**
 * Lets the child make its first request, unless the request waits longer for some servers or a ping has to come first.
 */
export function releaseFirstRequest(step: ControlStep): void {
  const { waitingStartHook, hasSessionStarted } = step.state;
  if (waitingStartHook === undefined) {
    if (hasSessionStarted) return;
    // The hook that should wait for the servers never came, so messages no longer wait for the hook.
    step.update({ hasSessionStarted: true });
    deliverNext(step);
    return;
  }
  if (!waitingStartHook.overdue && isAwaiting(step.state)) {
    step.update({ waitingStartHook: { ...waitingStartHook, overdue: true } });
    step.emit(deadline("servers", LONGER_MS));
    return;
  }
  if (waitingStartHook.pings === undefined && serverToPing(step.state) !== undefined) {
    ping(step);
    return;
  }
  step.update({ waitingStartHook: undefined });
  step.emit({ type: "answer", id: waitingStartHook.id });
  deliverNext(step);
}

/** Receives the child's answer to a ping. */
export function onPong(step: ControlStep): void {
  const pings = step.state.waitingStartHook?.pings;
  if (pings === undefined) return;
  if (pings < PINGS) {
    ping(step);
    return;
  }
  step.emit(deadline("servers"));
  releaseFirstRequest(step);
}

/** Whether a message answers our ping, and not a request of a caller's server. */
export function isPong({ id, method }: JsonObject): boolean {
  return id === PING_ID && method === undefined;
}

/** Pings the child in the name of a server, as MCP allows. A child that answers has run its timers. */
function ping(step: ControlStep): void {
  const { waitingStartHook } = step.state;
  const server = serverToPing(step.state);
  if (waitingStartHook === undefined || server === undefined) return;
  step.update({
    waitingStartHook: { ...waitingStartHook, pings: (waitingStartHook.pings ?? 0) + 1 },
  });
  step.emit(
    { type: "mcp-message", server, message: { jsonrpc: "2.0", id: PING_ID, method: "ping" } },
    deadline("servers", PONG_MS),
  );
}

/**
 * A connected server that is bridged to this program. The prompt tool's server is excluded, because it is a separate
 * program.
 */
function serverToPing(
  { options: { bridged = [], caller }, facts: { servers } }: SessionState,
): string | undefined {
  return bridged.find((name) =>
    servers[name] === "connected" && name !== caller?.promptTool?.server
  );
}

/**
 * Whether some server is still unconnected that is bridged to this program, or for which the first request waits
 * without a limit. A server of the second kind may never begin to connect, if a policy forbids it.
 */
function isAwaiting(
  { options: { bridged = [], awaited = [] }, facts: { servers }, waitingStartHook }: SessionState,
): boolean {
  const names = waitingStartHook?.connecting === true ? [...bridged, ...awaited] : bridged;
  return names.some((name) => !Object.hasOwn(servers, name));
}
