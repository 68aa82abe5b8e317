import { askedBy } from "../result/asked_by.ts";
import { streamEventFrame } from "../single/stream_event_frame.ts";
import type { FramesState, Told } from "../telling/frames_state.ts";
import { say } from "../telling/saying.ts";
import type { StreamEvent } from "../../../claude/wire/message_frames.ts";

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
