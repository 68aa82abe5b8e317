import { type ControlRequest, isEmpty, UNINITIALIZED } from "../../../claude/wire/control.ts";
import { COMMAND, withCommand } from "./asked_command.ts";
import type { Effect } from "../../control/effect.ts";
import { deliverNext } from "../../control/deliver.ts";
import type { Consulted } from "../../control/input.ts";
import type { SessionState } from "../../control/session_state.ts";
import { act, asOld, stay, type Step } from "../../control/step.ts";
import { changed, hasBegun, refuse, respond } from "../answering.ts";
import { addedPlugins, RELOADING } from "./reloading.ts";
import { CHOOSING, chosen } from "./choosing_model.ts";
import {
  answerOnServers,
  asksForServers,
  MCP_RESOURCE,
  reachableServers,
  type ServersAnswer,
  serversError,
  serversOf,
  SET_SERVERS,
} from "../servers.ts";
import { UPDATING } from "./updating_settings.ts";
import { asText, isJsonObject, type JsonObject } from "../../../json_object.ts";

/** The request that gives the session a title. */
export const RENAMING = "rename_session";

/** The request that has a model make a title, which is noted in the session if it says so and the session has none. */
export const TITLING = "generate_session_title";

/** The request that asks what the session and the account have used. */
const USAGE = "get_usage";

/**
 * Requests that ask what Claude Code would say of itself, its settings, its MCP servers and this session, or hang on it:
 * no screen tells it in full.
 */
export const CONSULTED: readonly string[] = [
  "export_conversation",
  "file_suggestions",
  TITLING,
  "get_binary_version",
  "get_context_usage",
  "get_hooks_listing",
  "get_settings",
  USAGE,
  "get_workspace_diff",
  "list_models",
  "list_permission_rules",
  MCP_RESOURCE,
  "mcp_reconnect",
  "mcp_status",
  "mcp_toggle",
  "read_file",
  "reload_output_styles",
  "reload_skills",
  RENAMING,
  "rewind_files",
];

/** Has a headless Claude Code asked, which says what `claude -p` would. */
export function consult(state: SessionState, request: ControlRequest): Step {
  const error = serversError(state, request);
  if (error !== undefined) return act(state, [refuse(request, { error })]);
  const id = freeId(state, request);
  const consulted = new Map([...state.consulted, [id, request]]);
  // A choice follows the one before it, of which the child has yet to be told.
  const changes = request.subtype === CHOOSING ? state.changes : undefined;
  return act({ ...state, consulted }, [
    {
      type: "consult",
      request: { ...asIsAsked(state, request), id },
      ...(changes === undefined ? {} : { changes }),
    },
  ]);
}

/** By what the answer to a request is known: callers may give several the same id, or none. */
function freeId({ consulted }: SessionState, { id }: ControlRequest): string {
  for (let count = 1;; count++) {
    const free = count === 1 ? id : `${id} ${count}`;
    if (!consulted.has(free)) return free;
  }
}

/**
 * What a headless Claude Code is asked to answer a request: it knows prompts by their ids in the transcript, and has
 * plugins that are added from its start. That another model was chosen is noted in a session that has begun, so that its
 * model hears of it.
 */
function asIsAsked(state: SessionState, request: ControlRequest): ControlRequest {
  const { lineIds } = state;
  if (request.subtype === RELOADING) {
    const { add_plugins: _, ...body } = request.body;
    return { ...request, body, args: pluginsOf(state, request) };
  }
  const servers = request.subtype === SET_SERVERS ? reachableServers(request.body) : {};
  if (!isEmpty(servers)) return { id: request.id, subtype: SET_SERVERS, body: { servers } };
  if (asksForServers(request)) return { id: request.id, subtype: "mcp_status", body: {} };
  if (request.subtype === CHOOSING && hasBegun(state)) {
    return { ...request, notes: true };
  }
  if (request.subtype !== "rewind_files") return request;
  const { user_message_id: id } = request.body;
  return { ...request, body: { ...request.body, user_message_id: lineIds.get(asText(id)) ?? id } };
}

/** A headless Claude Code has answered, or could not be asked. */
export function onConsulted(
  before: SessionState,
  { id, said }: { readonly id: string; readonly said: Consulted },
): Step {
  const request = before.consulted.get(id);
  if (request === undefined) return stay(before);
  if ("isUndescribed" in said) {
    const consulted = new Map(before.consulted).set(id, { ...request, isAnswered: true });
    return act({ ...before, consulted }, [passedOn(before, { request, said })]);
  }
  const consulted = new Map([...before.consulted].filter(([other]) => other !== id));
  const state = { ...before, consulted };
  const told = request.isAnswered
    ? stay(state)
    : request.ahead
    ? stay("response" in said ? { ...state, foretold: said } : state)
    : request.subtype === COMMAND
    ? stay(withCommand(state, said))
    : request.subtype === CHOOSING
    ? chosen(state, { request, said })
    : asksForServers(request) && ("response" in said || request.subtype === SET_SERVERS)
    ? answered(state, {
      request,
      answer: answerOnServers(state, { request, told: "response" in said ? said.response : {} }),
    })
    : request.subtype === RELOADING && "response" in said
    ? reloaded(state, { request, said: said.response })
    : request.subtype === UPDATING && "response" in said
    ? act(changed(state, {}), [respond(request, { response: said.response })])
    : act(state, [
      ...renamed(request, said),
      passedOn(state, { request, said: withChosen(state, { request, said }) }),
    ]);
  const next = asOld(told.state, deliverNext);
  return act(next.state, [
    ...("failure" in said ? [{ type: "trace", text: said.failure } as const] : []),
    ...told.effects,
    ...next.effects,
  ]);
}

/** Which plugins there are has been said; those who answer from now on have them. */
function reloaded(
  state: SessionState,
  { request, said }: { readonly request: ControlRequest; readonly said: JsonObject },
): Step {
  const { mcpServers, commands } = said;
  return act(changed(state, { plugins: pluginsOf(state, request) }), [
    ...(Array.isArray(commands) ? [{ type: "commands", commands } as const] : []),
    respond(request, { response: { ...said, mcpServers: serversOf(state, { mcpServers }) } }),
  ]);
}

/** All plugins that have been added, by this request and by those before it, as arguments. */
function pluginsOf(state: SessionState, request: ControlRequest): readonly string[] {
  return [...new Set([...state.changes?.plugins ?? [], ...addedPlugins(state, request)])];
}

/** Settings are told with the model that has been chosen: a headless Claude Code is started with that of the child. */
function withChosen(
  { changes }: SessionState,
  { request: { subtype }, said }: { readonly request: ControlRequest; readonly said: Consulted },
): Consulted {
  const model = changes?.chosenModel;
  if (subtype !== "get_settings" || model === undefined || !("response" in said)) return said;
  const { applied } = said.response;
  return isJsonObject(applied)
    ? { ...said, response: { ...said.response, applied: { ...applied, model } } }
    : said;
}

/** The title that the caller has given the session. */
function renamed(
  { subtype, body }: ControlRequest,
  said: Consulted,
): readonly Effect[] {
  return subtype === RENAMING && "response" in said
    ? [{ type: "title", title: asText(body["title"]).trim() }]
    : [];
}

/** Answers a request about MCP servers; what it changes holds from the next message on. */
export function answered(
  state: SessionState,
  { request, answer }: { readonly request: ControlRequest; readonly answer: ServersAnswer },
): Step {
  if ("error" in answer) return act(state, [refuse(request, answer)]);
  const { response, changes } = answer;
  return act(changes === undefined ? state : changed(state, changes), [
    respond(request, response === undefined ? {} : { response }),
  ]);
}

/** Nobody is left who could be asked: whoever asked is answered all the same, unless another child follows at once. */
export function onChildGone(state: SessionState): Step {
  if (state.ending?.kind === "renewed") return stay(state);
  const said = { failure: "Claude Code has ended meanwhile" };
  return act(
    { ...state, consulted: new Map() },
    unansweredRequests(state).map((request) => passedOn(state, { request, said })),
  );
}

/** What the caller has asked and nobody has answered: the next child takes it over, as it does commands, which are messages. */
export function unansweredRequests({ consulted }: SessionState): readonly ControlRequest[] {
  return [...consulted.values()].filter(({ subtype, ahead, isAnswered }) =>
    subtype !== COMMAND && !ahead && !isAnswered
  );
}

/** Passes on to the caller what a headless Claude Code has said. */
export function passedOn(
  state: SessionState,
  { request, said }: { readonly request: ControlRequest; readonly said: Consulted },
): Effect {
  if (request.subtype === "initialize") {
    // Whoever initializes cannot go on without an answer, and needs little of it.
    const told = "response" in said ? said.response : UNINITIALIZED;
    const { id } = state.options.caller?.initialized ?? {};
    // They are loaded with a child's start alone.
    const response = {
      ...told,
      ...(isEmpty(request.body["mcpServers"]) ? {} : { mcp_servers_applied: request.id === id }),
      ...(isEmpty(request.body["hooks"]) ? {} : { hooks_applied: true }),
    };
    return respond(request, {
      response,
      pending_permission_requests: [],
      pending_user_dialog_requests: [],
    });
  }
  if ("response" in said) {
    if (request.subtype === RENAMING) return respond(request);
    const told = respond(request, { response: said.response });
    return request.subtype === USAGE ? { ...told, used: true } : told;
  }
  if ("failure" in said) {
    return refuse(request, { error: `Cannot answer ${request.subtype}: ${said.failure}` });
  }
  const { error, errorCode } = said;
  return refuse(request, { error, ...(errorCode === undefined ? {} : { error_code: errorCode }) });
}
