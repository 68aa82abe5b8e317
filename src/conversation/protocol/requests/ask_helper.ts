import { hasCapability } from "../../../claude/versions/profiles.ts";
import {
  type ControlRequest,
  EMPTY_INITIALIZE_RESPONSE,
  isEmpty,
} from "../../../claude/wire/control.ts";
import { definedFields } from "../../../defined_fields.ts";
import { asText, isJsonObject, type JsonObject } from "../../../json_object.ts";
import type { ControlStep } from "../../control/control_step.ts";
import { deliverNext } from "../../control/deliver.ts";
import type { Effect } from "../../control/effect.ts";
import type { HelperReply } from "../../control/input.ts";
import type { SessionState } from "../../control/session_state.ts";
import { refuse, respond } from "../answers.ts";
import {
  answerOnServers,
  asksForServers,
  MCP_RESOURCE,
  reachableServers,
  type ServersAnswer,
  serversError,
  serversOf,
  SET_SERVERS,
} from "./mcp_requests.ts";
import {
  changeNextChild,
  hasBegun,
  onModelAnswer,
  SET_MODEL,
  UPDATE_SETTINGS,
} from "./child_changes.ts";
import { recordCommandAnswer, SLASH_COMMAND } from "./slash_commands.ts";

/** The request that gives the session a title. */
export const RENAME_SESSION = "rename_session";

/**
 * The request that has a model make a title. With `persist`, it becomes the session's title if the session has none.
 */
export const GENERATE_TITLE = "generate_session_title";

/** The request that reloads plugins. */
export const RELOAD_PLUGINS = "reload_plugins";

/** The request for the usage of the session and the account. */
const USAGE = "get_usage";

/**
 * Requests that the headless helper answers, as `claude -p` would. They are about Claude Code, its settings, its MCP
 * servers and this session, and the screen of the child does not show all the facts.
 */
export const ASKED_OF_HELPER: readonly string[] = [
  "export_conversation",
  "file_suggestions",
  GENERATE_TITLE,
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
  RENAME_SESSION,
  "rewind_files",
];

/** A request, and the helper's answer to it. */
interface Answered {
  readonly request: ControlRequest;
  readonly answer: HelperReply;
}

/** Asks the headless helper. */
export function askHelper(step: ControlStep, request: ControlRequest): void {
  const error = serversError(step.state, request);
  if (error !== undefined) {
    step.emit(refuse(request, { error }));
    return;
  }
  const { consultedRequests, changes } = step.state;
  const id = freeId(step.state, request);
  const asked = { ...helperRequest(step.state, request), id };
  step.update({ consultedRequests: new Map([...consultedRequests, [id, request]]) });
  step.emit({
    type: "consult",
    request: asked,
    // The child does not know an earlier choice, which this one follows.
    ...(request.subtype === SET_MODEL && changes !== undefined ? { changes } : {}),
  });
}

/** An id for a request to the helper: callers may give several requests the same id, or none. */
function freeId({ consultedRequests }: SessionState, { id }: ControlRequest): string {
  for (let count = 1;; count++) {
    const free = count === 1 ? id : `${id} ${count}`;
    if (!consultedRequests.has(free)) return free;
  }
}

/**
 * The request that the helper gets instead of the caller's. The helper knows prompts by their ids in the transcript,
 * and is started with the plugins that a request adds. In a session that has begun, the helper writes the choice of
 * another model to the transcript, so that this model learns of the choice.
 */
function helperRequest(state: SessionState, request: ControlRequest): ControlRequest {
  const { id, subtype, body } = request;
  if (subtype === RELOAD_PLUGINS) {
    const { add_plugins: _, ...rest } = body;
    return { ...request, body: rest, args: pluginArguments(state, request) };
  }
  const servers = subtype === SET_SERVERS ? reachableServers(body) : {};
  if (!isEmpty(servers)) return { id, subtype: SET_SERVERS, body: { servers } };
  if (asksForServers(request)) return { id, subtype: "mcp_status", body: {} };
  if (subtype === SET_MODEL && hasBegun(state)) return { ...request, notes: true };
  if (subtype !== "rewind_files") return request;
  const { user_message_id: given } = body;
  return {
    ...request,
    body: { ...body, user_message_id: state.lineIds.get(asText(given)) ?? given },
  };
}

/** Receives the helper's answer, or the reason why the helper could not be asked. */
export function onHelperAnswer(
  step: ControlStep,
  { id, said: answer }: { readonly id: string; readonly said: HelperReply },
): void {
  const { consultedRequests } = step.state;
  const request = consultedRequests.get(id);
  if (request === undefined) return;
  if ("isUndescribed" in answer) {
    // The description of the session follows in a second answer.
    step.update({
      consultedRequests: new Map(consultedRequests).set(id, { ...request, isAnswered: true }),
    });
    step.emit(responseOf(step.state, { request, answer }));
    return;
  }
  step.update({
    consultedRequests: new Map([...consultedRequests].filter(([other]) => other !== id)),
  });
  if ("failure" in answer) step.emit({ type: "trace", text: answer.failure });
  if (request.ahead && !request.isAnswered) {
    if ("response" in answer) step.update({ earlyInitialization: answer });
  } else if (!request.isAnswered) {
    applyAnswer(step, { request, answer });
  }
  deliverNext(step);
}

/** Applies the helper's answer, and answers the caller. */
function applyAnswer(step: ControlStep, answered: Answered): void {
  const { request, answer } = answered;
  const { subtype } = request;
  const response = "response" in answer ? answer.response : undefined;
  if (subtype === SLASH_COMMAND) {
    recordCommandAnswer(step, answer);
  } else if (subtype === SET_MODEL) {
    onModelAnswer(step, answered);
  } else if (asksForServers(request) && (response !== undefined || subtype === SET_SERVERS)) {
    const result = answerOnServers(step.state, { request, helperAnswer: response ?? {} });
    emitServersAnswer(step, { request, answer: result });
  } else if (subtype === RELOAD_PLUGINS && response !== undefined) {
    onPluginsReloaded(step, request, response);
  } else if (subtype === UPDATE_SETTINGS && response !== undefined) {
    changeNextChild(step, {});
    step.emit(respond(request, { response }));
  } else {
    if (subtype === RENAME_SESSION && response !== undefined) {
      step.emit({ type: "title", title: asText(request.body["title"]).trim() });
    }
    step.emit(responseOf(step.state, { request, answer: withChosenModel(step.state, answered) }));
  }
}

/** Answers a request about MCP servers. Changes take effect with the next message. */
export function emitServersAnswer(
  step: ControlStep,
  { request, answer }: { readonly request: ControlRequest; readonly answer: ServersAnswer },
): void {
  if ("error" in answer) {
    step.emit(refuse(request, answer));
    return;
  }
  const { response, changes } = answer;
  if (changes !== undefined) changeNextChild(step, changes);
  step.emit(respond(request, definedFields({ response })));
}

/** Adds the chosen model to settings, because the helper was started with the model of the child. */
function withChosenModel({ changes }: SessionState, { request, answer }: Answered): HelperReply {
  const model = changes?.chosenModel;
  if (request.subtype !== "get_settings" || model === undefined || !("response" in answer)) {
    return answer;
  }
  const { applied } = answer.response;
  return isJsonObject(applied)
    ? { ...answer, response: { ...answer.response, applied: { ...applied, model } } }
    : answer;
}

/** The answer for the caller. */
function responseOf(state: SessionState, { request, answer }: Answered): Effect {
  if (request.subtype === "initialize") return initializeResponse(state, { request, answer });
  if ("response" in answer) {
    if (request.subtype === RENAME_SESSION) return respond(request);
    const response = respond(request, { response: answer.response });
    return request.subtype === USAGE ? { ...response, used: true } : response;
  }
  if ("failure" in answer) {
    return refuse(request, { error: `Cannot answer ${request.subtype}: ${answer.failure}` });
  }
  const { error, errorCode } = answer;
  return refuse(request, definedFields({ error, error_code: errorCode }));
}

/**
 * The answer to an initialization. If the helper could not answer, the caller gets an empty description, because an SDK
 * cannot continue without an answer, and needs little of it.
 */
export function initializeResponse(
  { options: { caller } }: SessionState,
  { request, answer }: Answered,
): Effect {
  const { mcpServers, hooks } = request.body;
  // Servers and hooks are only loaded when a child starts.
  const isFirst = request.id === caller?.initialized?.id;
  return respond(request, {
    response: {
      ...("response" in answer ? answer.response : EMPTY_INITIALIZE_RESPONSE),
      ...(isEmpty(mcpServers) ? {} : { mcp_servers_applied: isFirst }),
      ...(isEmpty(hooks) ? {} : { hooks_applied: true }),
    },
    pending_permission_requests: [],
    pending_user_dialog_requests: [],
  });
}

/** Answers all open requests of the caller, because the child has ended, unless another child takes them over. */
export function answerAfterExit(step: ControlStep): void {
  if (step.state.ending?.kind === "renewed") return;
  const requests = unansweredRequests(step.state);
  const answer = { failure: "Claude Code has ended meanwhile" };
  step.update({ consultedRequests: new Map() });
  step.emit(...requests.map((request) => responseOf(step.state, { request, answer })));
}

/** The unanswered requests of the caller. The next child takes them over; it gets commands as messages. */
export function unansweredRequests({ consultedRequests }: SessionState): readonly ControlRequest[] {
  return [...consultedRequests.values()].filter(({ subtype, ahead, isAnswered }) =>
    subtype !== SLASH_COMMAND && !ahead && !isAnswered
  );
}

/**
 * The refusal of a request to reload plugins; undefined for a request that the helper answers. The reload is never
 * deferred to keep the API's prompt cache.
 */
export function reloadRefusal(state: SessionState, request: ControlRequest): Effect | undefined {
  const { add_plugins: added, refuse_if_busy: refusesIfBusy } = request.body;
  if (!hasCapability(state.version, "addedPlugins")) return undefined;
  const plugins = added ?? [];
  if (!Array.isArray(plugins) || !plugins.every(isLocalPlugin)) {
    return refuse(request, {
      error: 'reload_plugins add_plugins must be a list of { type: "local", path } entries with ' +
        "absolute paths",
    });
  }
  return refusesIfBusy === true && isBusy(state)
    ? refuse(request, {
      error: "reload_plugins: the session is busy; ask again once it is idle",
      error_code: "reload_plugins_busy",
    })
    : undefined;
}

/**
 * Reports the plugins that the helper has read. The next child and later helpers are started with the added plugins.
 */
function onPluginsReloaded(step: ControlStep, request: ControlRequest, response: JsonObject): void {
  const { mcpServers, commands } = response;
  changeNextChild(step, { plugins: pluginArguments(step.state, request) });
  if (Array.isArray(commands)) step.emit({ type: "commands", commands });
  step.emit(
    respond(request, {
      response: { ...response, mcpServers: serversOf(step.state, { mcpServers }) },
    }),
  );
}

/** The arguments that load the plugins which this request and earlier ones have added. */
function pluginArguments(
  { version, changes }: SessionState,
  { body }: ControlRequest,
): readonly string[] {
  const { add_plugins: added } = body;
  const plugins = hasCapability(version, "addedPlugins") && Array.isArray(added) ? added : [];
  const args = plugins.filter(isLocalPlugin).map(({ path, skipMcpDiscovery }) =>
    `--plugin-dir${skipMcpDiscovery === true ? "-no-mcp" : ""}=${path}`
  );
  return [...new Set([...changes?.plugins ?? [], ...args])];
}

/** A plugin in a folder, as `reload_plugins` names it. */
interface LocalPlugin {
  readonly path: string;
  readonly skipMcpDiscovery?: unknown;
}

function isLocalPlugin(plugin: unknown): plugin is LocalPlugin {
  return isJsonObject(plugin) && plugin["type"] === "local" &&
    typeof plugin["path"] === "string" && plugin["path"].startsWith("/");
}

function isBusy({ phase, queue }: SessionState): boolean {
  return queue.length > 0 || phase === "entered" || phase === "working" || phase === "settling";
}
