import { isJsonObject } from "../../../json_object.ts";
import type {
  ApiRetry,
  HeardLimits,
  HookPayload,
  Input,
  RequestOffer,
  StreamedPart,
} from "../../control/input.ts";
import type { AssistantEntry } from "../../../claude/transcript/entry.ts";
import type { StreamEvent } from "../../../claude/wire/message_frames.ts";
import type { StreamTimes } from "../result/result_frame.ts";

/** What MessageDisplay hooks have told of a message, as far as it waits for something. */
interface DisplayedMessage {
  /** The hook's own id of it, which is not the API's. */
  readonly id: string;
  readonly turn: string;
  /** Pieces by their place: hooks run side by side, and a later one may be heard first. */
  readonly pieces: ReadonlyMap<number, string>;
  /** The place of the piece that comes next. */
  readonly next: number;
}

/** A piece of what the model says, as a MessageDisplay hook tells it. */
interface DisplayedPiece {
  readonly message: string;
  readonly turn: string;
  readonly index: number;
  readonly text: string;
}

/**
 * What has to be remembered to say answers as they are written.
 *
 * Text is known line by line, from MessageDisplay hooks; whatever else an answer holds, and that it is over, from its
 * lines in the transcript, which are written all at once when it is. By then the text behind a thought is being told.
 */
export interface PartialState {
  /** The answer that is being told. */
  readonly open?: OpenAnswer;
  /** The calls that have not returned: until then the model is not asked again. */
  readonly calls: ReadonlySet<string>;
  /** Those of the last answer that have returned: a hook may report them afterwards. */
  readonly returned: ReadonlySet<string>;
  /** Whether the last answer was to end the turn: if another follows, the model has been told something in between. */
  readonly rests?: boolean;
  /** What hooks have told and nobody has been told yet, or not to its end. */
  readonly displayed: readonly DisplayedMessage[];
  /** The hook's ids of messages that have been told to their ends, the latest of them. */
  readonly closed: readonly string[];
  /** The texts of answers that were in the transcript before any hook told of them. */
  readonly unheard: readonly string[];
  /** The hook's id of the turn under way, once something of it has been told. */
  readonly turn?: string;
}

/** An answer whose beginning has been told. */
export interface OpenAnswer {
  /** The id that `message_start` told: made up where the API's was not known yet. */
  readonly id: string;
  /** The API's, once a line has told it. */
  readonly apiId?: string;
  /** The hook's. */
  readonly displayId?: string;
  /** All text that has been told in deltas, and how much of it lines have shown. */
  readonly text: string;
  readonly shown: number;
  /** How many blocks have been begun, and the place of the text among them that goes on. */
  readonly blocks: number;
  readonly writing?: number | undefined;
  /** Its last line. */
  readonly last?: AssistantEntry;
  /** Whether it has been told why it ends. */
  readonly ends?: true;
}

/** Nothing has been told yet. */
export const NO_PARTS: PartialState = {
  calls: new Set(),
  returned: new Set(),
  displayed: [],
  closed: [],
  unheard: [],
};

/** Most pieces of a message whose turn has not come: nobody waits for so many lines. */
const MOST_PIECES = 100_000;

/** Reads what a MessageDisplay hook was given; undefined for what is none of the session's own. */
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

/** Reads the calls of a batch that a PostToolBatch hook was given; none of a subagent's. */
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

/** Adds a piece to the messages that have not been told to their ends, in the order in which they were begun. */
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

/** Takes the pieces whose turn it is: the text from where the last one ended, up to the first piece that is missing. */
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

/** What has to be remembered to say answers event by event, as the API streams them. */
export interface ExactState {
  /** What has been heard and waits for what the transcript has to tell before it, the oldest first. */
  readonly waiting: readonly ObservedPart[];
  /** When the requests under way were made, in milliseconds from the start of the child. */
  readonly askedAt: ReadonlyMap<number, number>;
  /** The answer that is being told. */
  readonly open?: StreamedAnswer;
  /** What the API says of limits with answers to the last requests. */
  readonly limits: ReadonlyMap<number, HeardLimits>;
  /** By what other limits than those that were told last are known; absent where none were told. */
  readonly emittedLimits?: string | undefined;
  /** The calls of the last answer that have not returned: until then the model is not asked again. */
  readonly calls: ReadonlySet<string>;
  /** Whether the model has been told something since its last answer. */
  readonly fresh: boolean;
  /** How much has been thought in the block under way, in tokens. */
  readonly thought: number;
  /** What the first request offered the model. */
  readonly offer?: RequestOffer;
  /** When the first answer since the last result came. */
  readonly times?: StreamTimes | undefined;
}

/** A part of a stream, and when it was heard. */
export interface StreamPart {
  readonly at: number;
  readonly request: number;
  readonly part: Exclude<StreamedPart, { readonly kind: "limits" }>;
}

/** The same, or that the last request is made again. */
export type ObservedPart = StreamPart | { readonly retry: ApiRetry };

/** An answer whose beginning has been told. */
export interface StreamedAnswer {
  readonly request: number;
  /** The API's id. */
  readonly id: string;
  /** How many blocks have begun and ended in the stream, and how many lines of it have been told. */
  readonly begun: number;
  readonly ended: number;
  readonly shown: number;
  /** The end of the last block and what follows it: the frames of the answer come before. */
  readonly tail: readonly StreamEvent[];
  /** The call with which it gives a structured answer. */
  readonly output?: string;
  /** Set once the stream is over, in whichever way. */
  readonly over?: "whole" | "broken";
}

/** Nothing has been heard yet. */
export const NO_STREAM: ExactState = {
  waiting: [],
  askedAt: new Map(),
  limits: new Map(),
  calls: new Set(),
  fresh: true,
  thought: 0,
};

/** What is remembered of the API's stream where answers are not told by it. */
export interface ObservedRequests {
  /** What the first request offered the model. */
  readonly offer?: RequestOffer;
  /** When requests were made, and when the first of their answers came, in milliseconds from the start of the child. */
  readonly requests: ReadonlyMap<number, ObservedRequest>;
}

/** A request, and what has come of it. */
type ObservedRequest = Pick<StreamTimes, "askedAt"> & Partial<StreamTimes>;

/** Nothing has been heard yet. */
export const NO_REQUESTS: ObservedRequests = { requests: new Map() };

/** Takes a part of the API's stream; most change nothing. */
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

/** The times of the first answer to what was asked since a moment. */
export function firstAnswerTimes(
  { requests }: ObservedRequests,
  since: number,
): StreamTimes | undefined {
  for (const { begunAt, ...times } of requests.values()) {
    if (times.askedAt >= since && begunAt !== undefined) return { ...times, begunAt };
  }
  return undefined;
}

/** Forgets what was asked before a moment. */
export function forgetRequestsBefore(heard: ObservedRequests, before: number): ObservedRequests {
  const requests = [...heard.requests].filter(([, { askedAt }]) => askedAt >= before);
  return { ...heard, requests: new Map(requests) };
}
