import { assert, assertEquals } from "@std/assert";
import type { AnyFrame } from "../../../../src/claude/wire/any_frame.ts";
import type {
  AssistantFrame,
  ContentBlock,
  StreamEvent,
  StreamEventFrame,
  UserFrame,
} from "../../../../src/claude/wire/message_frames.ts";

/** An answer, as its stream events give it. */
interface StreamedMessage {
  readonly id: string;
  /** The calls on its `assistant` frames so far. */
  readonly calls: unknown[];
  readonly blocks: ContentBlock[];
  /** The JSON of a call's input so far. */
  json: string;
  isBlockOpen: boolean;
  stopReason?: unknown;
}

/**
 * Requires the stream events of a run to follow the API's grammar: messages do not nest, one block is open at a time,
 * blocks are numbered in order, nothing follows `message_delta` but `message_stop`, and the joined deltas of a complete
 * answer are the blocks of its `assistant` frames. No frame of an earlier answer or its calls stands within a message.
 *
 * Two things are looser, as `docs/how-to/live-text.md` says: adjacent texts may be one block of the stream, and a thought may
 * have no events.
 *
 * @param stops whether each stream ends with `message_stop`: before 2.1.330 one that breaks off does not
 */
export function assertStreamGrammar(
  frames: readonly AnyFrame[],
  { stops = true }: { readonly stops?: boolean } = {},
): void {
  const complete: StreamedMessage[] = [];
  let open: StreamedMessage | undefined;
  for (const frame of frames) {
    if (frame.type === "result") {
      assert(open === undefined || !stops, "a message without an end");
      open = undefined;
    }
    if (open !== undefined) assertInPlace(frame, open);
    if (frame.type !== "stream_event") continue;
    const { event } = frame as StreamEventFrame;
    if (event.type === "message_start") {
      assert(open === undefined || (!stops && !open.isBlockOpen), "a message within a message");
      const { id } = event["message"] as AssistantFrame["message"];
      open = { id, calls: [], blocks: [], json: "", isBlockOpen: false };
      continue;
    }
    assert(open !== undefined, `${event.type} of no message`);
    if (event.type === "message_stop") {
      assert(!open.isBlockOpen, "message_stop within a block");
      // What has broken off has no reason for its end.
      if (open.stopReason !== undefined) complete.push(open);
      open = undefined;
    } else {
      takeEvent(open, event);
    }
  }
  assert(open === undefined || !stops, "a message without an end");
  for (const message of complete) assertSameBlocks(message, frames);
}

/** Requires a frame within a message to be of that message, or the result of one of its calls. */
function assertInPlace(frame: AnyFrame, open: StreamedMessage): void {
  if (frame["parent_tool_use_id"] !== null) return;
  if (frame.type === "assistant") {
    const { id, model, content } = (frame as AssistantFrame).message;
    assert(id === open.id || model === "<synthetic>", "a frame of another message");
    open.calls.push(...content.map((block) => block.id));
  }
  if (frame.type === "user") {
    const { content } = (frame as UserFrame).message;
    const results = typeof content === "string" ? [] : content.map((block) => block.tool_use_id);
    for (const id of results) {
      assert(id === undefined || open.calls.includes(id), "a result of an earlier call");
    }
  }
}

function takeEvent(message: StreamedMessage, event: StreamEvent): void {
  const { type, index, delta } = event;
  const { blocks } = message;
  assert(message.stopReason === undefined, `${type} after message_delta`);
  if (type === "message_delta") {
    assert(!message.isBlockOpen, "message_delta within a block");
    message.stopReason = delta?.["stop_reason"];
    return;
  }
  if (type === "content_block_start") {
    assert(!message.isBlockOpen, "a block within a block");
    assertEquals(index, blocks.length, "the place of a block");
    blocks.push(event["content_block"] as ContentBlock);
    message.json = "";
    message.isBlockOpen = true;
    return;
  }
  assert(message.isBlockOpen, `${type} of no block`);
  assertEquals(index, blocks.length - 1, `the place of ${type}`);
  const block = blocks.at(-1) ?? { type: "" };
  if (type === "content_block_stop") {
    message.isBlockOpen = false;
    if (message.json !== "") blocks.splice(-1, 1, { ...block, input: JSON.parse(message.json) });
    return;
  }
  assertEquals(type, "content_block_delta");
  const { type: kind, ...piece } = delta ?? {};
  if (kind === "input_json_delta") message.json += piece["partial_json"];
  else {
    const joined = Object.entries(piece).map(([key, value]) => [
      key,
      `${block[key] ?? ""}${value}`,
    ]);
    blocks.splice(-1, 1, { ...block, ...Object.fromEntries(joined) });
  }
}

/** Requires the `assistant` frames of an answer to hold what its stream does. */
function assertSameBlocks({ id, blocks }: StreamedMessage, frames: readonly AnyFrame[]): void {
  const shown = frames.filter((frame): frame is AssistantFrame => frame.type === "assistant")
    .filter(({ message }) => message.id === id).flatMap(({ message }) => message.content);
  const streamed = new Set(blocks.filter(isThought).map((block) => JSON.stringify(block)));
  const known = shown.filter((block) => !isThought(block) || streamed.has(JSON.stringify(block)));
  assertEquals(joinTexts(blocks), joinTexts(known), `the blocks of ${id}`);
}

function isThought({ type }: ContentBlock): boolean {
  return type === "thinking" || type === "redacted_thinking";
}

/** The blocks, with adjacent texts as one. */
function joinTexts(blocks: readonly ContentBlock[]): readonly ContentBlock[] {
  const joined: ContentBlock[] = [];
  for (const block of blocks) {
    const last = joined.at(-1);
    if (block.type === "text" && last?.type === "text") {
      joined.splice(-1, 1, { type: "text", text: `${last.text}${block.text}` });
    } else joined.push(block.type === "text" ? { type: "text", text: block.text ?? "" } : block);
  }
  return joined;
}
