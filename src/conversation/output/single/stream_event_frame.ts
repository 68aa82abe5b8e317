import type { StreamEvent, StreamEventFrame } from "../../../claude/wire/message_frames.ts";
import { onlyWireKeys } from "../../../claude/wire/json_text.ts";

/** A frame around an event of the API's stream, with the keys of a version. */
export function streamEventFrame(
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
