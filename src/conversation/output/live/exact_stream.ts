import type { ApiRetry, Input } from "../../control/input.ts";
import type { AssistantEntry, UserEntry } from "../../../claude/transcript/entry.ts";
import { isJsonObject } from "../../../json_object.ts";
import { OUTPUT_TOOL } from "../../../claude/transcript/structured_output_tool.ts";
import type { StreamEvent } from "../../../claude/wire/message_frames.ts";
import { begin } from "../telling/beginning.ts";
import { framesOfEntry } from "../frames/frames_of_entry.ts";
import {
  type ExactState,
  type HeardPart,
  NO_STREAM,
  type StreamedAnswer,
  type StreamPart,
} from "../telling/exact_state.ts";
import { and, type FramesState, type Told, told, withStreamed } from "../telling/frames_state.ts";
import { hearFirsts } from "../telling/heard_firsts.ts";
import { standsInPlace } from "./partial_messages.ts";
import {
  forgetRequest,
  isOfOutput,
  sayAbandoned,
  sayEvent,
  tellAgain,
  tellRequest,
} from "./stream_frames.ts";
import { rateLimitInfo } from "./rate_limit_info.ts";
import { say } from "../telling/saying.ts";
import { askedBy, systemFrame } from "../frames/frame_context.ts";

/** Takes a part of the API's stream. */
export function hearStream(
  state: FramesState,
  input: Extract<Input, { readonly type: "stream" }>,
): FramesState {
  const { exact, heard } = state;
  if (exact === undefined) {
    return heard === undefined ? state : { ...state, heard: hearFirsts(heard, input) };
  }
  const { at, request, part } = input;
  const { waiting, askedAt, limits } = exact;
  if (part.kind === "limits") {
    return part.limits === undefined
      ? changed(state, { toldLimits: undefined })
      : changed(state, { limits: new Map(limits).set(request, part.limits) });
  }
  return changed(state, {
    waiting: [...waiting, { at, request, part }],
    ...(part.kind === "request" ? { askedAt: new Map(askedAt).set(request, at) } : {}),
    ...(part.kind === "request" && part.offer !== undefined ? { offer: part.offer } : {}),
  });
}

/** Takes word of a request that is made again: it comes after all that has been heard before. */
export function hearRetry(state: FramesState, retry: ApiRetry): FramesState {
  const { waiting } = state.exact ?? NO_STREAM;
  return changed(state, { waiting: [...waiting, { retry }] });
}

/** Tells what has been heard, as far as everything before it has been told. */
export function tellStream(before: FramesState): Told {
  const first = before.exact?.waiting[0];
  if (before.exact === undefined || first === undefined) return told(before);
  if (!isTime(before, first)) return told(before);
  const state = changed(before, { waiting: before.exact.waiting.slice(1) });
  return and(tellPart(state, first), tellStream);
}

/**
 * Whether a part can be told. What begins a turn, what the model is told, and the frames of the answer before are in
 * lines that may still have to be read.
 */
function isTime(state: FramesState, heard: HeardPart): boolean {
  const { open, calls, fresh } = state.exact ?? NO_STREAM;
  if (isRetry(heard) ? open?.over === "broken" : open?.request === heard.request) return true;
  const isEarly = !state.begun || state.rested || state.version === undefined;
  return !isEarly && open === undefined && calls.size === 0 && fresh;
}

function isRetry(heard: HeardPart): heard is Exclude<HeardPart, StreamPart> {
  return "retry" in heard;
}

function tellPart(state: FramesState, heard: HeardPart): Told {
  if (isRetry(heard)) {
    // Nothing comes of an answer that broke off, and of its calls.
    const dropped = state.exact?.open === undefined ? state : changed(state, { calls: new Set() });
    return and(close(dropped), (state) => tellAgain(state, heard.retry));
  }
  const { at, request, part } = heard;
  const { askedAt } = state.exact ?? NO_STREAM;
  switch (part.kind) {
    case "request":
      return tellRequest(state);
    case "event":
      return tellEvent(state, { at, request, event: part.event as StreamEvent });
    case "end": {
      const others = new Map(askedAt);
      others.delete(request);
      const next = changed(state, { askedAt: others });
      const { open } = next.exact ?? NO_STREAM;
      return open?.request === request && open.over === undefined
        ? release(broken(next, open))
        : told(next);
    }
  }
}

function tellEvent(
  before: FramesState,
  { at, request, event }: {
    readonly at: number;
    readonly request: number;
    readonly event: StreamEvent;
  },
): Told {
  const { open, askedAt, calls } = before.exact ?? NO_STREAM;
  const state = open?.request === request ? timed(before, { at, event }) : before;
  if (event.type === "message_start") {
    const { message } = event;
    const id = isJsonObject(message) && typeof message["id"] === "string" ? message["id"] : "";
    const asked = askedAt.get(request);
    const times = state.exact?.times ??
      (asked === undefined ? undefined : { askedAt: asked, begunAt: at });
    const next = withOpen(withStreamed(changed(state, { times }), id), {
      request,
      id,
      begun: 0,
      ended: 0,
      shown: 0,
      tail: [],
    });
    return and(tellRequest(next), (state) =>
      sayOpen(
        state,
        event,
        asked === undefined ? {} : { ttft_ms: Math.max(0, Math.round(at - asked)) },
      ));
  }
  if (open?.request !== request || open.over !== undefined) return told(state);
  switch (event.type) {
    case "ping":
      return told(state);
    case "content_block_start": {
      const { type, id, name } = isJsonObject(event["content_block"]) ? event["content_block"] : {};
      const isCall = type === "tool_use" && typeof id === "string";
      const next = isCall ? changed(state, { calls: new Set([...calls, id]) }) : state;
      const output = isCall && name === OUTPUT_TOOL && state.outputCalls !== undefined
        ? { output: id }
        : {};
      return and(
        flush(withOpen(next, { ...open, ...output, begun: open.begun + 1 })),
        (state) => sayOpen(changed(state, { thought: 0 }), event),
      );
    }
    case "content_block_stop":
      return release(
        withOpen(state, { ...open, ended: open.ended + 1, tail: [...open.tail, event] }),
      );
    case "message_delta":
      return told(withOpen(state, { ...open, tail: [...open.tail, event] }));
    case "message_stop":
      return release(withOpen(state, { ...open, tail: [...open.tail, event], over: "whole" }));
    case "error":
      return release(broken(state, open));
    default:
      return and(
        and(flush(state), (state) => tellThinking(state, event)),
        (state) => sayOpen(state, event),
      );
  }
}

/** Notes when the first block of the first answer began, and when it was whole. */
function timed(
  state: FramesState,
  { at, event: { type } }: { readonly at: number; readonly event: StreamEvent },
): FramesState {
  const { times } = state.exact ?? NO_STREAM;
  if (times === undefined) return state;
  if (type === "content_block_start" && times.contentAt === undefined) {
    return changed(state, { times: { ...times, contentAt: at } });
  }
  return type === "content_block_stop" && times.wholeAt === undefined
    ? changed(state, { times: { ...times, wholeAt: at } })
    : state;
}

/** Says how much has been thought, ahead of the thoughts. */
function tellThinking(state: FramesState, event: StreamEvent): Told {
  const { estimate, said } = thinkingEstimate((state.exact ?? NO_STREAM).thought, event);
  const next = changed(state, { thought: estimate });
  if (said === undefined) return told(next);
  const { user_message_uuid } = askedBy(state);
  return say(next, (context) => [
    systemFrame("thinking_tokens", { ...said, user_message_uuid }, context),
  ]);
}

/** The stream of an answer breaks off: a block under way ends there, and the stream says where. */
function broken(state: FramesState, open: StreamedAnswer): FramesState {
  const stop = { type: "content_block_stop", index: open.begun - 1 };
  const tail = open.begun > open.ended ? [...open.tail, stop] : open.tail;
  return withOpen(state, { ...open, ended: open.begun, tail, over: "broken" });
}

/** Tells a line of an answer, in its place among the events of the stream. */
export function tellAnswerLine(before: FramesState, entry: AssistantEntry): Told {
  if (standsInPlace(entry)) {
    return and(
      and(and(and(close(before), begin), tellStream), tellRequest),
      (state) => and(sayLine(state, entry), (state) => told(forgetRequest(state))),
    );
  }
  return and(openFor(before, entry.message.id), (state) =>
    and(sayLine(state, entry), (state) => {
      const { open } = state.exact ?? NO_STREAM;
      return open?.id === entry.message.id
        ? release(withOpen(state, { ...open, shown: open.shown + 1 }))
        : told(state);
    }));
}

/** Sees to it that what was streamed of an answer has been told before its lines. */
function openFor(state: FramesState, id: string): Told {
  const { open, waiting } = state.exact ?? NO_STREAM;
  if (open?.id === id) return told(state);
  const start = waiting.findIndex((heard) => !isRetry(heard) && isStart(heard, id));
  const ended = and(close(state), begin);
  // Claude Code asks once more without a stream where one breaks off.
  if (start < 0) return and(ended, tellRequest);
  return and(ended, (state) => {
    const { waiting } = state.exact ?? NO_STREAM;
    const left = waiting.filter((heard, index) => index >= start || isRetry(heard));
    return tellStream(changed(state, { waiting: left, calls: new Set(), fresh: true }));
  });
}

/** Whether an answer begins with it that has that id. */
function isStart({ part }: StreamPart, id: string): boolean {
  return part.kind === "event" && part.event["type"] === "message_start" &&
    isJsonObject(part.event["message"]) && part.event["message"]["id"] === id;
}

/** What the model is told comes after what it has said. */
export function tellBeforeUser(state: FramesState, entry: UserEntry): Told {
  const { calls } = state.exact ?? NO_STREAM;
  const { message } = entry;
  const returned = typeof message.content === "string"
    ? []
    : message.content.map(({ tool_use_id: id }) => id);
  const left = calls.size === 0 ? calls : calls.difference(new Set(returned));
  if (state.amid) return told(changed(state, { calls: left }));
  return and(
    isOfOutput(state, entry) ? flushBeforeOutput(state) : close(state),
    (state) => told(forgetRequest(changed(state, { calls: left, fresh: true }))),
  );
}

/** Ends an answer all of whose lines have been read. */
export function endWritten(state: FramesState): Told {
  const { open } = state.exact ?? NO_STREAM;
  const isWhole = open?.over !== undefined && open.shown > 0;
  return isWhole && !awaitsOutput(state) ? close(state) : told(state);
}

/** Whether an answer gives a structured one whose result has not been told. */
function awaitsOutput({ exact }: FramesState): boolean {
  const { open, calls } = exact ?? NO_STREAM;
  return open?.output !== undefined && calls.has(open.output);
}

/** Forgets what is left of a turn that is over, but for what has been heard of the next one. */
export function endStream(state: FramesState): Told {
  return and(close(state), (state) => {
    const waiting = state.exact?.waiting.filter((heard) => !isRetry(heard)) ?? [];
    return told(forgetRequest(changed(state, { waiting, calls: new Set(), fresh: true })));
  });
}

/** Tells the end of a block, and of an answer, once the frames of all its blocks have been told. */
function release(state: FramesState): Told {
  const { open } = state.exact ?? NO_STREAM;
  if (open === undefined || open.shown < open.ended) return told(state);
  if (open.over === undefined) return flush(state);
  return awaitsOutput(state) ? flushBeforeOutput(state) : close(state);
}

/** Tells what has been held back, but for what comes after the result of the structured answer. */
function flushBeforeOutput(state: FramesState): Told {
  const { open } = state.exact ?? NO_STREAM;
  if (open === undefined) return told(state);
  const isStop = ({ type }: StreamEvent) => type === "message_stop";
  const tail = open.tail.filter((event) => !isStop(event));
  return and(flush(withOpen(state, { ...open, tail })), (state) => {
    const { open: rest } = state.exact ?? NO_STREAM;
    return told(
      rest === undefined ? state : withOpen(state, { ...rest, tail: open.tail.filter(isStop) }),
    );
  });
}

/** Tells what has been held back. */
function flush(state: FramesState): Told {
  const { open } = state.exact ?? NO_STREAM;
  if (open === undefined || open.tail.length === 0) return told(state);
  return open.tail.reduce(
    (said, event) => and(said, (state) => sayOpen(state, event)),
    told(withOpen(state, { ...open, tail: [] })),
  );
}

/** Nothing more comes of the answer. */
function close(before: FramesState): Told {
  const { open } = before.exact ?? NO_STREAM;
  if (open === undefined) return told(before);
  const isWhole = open.over === "whole";
  const state = open.over === undefined ? broken(before, open) : before;
  const flushed = and(
    flush(state),
    (state) => isWhole ? told(state) : sayAbandoned(state, { of: open.id, at: open.begun }),
  );
  const limited = and(flushed, (state) => isWhole ? tellLimits(state, open.request) : told(state));
  return and(limited, (state) => {
    const { open: _, ...exact } = state.exact ?? NO_STREAM;
    const next = { ...state, exact: { ...exact, fresh: !isWhole } };
    // What stands in the place of the rest comes of the same request, and so does a stream that begins once more.
    return told(isWhole ? forgetRequest(next) : next);
  });
}

/** Tells what the API has said of limits with an answer, if that is something else than before. */
function tellLimits(state: FramesState, request: number): Told {
  const { limits, toldLimits } = state.exact ?? NO_STREAM;
  const heard = limits.get(request);
  if (heard === undefined) return told(state);
  const { info, mark } = rateLimitInfo(heard);
  const later = [...limits].filter(([other]) => other > request);
  const next = changed(state, { limits: new Map(later), toldLimits: mark });
  return mark === toldLimits ? told(next) : say(next, ({ sessionId, newUuid }) => [
    { type: "rate_limit_event", rate_limit_info: info, uuid: newUuid(), session_id: sessionId },
  ]);
}

function sayLine(state: FramesState, entry: AssistantEntry): Told {
  return say(state, (context) => framesOfEntry(entry, context));
}

function sayOpen(
  state: FramesState,
  event: StreamEvent,
  more: Readonly<Record<string, unknown>> = {},
): Told {
  return sayEvent(state, { event, of: state.exact?.open?.id, more });
}

function changed(state: FramesState, change: Partial<ExactState>): FramesState {
  return state.exact === undefined ? state : { ...state, exact: { ...state.exact, ...change } };
}

function withOpen(state: FramesState, open: StreamedAnswer): FramesState {
  return changed(state, { open });
}

/** How much has been thought in the block under way, and what is said of it because of an event, if anything is. */
export interface ThinkingEstimate {
  readonly estimate: number;
  readonly said?: { readonly estimated_tokens: number; readonly estimated_tokens_delta: number };
}

/**
 * Counts thoughts as they are streamed, as Claude Code does: by what the API says of a piece, else four
 * characters a token; thoughts that are not shown by their signature, which is base64.
 *
 * @param before the tokens of the block so far
 */
export function thinkingEstimate(before: number, event: StreamEvent): ThinkingEstimate {
  if (event.type === "content_block_start") return { estimate: 0 };
  if (event.type !== "content_block_delta") return { estimate: before };
  const { type, estimated_tokens: counted, thinking, signature } = event.delta ?? {};
  if (type === "thinking_delta") {
    if (typeof counted === "number") return grown(before, before + counted);
    return typeof thinking === "string" && thinking.length > 0
      ? grown(before, before + Math.ceil(thinking.length / 4))
      : { estimate: before };
  }
  if (type === "signature_delta" && before > 0 && typeof signature === "string") {
    const signed = Math.ceil(Math.round(signature.length * 0.75) / 4);
    if (signed > before) return grown(before, signed);
  }
  return { estimate: before };
}

function grown(before: number, estimate: number): ThinkingEstimate {
  const said = { estimated_tokens: estimate, estimated_tokens_delta: estimate - before };
  return { estimate, said };
}
