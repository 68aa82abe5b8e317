import type { Cassette, PlayedCast } from "../../cassette/cassette_format.ts";
import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import { jsonObjectIn } from "../../../claude/wire/json_object_in.ts";

/** What was said in a recorded run, so that it can be said again. */
export interface RecordedTalk {
  /** One for a plain run. */
  readonly prompts: readonly string[];
  readonly isConversation: boolean;
  readonly model?: string;
  readonly maxTurns?: number;
  /** Whether its caller signed in with a key. */
  readonly hasKey: boolean;
}

/** A cassette without the events of its cast. */
type OpenedCassette = Omit<Cassette, "cast"> & { readonly cast: PlayedCast };

/** How a turn may have ended that would end like that again. */
const REPEATABLE: readonly unknown[] = ["success", "error_max_turns"];
/** Tools that ask nobody and change nothing. */
const HARMLESS: readonly unknown[] = ["ToolSearch"];

/**
 * What was said in a run, or why it cannot be said again by itself: a signal or a limit had a part in it, or it would
 * carry out calls of tools that are not allowed.
 *
 * @param options.allowed the tools that may run
 */
export function recordedTalk(
  { cast, tape }: OpenedCassette,
  { allowed }: { readonly allowed: readonly string[] },
): RecordedTalk | { readonly why: string } {
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
  const { session, frames: told } = cast.header.claude_print.conversation;
  if (session.output !== undefined) return { why: "its answer has a schema" };
  const lines = tape.flatMap((entry) => entry.dir === "write" ? [entry.data] : []);
  const prompts = lines.length === 0 ? firstPrompt(cast) : saidIn(lines);
  if ("why" in prompts) return prompts;
  const model = modelOf(frames);
  return {
    ...prompts,
    isConversation: lines.length > 0,
    ...(model === undefined ? {} : { model }),
    ...(session.maxTurns === undefined ? {} : { maxTurns: session.maxTurns }),
    hasKey: told.apiKeySource !== "none",
  };
}

/** The model that was asked: as it says at the beginning, or else as the first answer has it. */
function modelOf(frames: readonly JsonObject[]): string | undefined {
  const init = frames.find(({ type, subtype }) => type === "system" && subtype === "init");
  const answers = frames.flatMap(({ type, message }) =>
    type === "assistant" && isJsonObject(message) ? [message.model] : []
  );
  return [init?.model, ...answers].find((model): model is string =>
    typeof model === "string" && model !== "<synthetic>"
  );
}

type Prompts = Pick<RecordedTalk, "prompts"> | { readonly why: string };

function firstPrompt(cast: PlayedCast): Prompts {
  for (const { code, data } of cast.events) {
    const input = code === "h" ? jsonObjectIn(data) : undefined;
    if (input?.type !== "message" || !isJsonObject(input.message)) continue;
    const { text, content } = input.message;
    if (typeof text === "string" && content === undefined) return { prompts: [text] };
    break;
  }
  return { why: "its prompt is not recorded as a text" };
}

/** What the caller of a conversation said. */
function saidIn(lines: readonly string[]): Prompts {
  const prompts: string[] = [];
  for (const line of lines) {
    const said = jsonObjectIn(line);
    if (said === undefined) return { why: "a line of its caller cannot be read" };
    const { type, request, message } = said;
    // What is settled before the first prompt is not said again.
    if (type === "control_request" && isJsonObject(request) && request.subtype === "initialize") {
      continue;
    }
    const text = type === "user" && isJsonObject(message) ? textOf(message.content) : undefined;
    if (text === undefined) return { why: `its caller sent more than texts: ${kindIn(said)}` };
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

function textOf(content: unknown): string | undefined {
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
