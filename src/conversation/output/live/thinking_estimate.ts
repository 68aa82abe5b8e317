import type { StreamEvent } from "../../../claude/wire/message_frames.ts";

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
