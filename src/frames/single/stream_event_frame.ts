import type { StreamEvent, StreamEventFrame } from "../../wire/message_frames.ts";

/** A frame around an event of the API's stream. */
export function streamEventFrame(
  event: StreamEvent,
  { sessionId, uuid, messageId, more = {} }: {
    readonly sessionId: string;
    readonly uuid: string;
    /** The answer's id, as its `message_start` tells it. */
    readonly messageId: string;
    readonly more?: Readonly<Record<string, unknown>>;
  },
): StreamEventFrame {
  return {
    type: "stream_event",
    event,
    session_id: sessionId,
    parent_tool_use_id: null,
    uuid,
    ...more,
    ...(isOfThinking(event) ? { thinking_display: "updates" } : {}),
    api_message_id: messageId,
  };
}

/** The events with which Claude Code says how thinking is shown: in the same way whatever the caller asked for. */
function isOfThinking({ type, content_block: block, delta }: StreamEvent): boolean {
  const { type: kind } = (block ?? delta ?? {}) as { readonly type?: unknown };
  return type === "message_start" || kind === "thinking" || kind === "thinking_delta";
}
