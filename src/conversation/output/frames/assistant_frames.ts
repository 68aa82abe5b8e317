import { addressOf, commonFields, type FrameContext, messageIds } from "./frame_context.ts";
import { printSentence } from "../result/api_failure.ts";
import type { AssistantEntry, ContentBlock } from "../../../claude/transcript/entry.ts";
import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import type { AssistantFrame, AssistantMessage } from "../../../claude/wire/message_frames.ts";
import type { Frame, RateLimitFrame } from "../../../claude/wire/frame.ts";
import { pickWireKeys } from "../../../claude/wire/json_text.ts";

const SYNTHETIC_MODEL = "<synthetic>";

/** The fields of the API's usage. Claude Code adds others to a transcript. */
const API_USAGE = [
  "input_tokens",
  "cache_creation_input_tokens",
  "cache_read_input_tokens",
  "cache_creation",
  "output_tokens",
  "service_tier",
  "inference_geo",
];

/**
 * The frames of a line of an answer: a frame for a usage limit that was hit, and the frame of the line itself, if it is
 * printed.
 */
export function assistantFrames(entry: AssistantEntry, context: FrameContext): readonly Frame[] {
  return isPrinted(entry.message.content, context)
    ? [...rateLimitFrames(entry, context), assistantFrame(entry, context)]
    : [];
}

function assistantFrame(entry: AssistantEntry, context: FrameContext): AssistantFrame {
  const fields = {
    ...commonFields(entry, context),
    error: entry.error,
    request_id: entry.requestId,
    is_api_error_message: entry.isApiErrorMessage === true ? true : undefined,
    api_error_status: entry.apiErrorStatus ?? undefined,
    api_error_type: entry.apiErrorType ?? undefined,
    api_error: entry.apiError,
    api_error_params: entry.apiErrorParams,
    refused_message_id: entry.refusedMessageId,
    // `claude -p` does not print how long a subagent has thought.
    ...(context.subagent === undefined
      ? {
        thinking_duration_ms: entry.thinkingDurationMs,
        thinking_display: entry.thinkingDisplay,
        ...(context.unnamedMessages === undefined ? {} : messageIds(context.unnamedMessages)),
      }
      : {}),
  };
  return {
    type: "assistant",
    message: messageOf(entry),
    ...addressOf(context),
    ...pickWireKeys("assistant", fields, context),
  };
}

/** The usage of an answer as the API's stream has it. Claude Code writes an empty text for a field that the API left out. */
export function apiUsage(usage: JsonObject | null | undefined): JsonObject {
  const known: Record<string, unknown> = {};
  for (const key of API_USAGE) {
    const value = usage?.[key];
    if (value !== undefined && value !== "") known[key] = value;
  }
  return known;
}

/** The frame for a usage limit that was hit, with its reset time. A transcript holds no other facts about limits. */
function rateLimitFrames(entry: AssistantEntry, context: FrameContext): readonly RateLimitFrame[] {
  const params = entry.apiErrorParams;
  const info = isJsonObject(params) ? params.rate_limit_info : undefined;
  return isJsonObject(info)
    ? [{
      type: "rate_limit_event",
      rate_limit_info: info,
      uuid: context.newUuid(),
      session_id: context.sessionId,
    }]
    : [];
}

function messageOf(entry: AssistantEntry): AssistantMessage {
  const { message } = entry;
  if (entry.isApiErrorMessage === true) {
    const content = message.content.map((block) =>
      typeof block.text === "string" ? { ...block, text: printSentence(block.text) } : block
    );
    return { ...message, content };
  }
  if (message.model === SYNTHETIC_MODEL) return message;
  const { id, type, role, model, content, usage, stop_reason: _, stop_details: __, ...more } =
    message;
  return {
    id,
    type: type ?? "message",
    role: role ?? "assistant",
    model,
    content,
    ...more,
    // `claude -p` prints the frame before the API sends the stop reason.
    stop_reason: null,
    stop_sequence: null,
    usage: apiUsage(usage),
    context_management: message.context_management ?? null,
  };
}

/**
 * Whether a line is printed. The text of a subagent for which the turn waits is printed only in the result of its call.
 */
function isPrinted(content: readonly ContentBlock[], context: FrameContext): boolean {
  return context.subagent === undefined || context.subagent.background === true ||
    context.subagentText === true ||
    content.some((block) => block.type === "tool_use");
}

interface CommandOutputFacts {
  readonly version: string;
  readonly sessionId: string;
  /** The id of the frame and of its message. */
  readonly uuid: string;
  readonly messageId: string;
  /** When the command ended, in ISO 8601. */
  readonly timestamp: string;
  /** A command that failed: its output as the transcript has it, its name and its arguments. */
  readonly failed?: {
    readonly source: string;
    readonly run: { readonly command: string; readonly args: string };
  };
  /** Further fields for a command that was carried out. */
  readonly carriedOut?: JsonObject;
}

/** The `local_command_outcome`. Undefined for a command that was carried out, or that failed without an error. */
function outcomeOf({ failed, carriedOut }: CommandOutputFacts): JsonObject | undefined {
  if (carriedOut !== undefined) return undefined;
  if (failed === undefined) return { kind: "unavailable_headless" };
  return failed.source.startsWith("<local-command-stderr>") ? { kind: "failed" } : undefined;
}

/**
 * Builds the `assistant` frame with the output of a slash command, or with the message that the command failed or is not
 * available in `claude -p`.
 */
export function unavailableFrame(text: string, facts: CommandOutputFacts): AssistantFrame {
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
    ...pickWireKeys("assistant", {
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
