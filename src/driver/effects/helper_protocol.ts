import type { Consulted } from "../../conversation/control/input.ts";
import { asText, isJsonObject, type JsonObject } from "../../json_object.ts";
import { isSessionId } from "../../claude/transcript/session_files.ts";
import { SET_MODEL, UPDATE_SETTINGS } from "../../conversation/protocol/requests/child_changes.ts";
import { GENERATE_TITLE, RELOAD_PLUGINS } from "../../conversation/protocol/requests/ask_helper.ts";
import { MCP_RESOURCE, SET_SERVERS } from "../../conversation/protocol/requests/mcp_requests.ts";
import type { ControlRequest } from "../../claude/wire/control.ts";
import { isTooDeep } from "../../claude/wire/json_text.ts";

/**
 * With a message that asks the model for nothing Claude Code tells what a session is like (2.1.330); what is
 * headless before that cannot hold a conversation here.
 */
export const EMPTY_MESSAGE = {
  type: "user",
  message: { role: "user", content: "-" },
  shouldQuery: false,
};

/** What is in force is asked before what may change it, and after it. */
export const BEFORE = "before";
export const AFTER = "after";

/** Asks what is in force, by an id. */
export function settingsQuestion(place: string): RequestLine {
  return requestLine(place, { subtype: "get_settings", body: {} }, undefined);
}

/**
 * Requests that a headless Claude Code answers at any time, whatever it was asked before: their answers tell nothing of its
 * messages and of MCP servers.
 */
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
 * What is asked at once, an initialization first, and what is asked once MCP servers had time to connect. To set others has
 * its place among such questions, and takes no servers of the child's by itself.
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

/** A request as it is asked, with what is asked before and after it. */
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
 * A request as it is asked.
 *
 * @param place its id there
 * @param agents those that it is told of as it is initialized, if it is told of some
 */
export function requestLine(
  place: string,
  { subtype, body }: Pick<ControlRequest, "subtype" | "body">,
  agents: JsonObject | undefined,
): RequestLine {
  const asked = subtype === "initialize" ? initializeBody(body, agents) : body;
  return { type: "control_request", request_id: place, request: { ...asked, subtype } };
}

/** What an initialization asks for is among the arguments, and so are plugins: of them is told whether they are there. */
function initializeBody({ plugins }: JsonObject, agents: JsonObject | undefined): JsonObject {
  return {
    ...(plugins === undefined ? {} : { plugins }),
    ...(agents === undefined ? {} : { agents }),
  };
}

/** Whether it is initialized by it. */
export function isInitialize({ request }: RequestLine): boolean {
  return request.subtype === "initialize";
}

/** Whether it changes settings, of which the session is told. */
export function isUpdate({ request }: RequestLine): boolean {
  return request.subtype === UPDATE_SETTINGS;
}

/** Whether a frame says what the session is like, or is the last one that could have been before it. */
export function describesSession(frame: JsonObject | undefined): frame is JsonObject {
  return frame?.["subtype"] === "init" || frame?.["type"] === "result";
}

/** A slash command as a message. */
export function commandMessage({ body }: ControlRequest) {
  return { type: "user", message: { role: "user", content: body["prompt"] } };
}

/** What came of a slash command; only one that asks no model is no failure. */
export function commandOutcome(
  result: JsonObject,
  { said, clears, title, commands }: {
    readonly said: JsonObject | undefined;
    readonly clears: boolean;
    readonly title: string | undefined;
    readonly commands: unknown;
  },
): Consulted {
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

/** The title that a session has got; undefined for a frame that does not tell of one. */
export function newTitle(frame: JsonObject | undefined): string | undefined {
  const { subtype, title } = frame ?? {};
  return subtype === "session_title_changed" && typeof title === "string" ? title : undefined;
}

/** What is in force, by an answer to `get_settings`. */
export function settingsInForce({ said }: HelperAnswer): JsonObject | undefined {
  const { applied } = "response" in said ? said.response : {};
  return isJsonObject(applied) ? applied : undefined;
}

/**
 * Takes what was said of a choice of a model, and gives the whole answer to it once nothing is missing: with what was in
 * force before it and after it, which may be told before the choice is (2.1.330).
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

/** What a frame says beside what every frame with words says. */
function ownFields(frame: JsonObject): JsonObject {
  const { type: _, message: __, parent_tool_use_id: ___, session_id: ____, ...rest } = frame;
  const { uuid: _____, timestamp: ______, ...fields } = rest;
  return fields;
}

/** The words of which a line of the wire that says something of what is asked has one. */
const RELEVANT =
  /"(?:control_response|init|result|assistant|session_title_changed|commands_changed)"/u;

/** A text as it stands within one of JSON. */
export function escapeJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** A line of the wire; undefined for what is none, and for one that says nothing of what is asked. */
export function parseFrame(line: string): JsonObject | undefined {
  if (!RELEVANT.test(line) || isTooDeep(line)) return undefined;
  try {
    const frame: unknown = JSON.parse(line);
    return isJsonObject(frame) ? frame : undefined;
  } catch {
    return undefined;
  }
}

/** An answer; `place` is the id that its request was given. */
export interface HelperAnswer {
  readonly place: string;
  readonly said: Consulted;
}

/** The answer that a line is; undefined for another one. */
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

/** What the caller is told of this program: its own pid, and not how the helper is kept from running hooks. */
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

/** A list of hooks that are none of the helper's to run: they are on, unless its arguments silence them in the child as well. */
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

/** A source of settings, as far as it is the caller's. */
function callerSources(source: unknown): readonly unknown[] {
  if (!isJsonObject(source) || !isJsonObject(source["settings"])) return [source];
  const settings = withoutHookSwitch(source["settings"]);
  const isOurs = source["source"] === "flagSettings" && Object.keys(settings).length === 0;
  return isOurs ? [] : [{ ...source, settings }];
}

function withoutHookSwitch({ disableAllHooks: _, ...settings }: JsonObject): JsonObject {
  return settings;
}
