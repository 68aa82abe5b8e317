import { asText, isJsonObject, type JsonObject, jsonObjects } from "../../json_object.ts";

/** The sort of a piece. Each sort has names of its own. */
export type PieceSort =
  /** A line of stream-json, by type and subtype. */
  | "frame"
  /** A transcript line, by type and subtype, or by the type of its attachment. */
  | "line"
  /** The payload of a hook, by its event. */
  | "hook"
  /** A block of a message, by its type. */
  | "block"
  /** An event of the API's stream, by its type and the type of its delta. */
  | "event"
  /** The status in the child's status file. */
  | "status"
  /** An object within one of these. Its name is fixed. */
  | "part";

/** An object whose fields are checked. */
export interface Piece {
  readonly sort: PieceSort;
  /** Its name within its sort, such as `system/init`. */
  readonly name: string;
  readonly fields: readonly string[];
}

/** Deeper than any block in a real frame. */
const DEEPEST = 8;

/** Returns the pieces of a complete message of the API. */
export function piecesOfAnswer(answer: JsonObject): readonly Piece[] {
  return piecesOfMessage("assistant", answer);
}

/** Returns a frame and the objects in it. */
export function piecesOfFrame(frame: JsonObject): readonly Piece[] {
  const { type } = frame;
  const kind = frameName(frame);
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

/** Returns the name of a frame: its type and subtype, or the subtype of its request. */
export function frameName(frame: JsonObject): string {
  const { type, subtype, request } = frame;
  if (type === "control_request" && isJsonObject(request)) return joinNames(type, request.subtype);
  return joinNames(type, subtype);
}

/** Returns a transcript line and the objects in it. */
export function piecesOfLine(line: JsonObject): readonly Piece[] {
  const { type, subtype, attachment } = line;
  const name = type === "attachment" && isJsonObject(attachment)
    ? joinNames(type, attachment.type)
    : joinNames(type, subtype);
  const pieces: Piece[] = [{ sort: "line", name, fields: Object.keys(line) }];
  if (type === "attachment") pieces.push(...partOf(name, attachment));
  if (type === "assistant" || type === "user") pieces.push(...piecesOfMessage(type, line.message));
  return pieces;
}

export function pieceOfHook(event: string, payload: JsonObject): Piece {
  return { sort: "hook", name: event, fields: Object.keys(payload) };
}

/** Returns an event of the API's stream and the objects in it. */
export function piecesOfEvent(event: unknown): readonly Piece[] {
  if (!isJsonObject(event)) return [];
  const { type, delta, content_block: block } = event;
  const isDelta = type === "content_block_delta" && isJsonObject(delta);
  const pieces: Piece[] = [{
    sort: "event",
    name: isDelta ? joinNames(type, delta.type) : joinNames(type, undefined),
    fields: Object.keys(event),
  }];
  if (isJsonObject(block)) pieces.push(...piecesOfBlock(block));
  return pieces;
}

function piecesOfMessage(role: string, message: unknown): readonly Piece[] {
  if (!isJsonObject(message)) return [];
  return [
    ...partOf(`message of ${role}`, message),
    ...partOf("usage of a message", message.usage),
    ...jsonObjects(message.content).flatMap((block) => piecesOfBlock(block)),
  ];
}

function piecesOfBlock(block: JsonObject, depth = 0): readonly Piece[] {
  const { type, content } = block;
  const inner = depth < DEEPEST ? jsonObjects(content) : [];
  return [
    { sort: "block", name: joinNames(type, undefined), fields: Object.keys(block) },
    ...inner.flatMap((each) => piecesOfBlock(each, depth + 1)),
  ];
}

function partOf(name: string, value: unknown): readonly Piece[] {
  return isJsonObject(value) ? [{ sort: "part", name, fields: Object.keys(value) }] : [];
}

function joinNames(type: unknown, subtype: unknown): string {
  const name = typeof type === "string" ? type : "?";
  return typeof subtype === "string" ? `${name}/${subtype}` : name;
}
