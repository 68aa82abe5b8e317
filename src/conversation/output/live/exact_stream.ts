import type { ApiRetry, Input } from "../../control/input.ts";
import type { AssistantEntry, UserEntry } from "../../../claude/transcript/entry.ts";
import { isJsonObject } from "../../../json_object.ts";
import { OUTPUT_TOOL } from "../../../claude/transcript/structured_output_tool.ts";
import type { StreamEvent } from "../../../claude/wire/message_frames.ts";
import { emitAfterInit, emitInit } from "../emit_frames.ts";
import { framesOfEntry } from "../frames/frames_of_entry.ts";
import {
  type ExactState,
  NO_STREAM,
  type ObservedPart,
  observeRequest,
  type StreamedAnswer,
  type StreamPart,
} from "./answer_state.ts";
import type { OutputState, OutputStep } from "../output_state.ts";
import { replacesAnswer } from "./partial_messages.ts";
import {
  emitRequestStatus,
  emitRetry,
  emitStreamBreak,
  emitStreamEvent,
  forgetRequest,
  holdsOutputResult,
  recordStreamed,
} from "./stream_frames.ts";
import { rateLimitInfo } from "./rate_limit_info.ts";
import { messageIds, systemFrame } from "../frames/frame_context.ts";

/** Receives a part of the API's stream, from the relay. */
export function receiveStreamPart(
  step: OutputStep,
  input: Extract<Input, { readonly type: "stream" }>,
): void {
  const { exact, observed } = step.state;
  if (exact === undefined) {
    if (observed !== undefined) step.update({ observed: observeRequest(observed, input) });
    return;
  }
  const { at, request, part } = input;
  const { waiting, askedAt, limits } = exact;
  if (part.kind === "limits") {
    updateExact(
      step,
      part.limits === undefined
        ? { emittedLimits: undefined }
        : { limits: new Map(limits).set(request, part.limits) },
    );
    return;
  }
  updateExact(step, { waiting: [...waiting, { at, request, part }] });
  if (part.kind !== "request") return;
  updateExact(step, { askedAt: new Map(askedAt).set(request, at) });
  if (part.offer !== undefined) updateExact(step, { offer: part.offer });
}

/** Receives the repetition of a request. It comes after all parts that were received before. */
export function receiveRetry(step: OutputStep, retry: ApiRetry): void {
  updateExact(step, { waiting: [...streamOf(step.state).waiting, { retry }] });
}

/** Emits the received parts, up to the first that has to come after a pending line. */
export function emitStream(step: OutputStep): void {
  for (let part = nextPart(step.state); part !== undefined; part = nextPart(step.state)) {
    updateExact(step, { waiting: streamOf(step.state).waiting.slice(1) });
    emitPart(step, part);
  }
}

/**
 * The next part, if everything that is printed before it was emitted: the beginning of the turn, the input of the
 * request, the previous answer. Their lines may arrive later.
 */
function nextPart(
  { exact, hasInit, isBetweenTurns, version }: OutputState,
): ObservedPart | undefined {
  const { waiting: [part], open, calls, hasNewInput } = exact ?? NO_STREAM;
  if (part === undefined) return undefined;
  const goesOn = isRetry(part) ? open?.ending === "broken" : open?.request === part.request;
  const isEarly = !hasInit || isBetweenTurns || version === undefined;
  const isFirst = !isEarly && open === undefined && calls.size === 0 && hasNewInput;
  return goesOn || isFirst ? part : undefined;
}

function isRetry(part: ObservedPart): part is Exclude<ObservedPart, StreamPart> {
  return "retry" in part;
}

function emitPart(step: OutputStep, received: ObservedPart): void {
  if (isRetry(received)) {
    // Claude Code never makes the calls of an answer that broke off.
    if (streamOf(step.state).open !== undefined) updateExact(step, { calls: new Set() });
    close(step);
    emitRetry(step, received.retry);
    return;
  }
  const { request, part } = received;
  switch (part.kind) {
    case "request":
      return emitRequestStatus(step);
    case "event": {
      const event = part.event as StreamEvent;
      return emitEvent(step, { at: received.at, request, event });
    }
    case "end":
      return endRequest(step, request);
  }
}

/**
 * Ends a request after the end of its response. If its answer has no `message_stop` by then, it counts as broken off.
 */
function endRequest(step: OutputStep, request: number): void {
  const { open, askedAt } = streamOf(step.state);
  const others = new Map(askedAt);
  others.delete(request);
  updateExact(step, { askedAt: others });
  if (open?.request === request && open.ending === undefined) breakOff(step, open);
}

/** An event of the API's stream. */
interface TimedEvent {
  /** Milliseconds from the start of the child. */
  readonly at: number;
  readonly request: number;
  readonly event: StreamEvent;
}

function emitEvent(step: OutputStep, timed: TimedEvent): void {
  const { open } = streamOf(step.state);
  const { request, event } = timed;
  if (open?.request === request) recordTimes(step, timed);
  if (event.type === "message_start") {
    emitMessageStart(step, timed);
    return;
  }
  if (open?.request !== request || open.ending !== undefined) return;
  const tail = [...open.tail, event];
  switch (event.type) {
    case "ping":
      return;
    case "content_block_start":
      return emitBlockStart(step, open, event);
    case "content_block_stop":
      updateExact(step, { open: { ...open, ended: open.ended + 1, tail } });
      return release(step);
    case "message_delta":
      return updateExact(step, { open: { ...open, tail } });
    case "message_stop":
      updateExact(step, { open: { ...open, tail, ending: "complete" } });
      return release(step);
    case "error":
      return breakOff(step, open);
    default:
      flush(step);
      emitThinkingTokens(step, event);
      emitOpenEvent(step, event);
  }
}

function emitMessageStart(step: OutputStep, { at, request, event }: TimedEvent): void {
  const { askedAt, times } = streamOf(step.state);
  const { message } = event;
  const id = isJsonObject(message) && typeof message["id"] === "string" ? message["id"] : "";
  const asked = askedAt.get(request);
  recordStreamed(step, id);
  updateExact(step, {
    times: times ?? (asked === undefined ? undefined : { askedAt: asked, begunAt: at }),
    open: { request, id, begun: 0, ended: 0, shown: 0, tail: [] },
  });
  emitRequestStatus(step);
  emitOpenEvent(
    step,
    event,
    asked === undefined ? {} : { ttft_ms: Math.max(0, Math.round(at - asked)) },
  );
}

function emitBlockStart(step: OutputStep, open: StreamedAnswer, event: StreamEvent): void {
  const { type, id, name } = isJsonObject(event["content_block"]) ? event["content_block"] : {};
  const call = type === "tool_use" && typeof id === "string" ? id : undefined;
  const givesOutput = name === OUTPUT_TOOL && step.state.outputCalls !== undefined;
  if (call !== undefined) {
    updateExact(step, { calls: new Set([...streamOf(step.state).calls, call]) });
  }
  updateExact(step, {
    open: {
      ...open,
      ...(call !== undefined && givesOutput ? { output: call } : {}),
      begun: open.begun + 1,
    },
  });
  flush(step);
  updateExact(step, { thought: 0 });
  emitOpenEvent(step, event);
}

/** Records when the first block of the turn's first answer began, and when it was complete. */
function recordTimes(step: OutputStep, { at, event: { type } }: TimedEvent): void {
  const { times } = streamOf(step.state);
  if (times === undefined) return;
  if (type === "content_block_start" && times.contentAt === undefined) {
    updateExact(step, { times: { ...times, contentAt: at } });
  } else if (type === "content_block_stop" && times.wholeAt === undefined) {
    updateExact(step, { times: { ...times, wholeAt: at } });
  }
}

/** Emits the number of tokens thought, before the thoughts. */
function emitThinkingTokens(step: OutputStep, event: StreamEvent): void {
  const { estimate, fields } = thinkingEstimate(streamOf(step.state).thought, event);
  updateExact(step, { thought: estimate });
  if (fields === undefined) return;
  const { user_message_uuid } = messageIds(step.state);
  emitAfterInit(step, (context) => [
    systemFrame("thinking_tokens", { ...fields, user_message_uuid }, context),
  ]);
}

/** Marks an answer as broken off. Its current block ends there. */
function breakOff(step: OutputStep, open: StreamedAnswer): void {
  updateExact(step, { open: broken(open) });
  release(step);
}

function broken(open: StreamedAnswer): StreamedAnswer {
  const stop = { type: "content_block_stop", index: open.begun - 1 };
  const tail = open.begun > open.ended ? [...open.tail, stop] : open.tail;
  return { ...open, ended: open.begun, tail, ending: "broken" };
}

/** Emits a line of an answer, in order with the events of the stream. */
export function emitAnswerLine(step: OutputStep, entry: AssistantEntry): void {
  if (replacesAnswer(entry)) {
    close(step);
    emitInit(step);
    emitStream(step);
    emitRequestStatus(step);
    emitLine(step, entry);
    forgetRequest(step);
    return;
  }
  emitStreamUntil(step, entry.message.id);
  emitLine(step, entry);
  const { open } = streamOf(step.state);
  if (open?.id !== entry.message.id) return;
  updateExact(step, { open: { ...open, shown: open.shown + 1 } });
  release(step);
}

/** Emits the stream of an answer up to the answer's first line. */
function emitStreamUntil(step: OutputStep, id: string): void {
  const { open, waiting } = streamOf(step.state);
  if (open?.id === id) return;
  const start = waiting.findIndex((part) => !isRetry(part) && startsAnswer(part, id));
  close(step);
  emitInit(step);
  if (start < 0) {
    // If a stream breaks off, Claude Code repeats the request without a stream.
    emitRequestStatus(step);
    return;
  }
  const left = streamOf(step.state).waiting.filter((part, index) =>
    index >= start || isRetry(part)
  );
  updateExact(step, { waiting: left, calls: new Set(), hasNewInput: true });
  emitStream(step);
}

/** Whether a part is the `message_start` of the answer with an id. */
function startsAnswer({ part }: StreamPart, id: string): boolean {
  return part.kind === "event" && part.event["type"] === "message_start" &&
    isJsonObject(part.event["message"]) && part.event["message"]["id"] === id;
}

/** Emits what must precede a line of type `user`: the end of the answer before that line. */
export function emitBeforeUserLine(step: OutputStep, entry: UserEntry): void {
  const { calls } = streamOf(step.state);
  const { content } = entry.message;
  const returned = typeof content === "string" ? [] : content.map(({ tool_use_id: id }) => id);
  const left = calls.size === 0 ? calls : calls.difference(new Set(returned));
  if (step.state.isAmidAnswer) {
    updateExact(step, { calls: left });
    return;
  }
  if (holdsOutputResult(step.state, entry)) flushBeforeOutput(step);
  else close(step);
  updateExact(step, { calls: left, hasNewInput: true });
  forgetRequest(step);
}

/** Ends the open answer if all of its lines have been read. */
export function endCompleteAnswer(step: OutputStep): void {
  const { open } = streamOf(step.state);
  const isComplete = open?.ending !== undefined && open.shown > 0;
  if (isComplete && !awaitsOutputResult(step.state)) close(step);
}

/** Whether the open answer gives a structured answer whose result has not been emitted. */
function awaitsOutputResult({ exact }: OutputState): boolean {
  const { open, calls } = exact ?? NO_STREAM;
  return open?.output !== undefined && calls.has(open.output);
}

/** Ends the open answer with its turn. Keeps the received parts of the next turn's answers. */
export function endTurnAnswers(step: OutputStep): void {
  close(step);
  const waiting = streamOf(step.state).waiting.filter((part) => !isRetry(part));
  updateExact(step, { waiting, calls: new Set(), hasNewInput: true });
  forgetRequest(step);
}

/** Emits the end of a block, and of the answer, once the frames of all ended blocks have been emitted. */
function release(step: OutputStep): void {
  const { open } = streamOf(step.state);
  if (open === undefined || open.shown < open.ended) return;
  if (open.ending === undefined) flush(step);
  else if (awaitsOutputResult(step.state)) flushBeforeOutput(step);
  else close(step);
}

/** Emits the deferred events, except `message_stop`, which comes after the result of the structured answer. */
function flushBeforeOutput(step: OutputStep): void {
  const { open } = streamOf(step.state);
  if (open === undefined) return;
  const isStop = ({ type }: StreamEvent) => type === "message_stop";
  updateExact(step, { open: { ...open, tail: open.tail.filter((event) => !isStop(event)) } });
  flush(step);
  const { open: flushed } = streamOf(step.state);
  if (flushed === undefined) return;
  updateExact(step, { open: { ...flushed, tail: open.tail.filter(isStop) } });
}

/** Emits the deferred events. */
function flush(step: OutputStep): void {
  const { open } = streamOf(step.state);
  if (open === undefined || open.tail.length === 0) return;
  updateExact(step, { open: { ...open, tail: [] } });
  for (const event of open.tail) emitOpenEvent(step, event);
}

/** Ends the open answer. */
function close(step: OutputStep): void {
  const { open } = streamOf(step.state);
  if (open === undefined) return;
  const isComplete = open.ending === "complete";
  if (open.ending === undefined) updateExact(step, { open: broken(open) });
  flush(step);
  if (isComplete) emitLimits(step, open.request);
  else emitStreamBreak(step, { messageId: open.id, blockIndex: open.begun });
  const { open: _, ...exact } = streamOf(step.state);
  step.update({ exact: { ...exact, hasNewInput: !isComplete } });
  // The same request produces a line that replaces the rest of the answer, or a stream that begins again.
  if (isComplete) forgetRequest(step);
}

/** Emits the limits that the API reported with an answer, if they have changed. */
function emitLimits(step: OutputStep, request: number): void {
  const { limits, emittedLimits } = streamOf(step.state);
  const reported = limits.get(request);
  if (reported === undefined) return;
  const { info, mark } = rateLimitInfo(reported);
  const later = [...limits].filter(([other]) => other > request);
  updateExact(step, { limits: new Map(later), emittedLimits: mark });
  if (mark === emittedLimits) return;
  emitAfterInit(step, ({ sessionId, newUuid }) => [
    { type: "rate_limit_event", rate_limit_info: info, uuid: newUuid(), session_id: sessionId },
  ]);
}

function emitLine(step: OutputStep, entry: AssistantEntry): void {
  emitAfterInit(step, (context) => framesOfEntry(entry, context));
}

/** Emits an event of the open answer. */
function emitOpenEvent(
  step: OutputStep,
  event: StreamEvent,
  more: Readonly<Record<string, unknown>> = {},
): void {
  emitStreamEvent(step, event, { messageId: streamOf(step.state).open?.id, more });
}

function streamOf({ exact }: OutputState): ExactState {
  return exact ?? NO_STREAM;
}

/** Changes the state of the stream, if answers are emitted from it. */
function updateExact(step: OutputStep, changes: Partial<ExactState>): void {
  const { exact } = step.state;
  if (exact !== undefined) step.update({ exact: { ...exact, ...changes } });
}

/** The estimated number of tokens thought in the current block, and the fields to emit, if any. */
export interface ThinkingEstimate {
  readonly estimate: number;
  readonly fields?: { readonly estimated_tokens: number; readonly estimated_tokens_delta: number };
}

/**
 * Counts the tokens of streamed thoughts as Claude Code does: by `estimated_tokens` of a delta, or else one token for
 * four characters. For hidden thoughts it counts the characters of their signature, which is base64.
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
  const fields = { estimated_tokens: estimate, estimated_tokens_delta: estimate - before };
  return { estimate, fields };
}
