import { asText, isJsonObject, type JsonObject } from "../../json_object.ts";

/** What sort of thing a piece is: each is known by names of its own. */
export type PieceSort =
  /** A line of stream-json, by type and subtype. */
  | "frame"
  /** A line of a transcript, by type and subtype, or by what is attached. */
  | "line"
  /** What a hook is given, by its event. */
  | "hook"
  /** A block of a message, by its type. */
  | "block"
  /** An event of the API's stream, by its type and that of its delta. */
  | "event"
  /** What the child says in its status file. */
  | "status"
  /** An object that stands in one of these: it has no name that could be new. */
  | "part";

/** An object whose fields can be looked at. */
export interface Piece {
  readonly sort: PieceSort;
  /** What it is called among those of its sort, such as `system/init`. */
  readonly name: string;
  /** The names of its fields. */
  readonly fields: readonly string[];
}

/** Deeper than anything stands in a frame that is looked at. */
const DEEPEST = 8;

/** An answer of the API that came in one, and what stands in it. */
export function piecesOfAnswer(answer: JsonObject): readonly Piece[] {
  return piecesOfMessage("assistant", answer);
}

/** A frame and what stands in it. */
export function piecesOfFrame(frame: JsonObject): readonly Piece[] {
  const { type } = frame;
  const kind = kindOf(frame);
  const parts: Piece[] = [{ sort: "frame", name: kind, fields: Object.keys(frame) }];
  if (type === "assistant" || type === "user") parts.push(...piecesOfMessage(type, frame.message));
  if (type === "stream_event") parts.push(...piecesOfEvent(frame.event));
  if (type === "result") {
    parts.push(...partOf("usage of a result", frame.usage));
    const models = isJsonObject(frame.modelUsage) ? Object.values(frame.modelUsage) : [];
    parts.push(...models.flatMap((model) => partOf("modelUsage of a result", model)));
    const denials = Array.isArray(frame.permission_denials) ? frame.permission_denials : [];
    parts.push(...denials.flatMap((denial) => partOf("permission_denials of a result", denial)));
  }
  if (type === "rate_limit_event") parts.push(...partOf("rate_limit_info", frame.rate_limit_info));
  if (kind === "system/compact_boundary") {
    parts.push(...partOf("compact_metadata", frame.compact_metadata));
  }
  if (kind.startsWith("system/task_")) parts.push(...partOf(`patch of ${kind}`, frame.patch));
  if (type === "control_response") {
    parts.push(...partOf("response of control_response", frame.response));
  }
  if (type === "control_request") {
    const { request } = frame;
    parts.push(...partOf(`request of ${kind}`, request));
    const input = isJsonObject(request) ? request.input : undefined;
    if (kind.endsWith("/hook_callback") && isJsonObject(input)) {
      parts.push(pieceOfHook(asText(input.hook_event_name), input));
    }
  }
  return parts;
}

/** What a frame is called: its type, and the subtype that says which one of them it is. */
export function kindOf(frame: JsonObject): string {
  const { type, subtype, request } = frame;
  if (type === "control_request" && isJsonObject(request)) return named(type, request.subtype);
  return named(type, subtype);
}

/** A line of a transcript and what stands in it. */
export function piecesOfLine(line: JsonObject): readonly Piece[] {
  const { type, subtype, attachment } = line;
  const name = type === "attachment" && isJsonObject(attachment)
    ? named(type, attachment.type)
    : named(type, subtype);
  const pieces: Piece[] = [{ sort: "line", name, fields: Object.keys(line) }];
  if (type === "attachment") pieces.push(...partOf(name, attachment));
  if (type === "assistant" || type === "user") pieces.push(...piecesOfMessage(type, line.message));
  return pieces;
}

/** What a hook is given. */
export function pieceOfHook(event: string, payload: JsonObject): Piece {
  return { sort: "hook", name: event, fields: Object.keys(payload) };
}

/** An event of the API's stream and what stands in it. */
export function piecesOfEvent(event: unknown): readonly Piece[] {
  if (!isJsonObject(event)) return [];
  const { type, delta, content_block: block } = event;
  const isDelta = type === "content_block_delta" && isJsonObject(delta);
  const pieces: Piece[] = [{
    sort: "event",
    name: isDelta ? named(type, delta.type) : named(type, undefined),
    fields: Object.keys(event),
  }];
  if (isJsonObject(block)) pieces.push(...piecesOfBlock(block));
  return pieces;
}

function piecesOfMessage(role: string, message: unknown): readonly Piece[] {
  if (!isJsonObject(message)) return [];
  const blocks = Array.isArray(message.content) ? message.content.filter(isJsonObject) : [];
  return [
    ...partOf(`message of ${role}`, message),
    ...partOf("usage of a message", message.usage),
    ...blocks.flatMap((block) => piecesOfBlock(block)),
  ];
}

function piecesOfBlock(block: JsonObject, depth = 0): readonly Piece[] {
  const { type, content } = block;
  const inner = Array.isArray(content) && depth < DEEPEST ? content.filter(isJsonObject) : [];
  return [
    { sort: "block", name: named(type, undefined), fields: Object.keys(block) },
    ...inner.flatMap((each) => piecesOfBlock(each, depth + 1)),
  ];
}

function partOf(name: string, value: unknown): readonly Piece[] {
  return isJsonObject(value) ? [{ sort: "part", name, fields: Object.keys(value) }] : [];
}

function named(type: unknown, subtype: unknown): string {
  const name = typeof type === "string" ? type : "?";
  return typeof subtype === "string" ? `${name}/${subtype}` : name;
}
