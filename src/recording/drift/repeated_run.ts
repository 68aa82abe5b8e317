import type { Cassette, CastReader } from "../cassette/cassette_format.ts";
import { asText, isJsonObject, type JsonObject } from "../../json_object.ts";
import { parseJsonObject } from "../../claude/wire/json_text.ts";
import type { Drift } from "./findings.ts";
import { frameName } from "./pieces.ts";
import { definedFields } from "../../defined_fields.ts";

/** The prompts of a recorded run, to be sent again. */
export interface RecordedPrompts {
  /** One for a run that is not a conversation. */
  readonly prompts: readonly string[];
  readonly isConversation: boolean;
  readonly model?: string;
  readonly maxTurns?: number;
  /** True if the caller used an API key. */
  readonly hasKey: boolean;
}

/** A cassette whose cast is open, with its events read on demand. */
type OpenedCassette = Omit<Cassette, "cast"> & { readonly cast: CastReader };

/** Results that a repeated run reaches too. */
const REPEATABLE: readonly unknown[] = ["success", "error_max_turns"];
/** Tools that ask for no permission and change nothing. */
const HARMLESS: readonly unknown[] = ["ToolSearch"];

/**
 * Returns the prompts of a recorded run, or why the run cannot be repeated: a signal or a limit ended it, or it would
 * call tools that are not allowed.
 *
 * @param options.allowed the tools that may run
 */
export function repeatablePrompts(
  { cast, tape }: OpenedCassette,
  { allowed }: { readonly allowed: readonly string[] },
): RecordedPrompts | { readonly why: string } {
  const frames = tape.flatMap((entry) => entry.dir === "read" ? [entry.frame] : []);
  const results = frames.filter(({ type }) => type === "result");
  const odd = results.find(({ subtype }) => !REPEATABLE.includes(subtype));
  if (results.length === 0) return { why: "it has no result" };
  if (odd !== undefined) return { why: `it ended with ${String(odd["subtype"])}` };
  const tools = frames.flatMap(toolsCalled);
  const forbidden = tools.find((tool) => !allowed.includes(tool) && !HARMLESS.includes(tool));
  if (forbidden !== undefined) {
    return { why: `it calls ${forbidden}, which --allowedTools does not name` };
  }
  const { session, frames: options } = cast.header.claude_print.conversation;
  if (session.output !== undefined) return { why: "its answer has a schema" };
  const lines = tape.flatMap((entry) => entry.dir === "write" ? [entry.data] : []);
  const prompts = lines.length === 0 ? firstPrompt(cast) : callerPrompts(lines);
  if ("why" in prompts) return prompts;
  const model = modelOf(frames);
  return {
    ...prompts,
    isConversation: lines.length > 0,
    ...definedFields({ model, maxTurns: session.maxTurns }),
    hasKey: options.apiKeySource !== "none",
  };
}

/** Returns the model of a run: as the init frame names it, or else the first answer. */
function modelOf(frames: readonly JsonObject[]): string | undefined {
  const init = frames.find(({ type, subtype }) => type === "system" && subtype === "init");
  const answers = frames.flatMap(({ type, message }) =>
    type === "assistant" && isJsonObject(message) ? [message.model] : []
  );
  return [init?.model, ...answers].find((model): model is string =>
    typeof model === "string" && model !== "<synthetic>"
  );
}

type Prompts = Pick<RecordedPrompts, "prompts"> | { readonly why: string };

function firstPrompt(cast: CastReader): Prompts {
  for (const { code, data } of cast.events) {
    const input = code === "h" ? parseJsonObject(data) : undefined;
    if (input?.type !== "message" || !isJsonObject(input.message)) continue;
    const { text, content } = input.message;
    if (typeof text === "string" && content === undefined) return { prompts: [text] };
    break;
  }
  return { why: "its prompt is not recorded as a text" };
}

/** Returns the prompts of a conversation's caller. */
function callerPrompts(lines: readonly string[]): Prompts {
  const prompts: string[] = [];
  for (const line of lines) {
    const sent = parseJsonObject(line);
    if (sent === undefined) return { why: "a line of its caller cannot be read" };
    const { type, request, message } = sent;
    // A repeated run initialises by itself.
    if (type === "control_request" && isJsonObject(request) && request.subtype === "initialize") {
      continue;
    }
    const text = type === "user" && isJsonObject(message)
      ? contentText(message.content)
      : undefined;
    if (text === undefined) return { why: `its caller sent more than texts: ${kindIn(sent)}` };
    prompts.push(text);
  }
  return prompts.length === 0 ? { why: "its caller said nothing" } : { prompts };
}

function kindIn({ type, request }: JsonObject): string {
  const kind = typeof type === "string" ? type : "something";
  return isJsonObject(request) && typeof request.subtype === "string"
    ? `${kind} ${request.subtype}`
    : kind;
}

function contentText(content: unknown): string | undefined {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return undefined;
  const texts = content.map((block) =>
    isJsonObject(block) && block.type === "text" && typeof block.text === "string"
      ? block.text
      : undefined
  );
  return texts.some((text) => text === undefined) ? undefined : texts.join("\n");
}

function toolsCalled(frame: JsonObject): readonly string[] {
  const { type, message } = frame;
  if (type !== "assistant" || !isJsonObject(message) || !Array.isArray(message.content)) return [];
  return message.content.flatMap((block) =>
    isJsonObject(block) && block.type === "tool_use" && typeof block.name === "string"
      ? [block.name]
      : []
  );
}

/** What Claude Code did with the prompts of a cassette. */
export interface RepeatedRun {
  readonly frames: readonly JsonObject[];
  /** The bodies of the requests to the model, in order. */
  readonly requests: readonly JsonObject[];
  /** Of the run, or of the last turn of a conversation. */
  readonly exitCode: number;
  /** Why the exit code is not 0. */
  readonly failure?: string;
  /** Why the run did not take place. There are no frames then. */
  readonly problem?: string;
  /** The first request that the cassette could not answer, if any. */
  readonly missed?: string;
}

/** Returns how a run differs from the recorded one, with equal prompts and responses of the API. */
export function compareWithRecording(
  recorded: readonly JsonObject[],
  { frames, problem, missed }: Pick<RepeatedRun, "frames" | "problem" | "missed">,
): readonly Drift[] {
  if (problem !== undefined) return [difference("run", problem)];
  return [
    ...(missed === undefined ? [] : [difference("api", missed)]),
    ...compareFrames(recorded, frames),
  ];
}

/** Returns how two versions of Claude Code differ, with equal prompts and responses of the API. */
export function compareRuns(before: RepeatedRun, now: RepeatedRun): readonly Drift[] {
  const why = now.failure === undefined ? "" : `: ${now.failure}`;
  return [
    ...(before.exitCode === now.exitCode
      ? []
      : [difference("exit code", `${now.exitCode} instead of ${before.exitCode}${why}`)]),
    ...compareWithRecording(before.frames, now),
    ...(now.problem === undefined ? compareRequests(before.requests, now.requests) : []),
  ];
}

/**
 * Fields of a request that are not compared: ids differ in each run, and nearly each version changes texts and
 * schemas.
 */
const NOT_COMPARED = ["metadata", "diagnostics", "system", "messages", "tools"];

function compareRequests(
  before: readonly JsonObject[],
  now: readonly JsonObject[],
): readonly Drift[] {
  if (before.length !== now.length) {
    return [difference("requests", `${now.length} instead of ${before.length}`)];
  }
  const found = before.flatMap((one, index) => {
    const other = now[index] ?? {};
    const names = new Set([...Object.keys(one), ...Object.keys(other)]);
    const changes = [...names].filter((name) =>
      !NOT_COMPARED.includes(name) && JSON.stringify(one[name]) !== JSON.stringify(other[name])
    ).map((name) => `${name}: ${shortText(other[name])} instead of ${shortText(one[name])}`);
    const [tools, others] = [toolNames(one), toolNames(other)];
    const [messages, changed] = [messageKinds(one), messageKinds(other)];
    return [
      ...changes,
      ...tools.filter((tool) => !others.includes(tool)).map((tool) => `without tool ${tool}`),
      ...others.filter((tool) => !tools.includes(tool)).map((tool) => `with tool ${tool}`),
      ...(messages === changed
        ? []
        : [`messages of request ${index + 1}: ${changed} instead of ${messages}`]),
    ];
  });
  return [...new Set(found)].map((what) => difference("requests", what));
}

function toolNames({ tools }: JsonObject): readonly string[] {
  return Array.isArray(tools)
    ? tools.flatMap((tool) =>
      isJsonObject(tool) && typeof tool.name === "string" ? [tool.name] : []
    )
    : [];
}

/** Describes the messages of a request by role and blocks: `user (text, text), assistant (tool_use)`. */
function messageKinds({ messages }: JsonObject): string {
  if (!Array.isArray(messages)) return "none";
  return messages.filter(isJsonObject).map(({ role, content }) => {
    const kinds = Array.isArray(content) ? content.filter(isJsonObject).map(blockKind) : ["text"];
    return `${asText(role)} (${kinds.join(", ")})`;
  }).join(", ");
}

function blockKind({ type, is_error: isError }: JsonObject): string {
  return isError === true ? `${asText(type)} with an error` : asText(type);
}

/** Frames that depend on options, on the caller or on timing. */
const VARIABLE_FRAMES = [
  /^(?:stream_event|rate_limit_event|control_|keep_alive|transcript_mirror|command_lifecycle)/u,
  /^system\/(?:hook_|api_retry|status|thinking_tokens|session_state_changed|shell_output_delta|notification)/u,
];

/** Fields of a result that are equal in each run. */
const STABLE_FIELDS = ["subtype", "is_error", "num_turns", "stop_reason", "result"];

function compareFrames(
  recorded: readonly JsonObject[],
  again: readonly JsonObject[],
): readonly Drift[] {
  const [before, now] = [kindsOf(recorded), kindsOf(again)];
  return [
    ...[...before].filter((kind) => !now.has(kind)).map((kind) =>
      difference("frames", `${kind} does not come`)
    ),
    ...[...now].filter((kind) => !before.has(kind)).map((kind) =>
      difference("frames", `${kind} comes`)
    ),
    ...compareResults(recorded.filter(isResult), again.filter(isResult)),
  ];
}

function compareResults(
  recorded: readonly JsonObject[],
  again: readonly JsonObject[],
): readonly Drift[] {
  if (recorded.length !== again.length) {
    return [difference("results", `${again.length} instead of ${recorded.length}`)];
  }
  return recorded.flatMap((before, turn) => {
    const now = again[turn] ?? {};
    return STABLE_FIELDS.filter((name) =>
      JSON.stringify(before[name]) !== JSON.stringify(now[name])
    )
      .map((name) =>
        difference(
          `result of turn ${turn + 1}`,
          `${name}: ${shortText(now[name])} instead of ${shortText(before[name])}`,
        )
      );
  });
}

function kindsOf(frames: readonly JsonObject[]): ReadonlySet<string> {
  const kinds = frames.filter((frame) => !isResult(frame)).map(frameName);
  return new Set(kinds.filter((kind) => !VARIABLE_FRAMES.some((pattern) => pattern.test(kind))));
}

function isResult({ type }: JsonObject): boolean {
  return type === "result";
}

function difference(where: string, what: string): Drift {
  return { check: "answered otherwise", where, what };
}

function shortText(value: unknown): string {
  if (value === undefined) return "nothing";
  const text = asText(value);
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}
