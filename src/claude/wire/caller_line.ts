import { isJsonObject, type JsonObject } from "../../json_object.ts";
import {
  type ControlAnswer,
  type ControlRequest,
  parseRequestId,
  requestIdField,
} from "./control.ts";
import { isTooDeep } from "./json_text.ts";
import { definedFields } from "../../defined_fields.ts";

/** A parsed line of the caller on stdin, with `--input-format stream-json`. */
export type CallerLine =
  /** A message to the model. */
  | {
    readonly type: "user";
    readonly text: string;
    readonly content: unknown;
    readonly uuid?: string;
    /** The id that a library call gave the message; a line on stdin has none. */
    readonly ticket?: string;
    readonly priority?: "now" | "next" | "later";
    /** Present if the caller marked the message as written by a person (`origin.kind`). */
    readonly human?: true;
    /** Present if the caller marked the message as not written by the user (`isSynthetic`). The model sees this. */
    readonly synthetic?: true;
    /** Present if the text must reach the model unchanged: without reading mentioned files or running commands. */
    readonly literal?: true;
    /** Present if the content has images. */
    readonly images?: true;
    /** Why the message cannot be sent. */
    readonly obstacle?: string;
    /** Present with `obstacle` if `claude -p` could not send the message either, because it is malformed. */
    readonly malformed?: true;
  }
  | { readonly type: "control"; readonly request: ControlRequest }
  /** The answer to a question. */
  | { readonly type: "answer"; readonly answer: ControlAnswer }
  /** A line that ends the input: it is not JSON or has an invalid role. */
  | { readonly type: "unreadable"; readonly reason: string };

/** The text that Claude Code sends for an empty message. */
const NO_CONTENT = "(no content)";

const PRIORITIES = ["now", "next", "later"] as const;

/**
 * Parses a line as `claude -p` 2.1.330 does. It ignores empty lines, a byte order mark and objects of an unknown type. It
 * ends at a line that is not JSON or that has a message of another role than `user`. Never throws.
 *
 * @returns undefined for an ignored line
 */
export function readCallerLine(line: string): CallerLine | undefined {
  if (line.trim() === "") return undefined;
  if (isTooDeep(line)) return unreadableLine("it is nested too deeply");
  let value: unknown;
  try {
    value = JSON.parse(line.replace(/^\uFEFF/u, ""));
  } catch (error) {
    return unreadableLine(`it is no JSON (${(error as Error).message})`);
  }
  if (value === null) return unreadableLine("it is null");
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

function unreadableLine(why: string): CallerLine {
  return { type: "unreadable", reason: `Cannot read a line of stdin: ${why}` };
}

/** Rejects a message of the assistant. `claude -p` accepts it as an earlier answer of the model. */
function assistantLine({ message }: JsonObject): CallerLine {
  return {
    type: "user",
    text: "",
    content: isJsonObject(message) ? message.content : undefined,
    obstacle: "the interactive Claude Code does not accept messages of the assistant",
  };
}

function userLine(line: JsonObject): CallerLine {
  const { message, uuid, priority, origin, shouldQuery, client_composed: isLiteral } = line;
  const { role, content } = isJsonObject(message) ? message : {};
  if (role !== "user") {
    return unreadableLine(`the role of its message is ${JSON.stringify(role)}, not "user"`);
  }
  const knownPriority = PRIORITIES.find((one) => one === priority);
  return {
    type: "user",
    content,
    ...(typeof uuid === "string" ? { uuid } : {}),
    ...definedFields({ priority: knownPriority }),
    ...(isJsonObject(origin) && origin["kind"] === "human" ? { human: true } : {}),
    ...(line.isSynthetic ? { synthetic: true } : {}),
    ...(isLiteral ? { literal: true } : {}),
    ...(shouldQuery === false
      ? {
        obstacle: "the interactive Claude Code does not accept a message with shouldQuery false",
      }
      : {}),
    ...readMessageText(content),
  };
}

/** Builds the message of a library call, as if `readCallerLine` had parsed it. */
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
    ...definedFields({ uuid, priority }),
    ...readMessageText(content),
  };
}

/** Every line but an unreadable one. */
export type ReadableLine = Exclude<CallerLine, { readonly type: "unreadable" }>;

/** Formats a line as JSON that `readCallerLine` parses to the same line. */
export function formatCallerLine(line: ReadableLine): string {
  if (line.type === "control") {
    const { subtype, body } = line.request;
    return JSON.stringify({
      type: "control_request",
      ...requestIdField(line.request),
      request: { subtype, ...body },
    });
  }
  if (line.type === "answer") {
    const { id: request_id, ...answer } = line.answer;
    const subtype = "error" in answer ? "error" : "success";
    return JSON.stringify({
      type: "control_response",
      response: { subtype, request_id, ...answer },
    });
  }
  const { content, uuid, priority, synthetic, literal } = line;
  return JSON.stringify({
    type: "user",
    message: { role: "user", content },
    parent_tool_use_id: null,
    ...definedFields({ uuid, priority }),
    ...(synthetic === undefined ? {} : { isSynthetic: true }),
    ...(literal === undefined ? {} : { client_composed: true }),
  });
}

/** The text of a message, whether it has images, and why it cannot be sent. */
type MessageText = Pick<
  Extract<CallerLine, { readonly type: "user" }>,
  "text" | "images" | "obstacle" | "malformed"
>;

/** Joins the text blocks of a message with line feeds, without empty blocks, and checks its images. */
function readMessageText(content: unknown): MessageText {
  if (typeof content === "string") return { text: content || NO_CONTENT };
  if (content === undefined || content === null) return { text: NO_CONTENT };
  if (!Array.isArray(content)) return malformedMessage("its content is neither text nor blocks");
  if (content.length === 0) {
    return {
      text: "",
      obstacle: "it has no content blocks, and the interactive Claude Code needs a text",
    };
  }
  const texts: string[] = [];
  for (const block of content) {
    if (!isJsonObject(block)) return malformedMessage("one of its blocks is no object");
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
      return malformedMessage("a text block in it has no text");
    }
  }
  const text = texts.filter((text) => text !== "").join("\n");
  return texts.length < content.length ? { text, images: true } : { text: text || NO_CONTENT };
}

function malformedMessage(obstacle: string): MessageText & { readonly obstacle: string } {
  return { text: "", obstacle, malformed: true };
}

/** Returns why an image cannot be sent; undefined if it can. */
function imageObstacle(source: unknown): Omit<MessageText, "text"> | undefined {
  const { type, data } = isJsonObject(source) ? source : {};
  if (type !== "base64") {
    const given = JSON.stringify(type);
    return { obstacle: `claude-print passes images on as base64 data, not as ${given}` };
  }
  if (typeof data !== "string" || !isBase64(data)) {
    return malformedMessage("an image in it is no base64 data");
  }
  return imageSuffix(data) === undefined
    ? { obstacle: "an image in it is no PNG, JPEG, GIF or WebP" }
    : undefined;
}

function isBase64(data: string): boolean {
  return data !== "" && /^[A-Za-z\d+/]+={0,2}$/u.test(data);
}

/** Parses a control request as `claude -p` 2.1.330: a missing request ends the input, another value is an unknown request. */
function requestLine(line: JsonObject): CallerLine {
  const { request } = line;
  if (!request) return unreadableLine("a control_request has no request");
  const { subtype, ...body } = isJsonObject(request) ? request : {};
  return {
    type: "control",
    request: {
      ...parseRequestId(line),
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

/** The images that the input box of Claude Code 2.1.330 recognises: their first bytes in base64, and the suffix of their files. */
const IMAGE_FORMATS: readonly (readonly [start: string, suffix: string])[] = [
  ["iVBORw0KGgo", ".png"],
  ["/9j/", ".jpg"],
  ["R0lGOD", ".gif"],
  ["UklGR", ".webp"],
];

/** Returns the file suffix of an image in base64; undefined if Claude Code does not recognise it. */
export function imageSuffix(data: string): string | undefined {
  return IMAGE_FORMATS.find(([start]) => data.startsWith(start))?.[1];
}
