import { messageIds, systemFrame } from "../frames/frame_context.ts";
import type { OutputState, OutputStep } from "../output_state.ts";
import type { ApiRetry } from "../../control/input.ts";
import { emitAfterInit, newUuid } from "../emit_frames.ts";
import type { StreamEvent, StreamEventFrame } from "../../../claude/wire/message_frames.ts";
import { pickWireKeys } from "../../../claude/wire/json_text.ts";
import type { SystemFrame } from "../../../claude/wire/system_frames.ts";
import type { UserEntry } from "../../../claude/transcript/entry.ts";

/** Emits `system/status` with `requesting`: once for each request, before all frames of its answer. */
export function emitRequestStatus(step: OutputStep): void {
  const { requested, options: { sessionId } } = step.state;
  if (requested !== false) return;
  const { user_message_uuids } = messageIds(step.state);
  step.update({ requested: true });
  step.emit(
    systemFrame("status", {
      status: "requesting",
      ...(user_message_uuids === undefined ? {} : { user_message_uuids }),
    }, { sessionId, newUuid: () => newUuid(step) }),
  );
}

/** Emits that a request has failed and is repeated. */
export function emitRetry(step: OutputStep, retry: ApiRetry): void {
  emitRequestStatus(step);
  const { sessionId } = step.state.options;
  step.emit(apiRetryFrame(retry, { sessionId, uuid: newUuid(step) }));
}

/** Ends the request of the last answer. The next answer needs another request. */
export function forgetRequest(step: OutputStep): void {
  if (step.state.requested === true) step.update({ requested: false });
}

/** Records the id of an answer that is emitted event by event, for `begun_message_ids` of the result. */
export function recordStreamed(step: OutputStep, messageId: string): void {
  const { streamed = [] } = step.state;
  if (messageId === "" || streamed.includes(messageId)) return;
  step.update({ streamed: [...streamed, messageId] });
}

/** Emits an event of an answer's stream. The first `message_start` of a turn names the messages that it answers. */
export function emitStreamEvent(
  step: OutputStep,
  event: StreamEvent,
  { messageId = "", more = {} }: {
    /** The answer's id, as its `message_start` has it. */
    readonly messageId: string | undefined;
    /** Further fields of the frame. */
    readonly more?: Readonly<Record<string, unknown>>;
  },
): void {
  const namesMessages = event.type === "message_start" && !step.state.named.has("stream_event");
  const fields = namesMessages ? { ...more, ...messageIds(step.state) } : more;
  emitAfterInit(step, ({ version, sessionId, newUuid }) => [
    streamEventFrame(event, { version, sessionId, uuid: newUuid(), messageId, more: fields }),
  ]);
}

/** Emits the end of an answer that broke off. `blockIndex` is the index of the first missing block. */
export function emitStreamBreak(
  step: OutputStep,
  { messageId, blockIndex }: { readonly messageId: string; readonly blockIndex: number },
): void {
  const abandoned = { api_message_id: messageId, from_block_index: blockIndex };
  emitStreamEvent(step, { type: "message_stop" }, {
    messageId,
    more: { abandoned_blocks: abandoned },
  });
}

function streamEventFrame(
  event: StreamEvent,
  { version, sessionId, uuid, messageId, more }: {
    readonly version: string;
    readonly sessionId: string;
    readonly uuid: string;
    readonly messageId: string;
    readonly more: Readonly<Record<string, unknown>>;
  },
): StreamEventFrame {
  const fields = {
    ...more,
    thinking_display: namesThinkingDisplay(event) ? "updates" : undefined,
    api_message_id: messageId,
  };
  return {
    type: "stream_event",
    event,
    session_id: sessionId,
    parent_tool_use_id: null,
    uuid,
    ...pickWireKeys("streamEvent", fields, { version }),
  };
}

/** Whether Claude Code adds `thinking_display` to an event. Its value does not depend on the caller's options. */
function namesThinkingDisplay({ type, content_block: block, delta }: StreamEvent): boolean {
  const { type: kind } = (block ?? delta ?? {}) as { readonly type?: unknown };
  return type === "message_start" || kind === "thinking" || kind === "thinking_delta";
}

/** Builds the `system/api_retry` frame. */
export function apiRetryFrame(
  retry: ApiRetry,
  ids: { readonly sessionId: string; readonly uuid: string },
): SystemFrame {
  return {
    type: "system",
    subtype: "api_retry",
    attempt: retry.attempt,
    max_retries: retry.maxRetries,
    retry_delay_ms: retry.delayMs,
    error_status: retry.status,
    error: errorClass(retry.status),
    session_id: ids.sessionId,
    uuid: ids.uuid,
  };
}

function errorClass(status: number | null): string {
  switch (status) {
    case 529:
      return "overloaded";
    case 429:
      return "rate_limit";
    case 401:
    case 403:
      return "authentication_failed";
    default:
      return status !== null && status >= 408 ? "server_error" : "unknown";
  }
}

/** Whether a line holds the result of a call that gives a structured answer. */
export function holdsOutputResult({ outputCalls }: OutputState, { message }: UserEntry): boolean {
  return outputCalls !== undefined && typeof message.content !== "string" &&
    message.content.some(({ tool_use_id: id }) => typeof id === "string" && outputCalls.has(id));
}
