import { isJsonObject } from "../../../json_object.ts";
import type {
  ApiLimits,
  ApiRetry,
  HookPayload,
  Input,
  RequestOffer,
  StreamedPart,
} from "../../control/input.ts";
import type { AssistantEntry } from "../../../claude/transcript/entry.ts";
import type { StreamEvent } from "../../../claude/wire/message_frames.ts";
import type { StreamTimes } from "../result/build_result.ts";

/** A message that MessageDisplay hooks have reported, without the emitted pieces. */
interface DisplayedMessage {
  /** The id that the hook gives the message. It differs from the API's id. */
  readonly id: string;
  readonly turn: string;
  /** Pieces by their index. Hooks run at the same time, so a later piece may be received first. */
  readonly pieces: ReadonlyMap<number, string>;
  /** The index of the next piece. */
  readonly next: number;
}

/** A piece of an answer, from a MessageDisplay hook. */
interface DisplayedPiece {
  readonly message: string;
  readonly turn: string;
  readonly index: number;
  readonly text: string;
}

/**
 * The state of partial messages that are built from hooks and lines.
 *
 * MessageDisplay hooks report text line by line. All other parts of an answer, and its end, are known from its lines in
 * the transcript. Claude Code writes all these lines when the answer is complete. At that time, the text after a
 * thought is already being emitted.
 */
export interface PartialState {
  /** The answer whose `message_start` has been emitted, and whose `message_stop` has not. */
  readonly open?: OpenAnswer;
  /** The calls that have not returned. The model receives no new request before they return. */
  readonly calls: ReadonlySet<string>;
  /** The calls of the last answer that have returned. A hook may report them later. */
  readonly returned: ReadonlySet<string>;
  /** Whether the last answer was to end the turn. If another answer follows, a line between the two shows why. */
  readonly endsTurn?: boolean;
  /** Messages that hooks have reported and that have not been completely emitted. */
  readonly displayed: readonly DisplayedMessage[];
  /** The hooks' ids of the last messages that have been emitted completely. */
  readonly closed: readonly string[];
  /** The texts of answers whose lines were read before a hook reported them. */
  readonly undisplayed: readonly string[];
  /** The hook's id of the turn under way, once text of the turn has been emitted. */
  readonly turn?: string;
}

/** An answer that is being emitted, made up from hooks and lines. */
export interface OpenAnswer {
  /** The id in `message_start`. It is made up if the API's id was not known yet. */
  readonly id: string;
  /** The API's id, once a line of the answer has been read. */
  readonly apiId?: string;
  /** The id that the hook gives the message. */
  readonly displayId?: string;
  /** All text that has been emitted in deltas. */
  readonly text: string;
  /** How many characters of `text` are in lines that have been emitted, in UTF-16 units. */
  readonly shown: number;
  /** How many blocks have been started. */
  readonly blocks: number;
  /** The index of the open text block. */
  readonly writing?: number | undefined;
  /** The last line that has been read. */
  readonly last?: AssistantEntry;
  /** Whether `message_delta` with the stop reason has been emitted. */
  readonly ends?: true;
}

export const NO_PARTIAL: PartialState = {
  calls: new Set(),
  returned: new Set(),
  displayed: [],
  closed: [],
  undisplayed: [],
};

/** The maximum number of pieces of a message that wait for an earlier piece. No answer has so many lines. */
const MOST_PIECES = 100_000;

/** Reads the payload of a MessageDisplay hook; undefined for a payload of a subagent or of another session. */
export function displayedPiece(
  payload: HookPayload,
  sessionId: string,
): DisplayedPiece | undefined {
  if (!isOfSession(payload, sessionId)) return undefined;
  const { message_id, turn_id, index, delta } = payload;
  if (typeof message_id !== "string" || typeof delta !== "string") return undefined;
  if (typeof index !== "number" || !Number.isSafeInteger(index) || index < 0) return undefined;
  const turn = typeof turn_id === "string" ? turn_id : "";
  return { message: message_id, turn, index, text: delta };
}

/** Reads the calls in the payload of a PostToolBatch hook; none for a payload of a subagent or of another session. */
export function batchedCalls(payload: HookPayload, sessionId: string): ReadonlySet<string> {
  const { tool_calls: calls } = payload;
  if (!isOfSession(payload, sessionId) || !Array.isArray(calls)) return new Set();
  return new Set(
    calls.map((call) => isJsonObject(call) ? call["tool_use_id"] : undefined)
      .filter((id) => typeof id === "string"),
  );
}

function isOfSession({ agent_id, session_id }: HookPayload, sessionId: string): boolean {
  return agent_id === undefined && (session_id === undefined || session_id === sessionId);
}

/**
 * Adds a piece to the messages that have not been completely emitted. The messages are in the order of their first
 * pieces.
 */
export function withPiece(
  messages: readonly DisplayedMessage[],
  { message: id, turn, index, text }: DisplayedPiece,
): readonly DisplayedMessage[] {
  const known = messages.find((each) => each.id === id);
  if (known === undefined) {
    return [...messages, { id, turn, pieces: new Map([[index, text]]), next: 0 }];
  }
  if (index < known.next || known.pieces.size >= MOST_PIECES) return messages;
  const pieces = new Map(known.pieces).set(index, text);
  return messages.map((each) => each === known ? { ...known, pieces } : each);
}

/** Takes the next pieces out of a message, up to the first missing piece. */
export function takeText(
  message: DisplayedMessage,
): { readonly message: DisplayedMessage; readonly texts: readonly string[] } {
  const texts: string[] = [];
  const pieces = new Map(message.pieces);
  let { next } = message;
  for (let piece = pieces.get(next); piece !== undefined; piece = pieces.get(next)) {
    texts.push(piece);
    pieces.delete(next++);
  }
  return { message: texts.length === 0 ? message : { ...message, pieces, next }, texts };
}

/** The state of partial messages that are emitted from the API's stream, which the relay observes. */
export interface ExactState {
  /** Parts that wait for the lines before them, the oldest first. */
  readonly waiting: readonly ObservedPart[];
  /** When the current requests were sent, in milliseconds from the start of the child. */
  readonly askedAt: ReadonlyMap<number, number>;
  /** The answer whose `message_start` has been emitted, and whose `message_stop` has not. */
  readonly open?: StreamedAnswer;
  /** The rate limits that the API reported with its responses. The key is the number of the request. */
  readonly limits: ReadonlyMap<number, ApiLimits>;
  /** The mark of the last emitted limits; undefined if none were emitted. */
  readonly emittedLimits?: string | undefined;
  /** The calls of the last answer that have not returned. The model receives no new request before they return. */
  readonly calls: ReadonlySet<string>;
  /** Whether a line of type `user` has been emitted since the last answer. The next answer cannot begin before that. */
  readonly hasNewInput: boolean;
  /** The estimated number of tokens thought in the current block. */
  readonly thought: number;
  /** The tools and options of the first request. */
  readonly offer?: RequestOffer;
  /** The times of the first answer since the last result: when it was requested, began and was complete. */
  readonly times?: StreamTimes | undefined;
}

/** A part of a stream. */
export interface StreamPart {
  /** Milliseconds from the start of the child. */
  readonly at: number;
  readonly request: number;
  readonly part: Exclude<StreamedPart, { readonly kind: "limits" }>;
}

/** A part of a stream, or the repetition of the last request. */
export type ObservedPart = StreamPart | { readonly retry: ApiRetry };

/** An answer that is being emitted from its stream. */
export interface StreamedAnswer {
  readonly request: number;
  /** The API's id. */
  readonly id: string;
  /** How many blocks have begun in the stream. */
  readonly begun: number;
  /** How many blocks have ended in the stream. */
  readonly ended: number;
  /** The number of emitted lines of the answer. Each block has one line. */
  readonly shown: number;
  /** Deferred events: the end of the last block and the events after it. The line of the block comes first. */
  readonly tail: readonly StreamEvent[];
  /** The id of the call that gives a structured answer. */
  readonly output?: string;
  /** How the stream has ended; absent while it is open. */
  readonly ending?: "complete" | "broken";
}

export const NO_STREAM: ExactState = {
  waiting: [],
  askedAt: new Map(),
  limits: new Map(),
  calls: new Set(),
  hasNewInput: true,
  thought: 0,
};

/** The facts kept of the API's stream if the caller wants no partial messages. */
export interface ObservedRequests {
  /** The tools and options of the first request. */
  readonly offer?: RequestOffer;
  /** The times of requests and of the first events of their answers, in milliseconds from the start of the child. */
  readonly requests: ReadonlyMap<number, ObservedRequest>;
}

type ObservedRequest = Pick<StreamTimes, "askedAt"> & Partial<StreamTimes>;

export const NO_REQUESTS: ObservedRequests = { requests: new Map() };

/** Records the times that a part of the API's stream shows. Few parts show any. */
export function observeRequest(
  heard: ObservedRequests,
  { at, request, part }: Extract<Input, { readonly type: "stream" }>,
): ObservedRequests {
  if (part.kind === "request") {
    const { offer = heard.offer } = part;
    return {
      ...(offer === undefined ? {} : { offer }),
      requests: new Map(heard.requests).set(request, { askedAt: at }),
    };
  }
  const before = heard.requests.get(request);
  if (part.kind !== "event" || before === undefined) return heard;
  const key = MOMENTS.get(part.event["type"]);
  if (key === undefined || before[key] !== undefined) return heard;
  const requests = new Map(heard.requests).set(request, { ...before, [key]: at });
  return { ...heard, requests };
}

const MOMENTS: ReadonlyMap<unknown, Exclude<keyof StreamTimes, "askedAt">> = new Map(
  [
    ["message_start", "begunAt"],
    ["content_block_start", "contentAt"],
    ["content_block_stop", "wholeAt"],
  ],
);

/** The times of the first answer to a request that was sent at or after a given time. */
export function firstAnswerTimes(
  { requests }: ObservedRequests,
  since: number,
): StreamTimes | undefined {
  for (const { begunAt, ...times } of requests.values()) {
    if (times.askedAt >= since && begunAt !== undefined) return { ...times, begunAt };
  }
  return undefined;
}

/** Forgets the requests that were sent before a given time. */
export function forgetRequestsBefore(heard: ObservedRequests, before: number): ObservedRequests {
  const requests = [...heard.requests].filter(([, { askedAt }]) => askedAt >= before);
  return { ...heard, requests: new Map(requests) };
}
