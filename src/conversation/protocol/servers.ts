import { asText, isJsonObject, type JsonObject } from "../../json_object.ts";
import { type ControlRequest, isCallers } from "../../claude/wire/control.ts";
import type { ServerChanges } from "../control/effect.ts";
import type { HookPayload } from "../control/input.ts";
import type { SessionState } from "../control/session_state.ts";

/** What becomes of a request about MCP servers: an answer, what is to be otherwise from the next message on, or an error. */
export type ServersAnswer =
  | { readonly response?: JsonObject; readonly changes?: ServerChanges }
  | { readonly error: string };

/** Requests about one MCP server. */
const OF_ONE = ["mcp_toggle", "mcp_reconnect"];

/** The request that sets the caller's MCP servers. */
export const SET_SERVERS = "mcp_set_servers";

/**
 * Whether a headless Claude Code is asked about MCP servers before a request is answered: to set others that is only so
 * where it can say whether they can be reached, or while an earlier request about them waits for its answer.
 */
export function asksForServers({ subtype }: ControlRequest): boolean {
  return subtype === "mcp_status" || changesServers({ subtype });
}

/** Whether a request decides which MCP servers there are for the next message. */
export function changesServers({ subtype }: Pick<ControlRequest, "subtype">): boolean {
  return subtype === SET_SERVERS || OF_ONE.includes(subtype);
}

/** The request that reads a page of an MCP server's. */
export const MCP_RESOURCE = "mcp_read_resource";

/** What is wrong with a request about MCP servers, if something is. */
export function serversError(
  state: SessionState,
  { subtype, body }: ControlRequest,
): string | undefined {
  if (subtype === MCP_RESOURCE && ownServersOf(state).includes(asText(body["serverName"]))) {
    return `claude-print cannot carry out the request "${subtype}" for a server of the caller's own: ` +
      "the Claude Code that could do so does not reach it; read it there";
  }
  if (!OF_ONE.includes(subtype)) return undefined;
  if (typeof body["serverName"] !== "string") return `${subtype}: serverName must be a string`;
  return subtype === "mcp_toggle" && typeof body["enabled"] !== "boolean"
    ? "mcp_toggle: enabled must be a boolean"
    : undefined;
}

/**
 * What is to be said to a request about MCP servers.
 *
 * @param told what a headless Claude Code says of those that are not the caller's own
 */
export function answerOnServers(
  state: SessionState,
  { request, told }: { readonly request: ControlRequest; readonly told: JsonObject },
): ServersAnswer {
  const { subtype, body } = request;
  if (subtype === SET_SERVERS) return setServers(state, request, told);
  const servers = serversOf(state, told);
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

/** Those of the servers that a caller sets which a headless Claude Code can reach, too: all but its own. */
export function reachableServers({ servers }: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(isJsonObject(servers) ? servers : {}).filter(([, config]) =>
      isJsonObject(config) && !isCallers(config)
    ),
  );
}

/**
 * The caller sets servers: they are there from the next message on, and those that it had set before are not.
 *
 * @param told what a headless Claude Code says, which has tried to reach them: those that it does not take are none
 */
export function setServers(
  state: SessionState,
  { body }: ControlRequest,
  told: JsonObject = {},
): ServersAnswer {
  const { servers } = body;
  if (!isJsonObject(servers) || !Object.values(servers).every(isJsonObject)) {
    return { error: "mcp_set_servers: servers must be an object of config objects" };
  }
  const { added: taken, errors } = told;
  const tried = Array.isArray(taken) ? Object.keys(reachableServers(body)) : [];
  const untaken = tried.filter((name) => Array.isArray(taken) && !taken.includes(name));
  const before = [...Object.keys(setBy(state)), ...ownServersOf(state)];
  const names = Object.keys(servers).filter((name) => !untaken.includes(name));
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

/** All servers as `mcp_status` lists them, with what the caller has changed since the child was started. */
export function serversOf(state: SessionState, told: JsonObject): readonly JsonObject[] {
  const { options: { caller }, changes } = state;
  const switched = { ...caller?.switched, ...changes?.switched };
  const all = Array.isArray(told["mcpServers"]) ? told["mcpServers"].filter(isJsonObject) : [];
  const dropped = changes?.setServers === undefined ? [] : Object.keys(caller?.setServers ?? {});
  const listed = all.filter(({ name }) => !dropped.includes(asText(name)));
  // Whoever has tried to reach those that are set lists them by now.
  const known = listed.map(({ name }) => name);
  const added = Object.entries(changes?.setServers ?? {}).flatMap(([name, config]): JsonObject[] =>
    isCallers(config) || known.includes(name)
      ? []
      : [{ ...placed({ name, source: "dynamic" }), config }]
  );
  const own = ownServersOf(state).map((name): JsonObject => {
    const { serverInfo, tools, failed } = state.servers.get(name) ?? {};
    return {
      ...placed({ name, source: "sdk" }),
      ...(failed ? { status: "failed" } : {}),
      ...(tools === undefined ? {} : {
        status: "connected",
        serverInfo,
        tools: tools.map(({ name, annotations }) => ({ name, annotations: hintsOf(annotations) })),
      }),
    };
  });
  return [...listed, ...added, ...own]
    .map((server) => switchedAs(server, switched[asText(server["name"])]));
}

/**
 * What a hook is told of a call, with whose its MCP server is: to the child, which reaches it at an address, it is one of
 * the command line's like any other.
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
  return Object.keys(set).filter((name) => isCallers(set[name]));
}

function setBy({ options: { caller }, changes }: SessionState): JsonObject {
  const set = changes?.setServers ?? caller?.setServers ?? {};
  return Object.fromEntries(Object.entries(set).filter(([, config]) => !isCallers(config)));
}

/** A server that has yet to connect. */
function placed(
  { name, source }: { readonly name: string; readonly source: "sdk" | "dynamic" },
): JsonObject {
  return {
    name,
    status: "pending",
    ...(source === "sdk" ? { transport: "sdk" } : {}),
    ...{ scope: "dynamic", source },
  };
}

/** A server that the caller has switched off, or on again, which it connects to with the next message. */
function switchedAs(server: JsonObject, enabled: boolean | undefined): JsonObject {
  const { serverInfo: _, tools: __, error: ___, ...rest } = server;
  if (enabled === false) return { ...rest, status: "disabled" };
  return enabled && rest["status"] === "disabled" ? { ...rest, status: "pending" } : server;
}

/** What a tool says of its effects, as `claude -p` tells it. */
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
