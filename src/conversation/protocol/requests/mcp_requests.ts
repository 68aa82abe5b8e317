import { asText, isJsonObject, type JsonObject } from "../../../json_object.ts";
import { type ControlRequest, isSdkServer } from "../../../claude/wire/control.ts";
import type { ServerChanges } from "../../control/effect.ts";
import type { HookPayload } from "../../control/input.ts";
import type { SessionState } from "../../control/session_state.ts";

/**
 * The result of a request about MCP servers: an answer, changes that take effect with the next message, or an error.
 */
export type ServersAnswer =
  | { readonly response?: JsonObject; readonly changes?: ServerChanges }
  | { readonly error: string };

/** Requests that name one MCP server and change it. */
const OF_ONE_SERVER = ["mcp_toggle", "mcp_reconnect"];

/** The request that sets the caller's MCP servers. */
export const SET_SERVERS = "mcp_set_servers";

/**
 * Whether the helper lists the MCP servers before a request is answered. For `mcp_set_servers`, it does so only if it
 * can reach some of the servers, or while an earlier request about servers waits for its answer.
 */
export function asksForServers({ subtype }: ControlRequest): boolean {
  return subtype === "mcp_status" || changesServers({ subtype });
}

/** Whether a request may change the MCP servers of the next message. */
export function changesServers({ subtype }: Pick<ControlRequest, "subtype">): boolean {
  return subtype === SET_SERVERS || OF_ONE_SERVER.includes(subtype);
}

/** The request that reads a resource of an MCP server. */
export const MCP_RESOURCE = "mcp_read_resource";

/** Returns the error of a request about MCP servers; undefined if it is valid. */
export function serversError(
  state: SessionState,
  { subtype, body }: ControlRequest,
): string | undefined {
  if (subtype === MCP_RESOURCE && ownServersOf(state).includes(asText(body["serverName"]))) {
    return `claude-print cannot carry out the request "${subtype}" for a server of the caller's own: ` +
      "the Claude Code that could do so does not reach it; read it there";
  }
  if (!OF_ONE_SERVER.includes(subtype)) return undefined;
  if (typeof body["serverName"] !== "string") return `${subtype}: serverName must be a string`;
  return subtype === "mcp_toggle" && typeof body["enabled"] !== "boolean"
    ? "mcp_toggle: enabled must be a boolean"
    : undefined;
}

/**
 * Returns the result of a request about MCP servers.
 *
 * @param options.helperAnswer the helper's report. The helper does not know the caller's own servers
 */
export function answerOnServers(
  state: SessionState,
  { request, helperAnswer }: {
    readonly request: ControlRequest;
    readonly helperAnswer: JsonObject;
  },
): ServersAnswer {
  const { subtype, body } = request;
  if (subtype === SET_SERVERS) return setServers(state, request, helperAnswer);
  const servers = serversOf(state, helperAnswer);
  if (subtype === "mcp_status") return { response: { mcpServers: servers } };
  const { serverName: name, enabled } = body;
  const server = servers.find((each) => each["name"] === name);
  if (server === undefined) return { error: `Server not found: ${asText(name)}` };
  if (subtype === "mcp_toggle") {
    return { changes: { switched: { [asText(name)]: enabled === true } } };
  }
  if (server["status"] === "disabled") {
    return {
      error: `MCP server ${asText(name)} is disabled — enable it (mcp_toggle) before reconnecting`,
    };
  }
  if (ownServersOf(state).includes(asText(name))) {
    return { error: "SDK servers should be handled in print.ts" };
  }
  return server["status"] === "failed"
    ? { error: typeof server["error"] === "string" ? server["error"] : "Connection failed" }
    : { changes: {} };
}

/** The servers of `mcp_set_servers` that the helper can also reach: all except those in the caller's own process. */
export function reachableServers({ servers }: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(isJsonObject(servers) ? servers : {}).filter(([, config]) =>
      isJsonObject(config) && !isSdkServer(config)
    ),
  );
}

/**
 * Returns the result of `mcp_set_servers`. From the next message on, its servers replace those that were set earlier.
 *
 * @param helperAnswer the helper's report after it has tried to reach the servers. Servers that it has not added are
 * omitted
 */
export function setServers(
  state: SessionState,
  { body }: ControlRequest,
  helperAnswer: JsonObject = {},
): ServersAnswer {
  const { servers } = body;
  if (!isJsonObject(servers) || !Object.values(servers).every(isJsonObject)) {
    return { error: "mcp_set_servers: servers must be an object of config objects" };
  }
  const { added: reached, errors } = helperAnswer;
  const tried = Array.isArray(reached) ? Object.keys(reachableServers(body)) : [];
  const unreached = tried.filter((name) => Array.isArray(reached) && !reached.includes(name));
  const before = [...Object.keys(setServersOf(state)), ...ownServersOf(state)];
  const names = Object.keys(servers).filter((name) => !unreached.includes(name));
  const failed = isJsonObject(errors) ? errors : {};
  return {
    response: {
      added: names.filter((name) => !before.includes(name)),
      removed: before.filter((name) => !names.includes(name)),
      errors: failed,
    },
    changes: {
      setServers: Object.fromEntries(names.map((name) => [name, servers[name]])),
      unreached: names.filter((name) => Object.hasOwn(failed, name)),
    },
  };
}

/** Lists all servers as `mcp_status` does, with the caller's changes since the child's start. */
export function serversOf(
  state: SessionState,
  { mcpServers }: JsonObject,
): readonly JsonObject[] {
  const { options: { caller }, changes } = state;
  const switched = { ...caller?.switched, ...changes?.switched };
  const all = Array.isArray(mcpServers) ? mcpServers.filter(isJsonObject) : [];
  const dropped = changes?.setServers === undefined ? [] : Object.keys(caller?.setServers ?? {});
  const listed = all.filter(({ name }) => !dropped.includes(asText(name)));
  // A helper that was started with the servers lists them.
  const known = listed.map(({ name }) => name);
  const added = Object.entries(changes?.setServers ?? {}).flatMap(([name, config]): JsonObject[] =>
    isSdkServer(config) || known.includes(name)
      ? []
      : [{ ...pendingServer(name, "dynamic"), config }]
  );
  const own = ownServersOf(state).map((name) => ownServer(state, name));
  return [...listed, ...added, ...own]
    .map((server) => withSwitch(server, switched[asText(server["name"])]));
}

/**
 * The payload of a hook, with the source of a server in the caller's own process. The child reaches that server at an
 * address, and reports it as a server of the command line.
 */
export function withOwnServer(
  { options: { caller } }: SessionState,
  payload: HookPayload,
): HookPayload {
  const server = payload["mcp_server"];
  return isJsonObject(server) && caller?.servers?.includes(asText(server["name"]))
    ? { ...payload, mcp_server: { ...server, source: "sdk" } }
    : payload;
}

/** The names of the servers in the caller's own process. */
function ownServersOf(state: SessionState): readonly string[] {
  const { options: { caller }, changes: { setServers: set } = {} } = state;
  if (set === undefined) return caller?.servers ?? [];
  return Object.keys(set).filter((name) => isSdkServer(set[name]));
}

/** The servers that the caller has set, without those in its own process. */
function setServersOf({ options: { caller }, changes }: SessionState): JsonObject {
  const set = changes?.setServers ?? caller?.setServers ?? {};
  return Object.fromEntries(Object.entries(set).filter(([, config]) => !isSdkServer(config)));
}

/** A server that has not connected yet. */
function pendingServer(name: string, source: "sdk" | "dynamic"): JsonObject {
  return {
    name,
    status: "pending",
    ...(source === "sdk" ? { transport: "sdk" } : {}),
    scope: "dynamic",
    source,
  };
}

/** A server in the caller's own process. */
function ownServer(state: SessionState, name: string): JsonObject {
  const { serverInfo, tools, failed } = state.callerServers.get(name) ?? {};
  return {
    ...pendingServer(name, "sdk"),
    ...(failed ? { status: "failed" } : {}),
    ...(tools === undefined ? {} : {
      status: "connected",
      serverInfo,
      tools: tools.map(({ name, annotations }) => ({ name, annotations: hintsOf(annotations) })),
    }),
  };
}

/** A server with the status after the caller has switched it off or on. The next message's child connects to it. */
function withSwitch(server: JsonObject, enabled: boolean | undefined): JsonObject {
  const { serverInfo: _, tools: __, error: ___, ...rest } = server;
  if (enabled === false) return { ...rest, status: "disabled" };
  return enabled && rest["status"] === "disabled" ? { ...rest, status: "pending" } : server;
}

/** The annotations of a tool, in the form in which `claude -p` prints them. */
function hintsOf(annotations: unknown): JsonObject {
  const { readOnlyHint, destructiveHint, openWorldHint } = isJsonObject(annotations)
    ? annotations
    : {};
  return {
    ...(readOnlyHint === true ? { readOnly: true } : {}),
    ...(destructiveHint === true ? { destructive: true } : {}),
    ...(openWorldHint === true ? { openWorld: true } : {}),
  };
}
