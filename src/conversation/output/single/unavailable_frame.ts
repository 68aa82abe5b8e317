import type { JsonObject } from "../../../json_object.ts";
import type { AssistantFrame } from "../../../claude/wire/message_frames.ts";
import { onlyWireKeys } from "../../../claude/wire/json_text.ts";

/** What a frame is made of that stands in the place of an answer. */
export interface UnavailableFacts {
  readonly version: string;
  readonly sessionId: string;
  /** The id of the frame, and that of its message. */
  readonly uuid: string;
  readonly messageId: string;
  /** When, in ISO 8601. */
  readonly timestamp: string;
  /** A command that was carried out in vain: its output as the transcript has it, its name and what followed that. */
  readonly failed?: {
    readonly source: string;
    readonly run: { readonly command: string; readonly args: string };
  };
  /** Of a command that was carried out: what the frame says beside its words. */
  readonly carriedOut?: JsonObject;
}

/** What became of a command; nothing is said of one that was carried out, or has failed without an error. */
function outcomeOf({ failed, carriedOut }: UnavailableFacts): JsonObject | undefined {
  if (carriedOut !== undefined) return undefined;
  if (failed === undefined) return { kind: "unavailable_headless" };
  return failed.source.startsWith("<local-command-stderr>") ? { kind: "failed" } : undefined;
}

/**
 * Builds the `assistant` frame with which `claude -p` says what came of a slash command: it is not available there, has
 * failed, or has said something.
 */
export function unavailableFrame(text: string, facts: UnavailableFacts): AssistantFrame {
  const usage = {
    input_tokens: 0,
    output_tokens: 0,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    server_tool_use: { web_search_requests: 0, web_fetch_requests: 0 },
    service_tier: null,
    cache_creation: { ephemeral_1h_input_tokens: 0, ephemeral_5m_input_tokens: 0 },
    inference_geo: null,
    iterations: null,
    speed: null,
    output_tokens_details: null,
    fallback_credit: null,
  };
  return {
    type: "assistant",
    message: {
      diagnostics: null,
      id: facts.messageId,
      container: null,
      model: "<synthetic>",
      role: "assistant",
      stop_details: null,
      stop_reason: "end_turn",
      stop_sequence: null,
      type: "message",
      usage,
      content: [{ type: "text", text }],
      context_management: null,
    },
    parent_tool_use_id: null,
    session_id: facts.sessionId,
    ...onlyWireKeys("assistant", {
      local_command_source: facts.failed?.source ??
        `<local-command-stdout>${text}</local-command-stdout>`,
      uuid: facts.uuid,
      timestamp: facts.timestamp,
      local_command_run: facts.failed?.run,
      local_command_outcome: outcomeOf(facts),
    }, facts),
    ...facts.carriedOut,
  };
}
