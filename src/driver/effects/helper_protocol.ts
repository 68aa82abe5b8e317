import type { HelperReply } from "../../conversation/control/input.ts";
import { asText, isJsonObject, type JsonObject } from "../../json_object.ts";
import { isSessionId } from "../../claude/transcript/session_files.ts";
import { SET_MODEL, UPDATE_SETTINGS } from "../../conversation/protocol/requests/child_changes.ts";
import { GENERATE_TITLE, RELOAD_PLUGINS } from "../../conversation/protocol/requests/ask_helper.ts";
import { MCP_RESOURCE, SET_SERVERS } from "../../conversation/protocol/requests/mcp_requests.ts";
import type { ControlRequest } from "../../claude/wire/control.ts";
import { isTooDeep } from "../../claude/wire/json_text.ts";

/** A message without a query to the model. Claude Code 2.1.330 answers it with `system/init`, which describes the session. */
export const EMPTY_MESSAGE = {
  type: "user",
  message: { role: "user", content: "-" },
  shouldQuery: false,
};

/** The ids of the questions about settings before and after a request that may change them. */
export const BEFORE = "before";
export const AFTER = "after";

/** Asks for the settings in force. */
export function settingsQuestion(place: string): RequestLine {
  return requestLine(place, { subtype: "get_settings", body: {} }, undefined);
}

/** Requests whose answers depend neither on messages nor on MCP servers, so that a helper can always answer them. */
export const STATELESS: readonly string[] = [
  ...[
    "file_suggestions",
    GENERATE_TITLE,
    "get_binary_version",
    "get_hooks_listing",
    "get_settings",
    "get_usage",
  ],
  ...["get_workspace_diff", "list_models", "list_permission_rules", "read_file", SET_MODEL],
];

/** A request as a line of the wire. */
export interface RequestLine {
  readonly type: "control_request";
  readonly request_id: string;
  readonly request: { readonly subtype: string };
}

/**
 * Splits requests into those that are sent immediately, `initialize` first, and those that wait until MCP servers have
 * connected. `mcp_set_servers` waits only together with questions about servers.
 */
export function splitByServers(
  open: ReadonlyMap<string, ControlRequest>,
  agents: JsonObject | undefined,
): readonly [RequestLine[], RequestLine[]] {
  const lines = [...open].flatMap(([place, request]) => requestLines(place, request, agents));
  const asksServers = ({ request }: RequestLine) =>
    ["mcp_status", MCP_RESOURCE, RELOAD_PLUGINS].includes(request.subtype);
  const isAsked = lines.some(asksServers);
  const isOnServers = (line: RequestLine) =>
    asksServers(line) || (isAsked && line.request.subtype === SET_SERVERS);
  const others = lines.filter((line) => !isOnServers(line));
  return [
    [...others.filter(isInitialize), ...others.filter((line) => !isInitialize(line))],
    lines.filter(isOnServers),
  ];
}

/** The lines of a request. A choice of a model is sent between two questions about settings. */
export function requestLines(
  place: string,
  request: ControlRequest,
  agents?: JsonObject,
): readonly RequestLine[] {
  const line = requestLine(place, request, agents);
  return request.subtype === SET_MODEL
    ? [settingsQuestion(`${place} ${BEFORE}`), line, settingsQuestion(`${place} ${AFTER}`)]
    : [line];
}

/**
 * The line of a request.
 *
 * @param place the id of the request for the helper
 * @param agents the agents to pass, if the request is `initialize`
 */
export function requestLine(
  place: string,
  { subtype, body }: Pick<ControlRequest, "subtype" | "body">,
  agents: JsonObject | undefined,
): RequestLine {
  const asked = subtype === "initialize" ? initializeBody(body, agents) : body;
  return { type: "control_request", request_id: place, request: { ...asked, subtype } };
}

/** Passes only plugins and agents, because all other fields of the caller are in the helper's arguments. */
function initializeBody({ plugins }: JsonObject, agents: JsonObject | undefined): JsonObject {
  return {
    ...(plugins === undefined ? {} : { plugins }),
    ...(agents === undefined ? {} : { agents }),
  };
}

/** Whether a line is an `initialize`. */
export function isInitialize({ request }: RequestLine): boolean {
  return request.subtype === "initialize";
}

/** Whether a line changes settings, which the description of the session shows. */
export function isUpdate({ request }: RequestLine): boolean {
  return request.subtype === UPDATE_SETTINGS;
}

/** Whether a frame describes the session, or is a result, after which no description comes. */
export function describesSession(frame: JsonObject | undefined): frame is JsonObject {
  return frame?.["subtype"] === "init" || frame?.["type"] === "result";
}

/** A slash command as a message. */
export function commandMessage({ body }: ControlRequest) {
  return { type: "user", message: { role: "user", content: body["prompt"] } };
}

/** The outcome of a slash command. It is a failure if the command was sent to the model. */
export function commandOutcome(
  result: JsonObject,
  { said, clears, title, commands }: {
    readonly said: JsonObject | undefined;
    readonly clears: boolean;
    readonly title: string | undefined;
    readonly commands: unknown;
  },
): HelperReply {
  const { result: text, is_error: isError, num_turns: turns, local_command: name } = result;
  if (typeof text !== "string" || isError === true || turns !== 0) {
    return { failure: `a headless Claude Code has made something else of it: ${asText(text)}` };
  }
  const { session_id: begun } = result;
  if (clears && !isSessionId(begun)) {
    return { failure: "a headless Claude Code has not said which session it has begun" };
  }
  return {
    response: {
      text,
      ...(name === undefined ? {} : { name }),
      ...(clears ? { begun } : {}),
      ...(title === undefined ? {} : { title }),
      ...(commands === undefined ? {} : { commands }),
      ...(said === undefined ? {} : { words: assistantText(said), fields: ownFields(said) }),
    },
  };
}

/** The new title of the session; undefined for other frames. */
export function newTitle(frame: JsonObject | undefined): string | undefined {
  const { subtype, title } = frame ?? {};
  return subtype === "session_title_changed" && typeof title === "string" ? title : undefined;
}

/** The settings in force, from an answer to `get_settings`. */
export function settingsInForce({ said }: HelperAnswer): JsonObject | undefined {
  const { applied } = "response" in said ? said.response : {};
  return isJsonObject(applied) ? applied : undefined;
}

/**
 * Collects the three answers that belong to a choice of a model, in any order, and returns the complete one: the choice
 * with the settings before and after it.
 */
export function completeChoice(
  parts: Map<string, HelperAnswer>,
  told: HelperAnswer,
): HelperAnswer | undefined {
  parts.set(told.place, told);
  const place = choicePlace(told.place);
  const [before, choice, after] = [`${place} ${BEFORE}`, place, `${place} ${AFTER}`]
    .map((each) => parts.get(each));
  if (before === undefined || choice === undefined || after === undefined) return undefined;
  return "response" in choice.said
    ? {
      place,
      said: {
        response: {
          ...choice.said.response,
          before: settingsInForce(before),
          after: settingsInForce(after),
        },
      },
    }
    : choice;
}

/** The id of the choice to which a part belongs. */
export function choicePlace(place: string): string {
  return place.split(" ", 1)[0] ?? "";
}

function assistantText({ message }: JsonObject): string {
  const content = isJsonObject(message) && Array.isArray(message["content"])
    ? message["content"]
    : [];
  return content.map((block) => isJsonObject(block) ? asText(block["text"]) : "").join("");
}

/** The fields of a frame that only some frames with text have. */
function ownFields(frame: JsonObject): JsonObject {
  const { type: _, message: __, parent_tool_use_id: ___, session_id: ____, ...rest } = frame;
  const { uuid: _____, timestamp: ______, ...fields } = rest;
  return fields;
}

/** Matches lines that may contain an answer. Other lines are not parsed. */
const RELEVANT =
  /"(?:control_response|init|result|assistant|session_title_changed|commands_changed)"/u;

/** Escapes a text as inside a JSON string. */
export function escapeJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** Parses a line; undefined if it is no JSON object or cannot contain an answer. */
export function parseFrame(line: string): JsonObject | undefined {
  if (!RELEVANT.test(line) || isTooDeep(line)) return undefined;
  try {
    const frame: unknown = JSON.parse(line);
    return isJsonObject(frame) ? frame : undefined;
  } catch {
    return undefined;
  }
}

/** An answer; `place` is the id of the request for the helper. */
export interface HelperAnswer {
  readonly place: string;
  readonly said: HelperReply;
}

/** Reads a `control_response`; undefined for other frames. */
export function parseAnswer({ type, response: told }: JsonObject): HelperAnswer | undefined {
  if (type !== "control_response" || !isJsonObject(told)) return undefined;
  const { subtype, request_id: place, response, error, error_code: errorCode, model } = told;
  if (typeof place !== "string") return undefined;
  return subtype === "success"
    ? { place, said: { response: isJsonObject(response) ? adaptResponse(response) : {} } }
    : {
      place,
      said: {
        error: asText(error),
        ...(typeof errorCode === "string" ? { errorCode } : {}),
        ...(typeof model === "string" ? { model } : {}),
      },
    };
}

/** Replaces the helper's pid by this program's, and hides the setting that switches off the helper's hooks. */
function adaptResponse(response: JsonObject): JsonObject {
  const { pid, effective, sources } = response;
  return {
    ...response,
    ...enableHooks(response),
    ...(typeof pid === "number" ? { pid: Deno.pid } : {}),
    ...(isJsonObject(effective) ? { effective: withoutHookSwitch(effective) } : {}),
    ...(Array.isArray(sources) ? { sources: sources.flatMap(callerSources) } : {}),
  };
}

/** Shows hooks as enabled, because they run in the child, unless the child's arguments also disable them. */
function enableHooks({ hooks, policy, safeMode, bareMode }: JsonObject): JsonObject {
  if (!Array.isArray(hooks) || !isJsonObject(policy) || (safeMode ?? bareMode) !== undefined) {
    return {};
  }
  return {
    hooks: hooks.map((hook) => {
      const { disabled: _, ...on } = isJsonObject(hook) ? hook : {};
      return on;
    }),
    policy: { ...policy, allDisabled: false },
  };
}

/** A source of settings without this program's own settings; empty if it has no others. */
function callerSources(source: unknown): readonly unknown[] {
  if (!isJsonObject(source) || !isJsonObject(source["settings"])) return [source];
  const settings = withoutHookSwitch(source["settings"]);
  const isOurs = source["source"] === "flagSettings" && Object.keys(settings).length === 0;
  return isOurs ? [] : [{ ...source, settings }];
}

function withoutHookSwitch({ disableAllHooks: _, ...settings }: JsonObject): JsonObject {
  return settings;
}
