import { askedBy, systemFrame } from "../frames/frame_context.ts";
import { and, type FramesState, type Told, told, withIds } from "../telling/frames_state.ts";
import type { ApiRetry } from "../../control/input.ts";
import { say } from "../telling/saying.ts";
import type { StreamEvent, StreamEventFrame } from "../../../claude/wire/message_frames.ts";
import { onlyWireKeys } from "../../../claude/wire/json_text.ts";
import type { SystemFrame } from "../../../claude/wire/system_frames.ts";
import type { UserEntry } from "../../../claude/transcript/entry.ts";

/** Says that the model is asked, once for each answer and before anything that comes of it, to whoever wants answers live. */
export function tellRequest(state: FramesState): Told {
  if (state.requested !== false) return told(state);
  const { sessionId } = state.options;
  const { user_message_uuids } = askedBy(state);
  const { state: next, made } = withIds(
    { ...state, requested: true },
    (newUuid) =>
      systemFrame(
        "status",
        {
          status: "requesting",
          ...(user_message_uuids === undefined ? {} : { user_message_uuids }),
        },
        { sessionId, newUuid },
      ),
  );
  return told(next, [made]);
}

/** Says that a request has failed and is made again. */
export function tellAgain(state: FramesState, retry: ApiRetry): Told {
  const { sessionId } = state.options;
  return and(tellRequest(state), (state) => {
    const { state: next, made } = withIds(
      state,
      (newUuid) => apiRetryFrame(retry, { sessionId, uuid: newUuid() }),
    );
    return told(next, [made]);
  });
}

/** The answer has been told, or will not come: the next one takes another request. */
export function forgetRequest(state: FramesState): FramesState {
  return state.requested === true ? { ...state, requested: false } : state;
}

/** Says an event of the stream of an answer, of which `message_start` told the id. */
export function sayEvent(
  state: FramesState,
  { event, of: messageId = "", more = {} }: {
    readonly event: StreamEvent;
    readonly of: string | undefined;
    readonly more?: Readonly<Record<string, unknown>>;
  },
): Told {
  const isNaming = event.type === "message_start" && !state.named.has("stream_event");
  const all = isNaming ? { ...more, ...askedBy(state) } : more;
  return say(state, ({ version, sessionId, newUuid }) => [
    streamEventFrame(event, { version, sessionId, uuid: newUuid(), messageId, more: all }),
  ]);
}

/** An answer has broken off: its stream ends, and says before which block. */
export function sayAbandoned(
  state: FramesState,
  { of, at }: { readonly of: string; readonly at: number },
): Told {
  const from = { api_message_id: of, from_block_index: at };
  return sayEvent(state, {
    event: { type: "message_stop" },
    of,
    more: { abandoned_blocks: from },
  });
}

/** A frame around an event of the API's stream, with the keys of a version. */
function streamEventFrame(
  event: StreamEvent,
  { version, sessionId, uuid, messageId, more }: {
    readonly version: string;
    readonly sessionId: string;
    readonly uuid: string;
    /** The answer's id, as its `message_start` tells it. */
    readonly messageId: string;
    readonly more: Readonly<Record<string, unknown>>;
  },
): StreamEventFrame {
  const fields = {
    ...more,
    thinking_display: isOfThinking(event) ? "updates" : undefined,
    api_message_id: messageId,
  };
  return {
    type: "stream_event",
    event,
    session_id: sessionId,
    parent_tool_use_id: null,
    uuid,
    ...onlyWireKeys("streamEvent", fields, { version }),
  };
}

/** The events with which Claude Code says how thinking is shown: in the same way whatever the caller asked for. */
function isOfThinking({ type, content_block: block, delta }: StreamEvent): boolean {
  const { type: kind } = (block ?? delta ?? {}) as { readonly type?: unknown };
  return type === "message_start" || kind === "thinking" || kind === "thinking_delta";
}

/** The frame with which `claude -p` tells of a retry. */
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

/** Whether a line holds the result of a call by which a structured answer is given. */
export function isOfOutput({ outputCalls }: FramesState, { message }: UserEntry): boolean {
  return outputCalls !== undefined && typeof message.content !== "string" &&
    message.content.some(({ tool_use_id: id }) => typeof id === "string" && outputCalls.has(id));
}
