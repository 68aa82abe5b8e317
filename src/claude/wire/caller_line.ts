import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { type ControlAnswer, type ControlRequest, givenId, requestId } from "./control.ts";
import { isTooDeep } from "./json_text.ts";

/** What a line on stdin says, with `--input-format stream-json`. */
export type CallerLine =
  /** Somebody's words. */
  | {
    readonly type: "user";
    readonly text: string;
    readonly content: unknown;
    readonly uuid?: string;
    /** What a program knows it by; a line has none. */
    readonly ticket?: string;
    readonly priority?: "now" | "next" | "later";
    /** Whether its sender says that a person wrote it. */
    readonly human?: true;
    /** Whether its sender says that it is not the user's: the model is told so. */
    readonly synthetic?: true;
    /** Whether its text is to reach the model as it is: no file that it mentions is read, and nothing in it is a command. */
    readonly literal?: true;
    /** Whether some of its blocks are images. */
    readonly images?: true;
    /** Why it cannot be sent. */
    readonly obstacle?: string;
    /** Whether that is so because it is no message that anybody could send. */
    readonly malformed?: true;
  }
  | { readonly type: "control"; readonly request: ControlRequest }
  /** What was asked is answered. */
  | { readonly type: "answer"; readonly answer: ControlAnswer }
  /** Nothing that follows it can be trusted. */
  | { readonly type: "unreadable"; readonly reason: string };

/** What Claude Code makes of a message without any. */
const NO_CONTENT = "(no content)";

const PRIORITIES = ["now", "next", "later"] as const;

/**
 * Reads a line as `claude -p` 2.1.330 does, which skips empty ones, a byte order mark and objects of types that it does
 * not know, and ends at one that is no JSON, or whose message is not the user's. Never throws.
 *
 * @returns undefined for a line that says nothing
 */
export function readCallerLine(line: string): CallerLine | undefined {
  if (line.trim() === "") return undefined;
  if (isTooDeep(line)) return unreadable("it is nested too deeply");
  let value: unknown;
  try {
    value = JSON.parse(line.replace(/^\uFEFF/u, ""));
  } catch (error) {
    return unreadable(`it is no JSON (${(error as Error).message})`);
  }
  if (value === null) return unreadable("it is null");
  if (!isJsonObject(value)) return undefined;
  switch (value.type) {
    case "user":
      return userLine(value);
    case "assistant":
      return assistantLine(value);
    case "control_request":
      return requestLine(value);
    case "control_response":
      return answerLine(value);
    default:
      return undefined;
  }
}

function unreadable(why: string): CallerLine {
  return { type: "unreadable", reason: `Cannot read a line of stdin: ${why}` };
}

/** Words of the assistant's from before the conversation, which `claude -p` has the model take for its own. */
function assistantLine({ message }: JsonObject): CallerLine {
  return {
    type: "user",
    text: "",
    content: isJsonObject(message) ? message.content : undefined,
    obstacle: "the interactive Claude Code takes no words for those of the assistant",
  };
}

function userLine(line: JsonObject): CallerLine {
  const { message, uuid, priority, origin, shouldQuery, client_composed: composed } = line;
  const { role, content } = isJsonObject(message) ? message : {};
  if (role !== "user") {
    return unreadable(`the role of its message is ${JSON.stringify(role)}, not "user"`);
  }
  const given = PRIORITIES.find((one) => one === priority);
  return {
    type: "user",
    content,
    ...(typeof uuid === "string" ? { uuid } : {}),
    ...(given === undefined ? {} : { priority: given }),
    ...(isJsonObject(origin) && origin["kind"] === "human" ? { human: true } : {}),
    ...(line.isSynthetic ? { synthetic: true } : {}),
    ...(composed ? { literal: true } : {}),
    ...(shouldQuery === false
      ? {
        obstacle: "one that asks nothing of the model has no place in the interactive Claude Code",
      }
      : {}),
    ...textOf(content),
  };
}

/** A program's message, as a line with it would be read. */
export function messageLine(
  content: unknown,
  fields: {
    readonly uuid?: string | undefined;
    readonly ticket: string;
    readonly priority?: "now" | "next" | "later" | undefined;
  },
): Extract<CallerLine, { readonly type: "user" }> {
  const { uuid, ticket, priority } = fields;
  return {
    type: "user",
    content,
    ticket,
    ...(uuid === undefined ? {} : { uuid }),
    ...(priority === undefined ? {} : { priority }),
    ...textOf(content),
  };
}

/** What a program says of its own accord. */
export type SpokenLine = Exclude<CallerLine, { readonly type: "unreadable" }>;

/** The line that says the same on stdin. */
export function lineText(line: SpokenLine): string {
  if (line.type === "control") {
    const { subtype, body } = line.request;
    return JSON.stringify({
      type: "control_request",
      ...givenId(line.request),
      request: { subtype, ...body },
    });
  }
  if (line.type === "answer") {
    const { id: request_id, ...said } = line.answer;
    const subtype = "error" in said ? "error" : "success";
    return JSON.stringify({ type: "control_response", response: { subtype, request_id, ...said } });
  }
  const { content, uuid, priority, synthetic, literal } = line;
  return JSON.stringify({
    type: "user",
    message: { role: "user", content },
    parent_tool_use_id: null,
    ...(uuid === undefined ? {} : { uuid }),
    ...(priority === undefined ? {} : { priority }),
    ...(synthetic === undefined ? {} : { isSynthetic: true }),
    ...(literal === undefined ? {} : { client_composed: true }),
  });
}

/** The text of a message, and what there is beside it or stands in its way. */
type MessageText = Pick<
  Extract<CallerLine, { readonly type: "user" }>,
  "text" | "images" | "obstacle" | "malformed"
>;

/** The text of a message; blocks of text are paragraphs of it, of which nobody hears those without any. */
function textOf(content: unknown): MessageText {
  if (typeof content === "string") return { text: content || NO_CONTENT };
  if (content === undefined || content === null) return { text: NO_CONTENT };
  if (!Array.isArray(content)) return malformed("its content is neither text nor blocks");
  if (content.length === 0) {
    return {
      text: "",
      obstacle: "no block is in it, and the interactive Claude Code needs a text",
    };
  }
  const texts: string[] = [];
  for (const block of content) {
    if (!isJsonObject(block)) return malformed("one of its blocks is no object");
    if (block.type === "image") {
      const obstacle = imageObstacle(block.source);
      if (obstacle !== undefined) return { text: "", ...obstacle };
    } else if (block.type !== "text") {
      return {
        text: "",
        obstacle: `claude-print passes no ${JSON.stringify(block.type)} blocks on`,
      };
    } else if (typeof block.text === "string") {
      texts.push(block.text);
    } else {
      return malformed("a text block in it has no text");
    }
  }
  const text = texts.filter((text) => text !== "").join("\n");
  return texts.length < content.length ? { text, images: true } : { text: text || NO_CONTENT };
}

function malformed(obstacle: string): MessageText & { readonly obstacle: string } {
  return { text: "", obstacle, malformed: true };
}

/** Why an image cannot be passed on, if it cannot. */
function imageObstacle(source: unknown): Omit<MessageText, "text"> | undefined {
  const { type, data } = isJsonObject(source) ? source : {};
  if (type !== "base64") {
    const given = JSON.stringify(type);
    return { obstacle: `claude-print passes images on as base64 data, not as ${given}` };
  }
  if (typeof data !== "string" || !isBase64(data)) {
    return malformed("an image in it is no base64 data");
  }
  return imageSuffix(data) === undefined
    ? { obstacle: "an image in it is no PNG, JPEG, GIF or WebP" }
    : undefined;
}

function isBase64(data: string): boolean {
  return data !== "" && /^[A-Za-z\d+/]+={0,2}$/u.test(data);
}

/** Without a request `claude -p` ends; one that is no object is asked for nothing, and is answered so (2.1.330). */
function requestLine(line: JsonObject): CallerLine {
  const { request } = line;
  if (!request) return unreadable("a control_request has no request");
  const { subtype, ...body } = isJsonObject(request) ? request : {};
  return {
    type: "control",
    request: {
      ...requestId(line),
      subtype: String(subtype),
      body,
    },
  };
}

function answerLine({ response: answer }: JsonObject): CallerLine | undefined {
  const { subtype, request_id: id, response, error } = isJsonObject(answer) ? answer : {};
  if (typeof id !== "string") return undefined;
  return {
    type: "answer",
    answer: subtype === "error"
      ? { id, error: typeof error === "string" ? error : "it does not say why" }
      : { id, response },
  };
}

/** How the files begin, as base64, that Claude Code's input box takes for images, and how their names end (2.1.330). */
const IMAGES: readonly (readonly [start: string, suffix: string])[] = [
  ["iVBORw0KGgo", ".png"],
  ["/9j/", ".jpg"],
  ["R0lGOD", ".gif"],
  ["UklGR", ".webp"],
];

/** How the name of a file ends that holds an image, given as base64; undefined for what is none that Claude Code takes. */
export function imageSuffix(data: string): string | undefined {
  return IMAGES.find(([start]) => data.startsWith(start))?.[1];
}
