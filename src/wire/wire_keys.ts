import { isVersionAtLeast } from "../claude/versions/compare_versions.ts";

/** A kind of object whose set of keys depends on the version of Claude Code. */
export type WireObject = "init" | "assistant" | "user" | "result" | "usage" | "modelUsage";

type Table = Readonly<Record<WireObject, readonly Since[]>>;

interface Since {
  /** The oldest version in which the keys were seen. */
  readonly version: string;
  readonly keys: readonly string[];
}

/**
 * The keys `claude -p` prints, by the version since which it does; measured on 2.1.168, 2.1.197, 2.1.330
 * and 2.1.332. In between and after, the last measured version before holds: what a version may not know is not printed.
 */
const TABLE: Table = {
  init: [
    {
      version: "2.1.168",
      keys: [
        "type",
        "subtype",
        "cwd",
        "session_id",
        "tools",
        "mcp_servers",
        "model",
        "permissionMode",
        "slash_commands",
        "apiKeySource",
        "claude_code_version",
        "output_style",
        "agents",
        "skills",
        "plugins",
        "analytics_disabled",
        "product_feedback_disabled",
        "uuid",
        "memory_paths",
        "fast_mode_state",
        "betas",
      ],
    },
    { version: "2.1.197", keys: ["plugin_errors"] },
    {
      version: "2.1.330",
      keys: [
        "terminal_slash_commands",
        "capabilities",
        "mcp_server_errors",
        "served_by_anthropic",
        "original_cwd",
        "additional_directories",
        "messaging_socket_path",
        "fast_mode_disabled_reason",
        "per_turn_effort_active",
        "ultrathink_available",
        "ultrathink_typed_raises",
        "view_mode",
        "user_message_uuids",
      ],
    },
    { version: "2.1.332", keys: ["sandbox_enabled"] },
  ],
  assistant: [
    {
      version: "2.1.168",
      keys: [
        "type",
        "message",
        "parent_tool_use_id",
        "session_id",
        "uuid",
        "error",
        "request_id",
        "tool_use_meta",
        "subagent_type",
        "task_description",
      ],
    },
    {
      version: "2.1.330",
      keys: [
        "timestamp",
        "is_api_error_message",
        "api_error_status",
        "api_error_type",
        "api_error",
        "api_error_params",
        "refused_message_id",
        "thinking_duration_ms",
        "thinking_display",
        "agent_id",
        "local_command_source",
        "local_command_run",
        "local_command_outcome",
        "user_message_uuid",
        "user_message_uuids",
      ],
    },
  ],
  user: [
    {
      version: "2.1.168",
      keys: [
        "type",
        "message",
        "parent_tool_use_id",
        "session_id",
        "uuid",
        "timestamp",
        "tool_use_result",
        "isReplay",
        "isSynthetic",
        "subagent_type",
        "task_description",
      ],
    },
    { version: "2.1.330", keys: ["tool_result_meta", "refused_message_id", "agent_id"] },
    { version: "2.1.332", keys: ["refusal_retry"] },
  ],
  result: [
    {
      version: "2.1.168",
      keys: [
        "type",
        "subtype",
        "is_error",
        "api_error_status",
        "duration_ms",
        "duration_api_ms",
        "ttft_ms",
        "ttft_stream_ms",
        "time_to_request_ms",
        "num_turns",
        "result",
        "errors",
        "stop_reason",
        "session_id",
        "total_cost_usd",
        "usage",
        "modelUsage",
        "permission_denials",
        "structured_output",
        "deferred_tool_use",
        "terminal_reason",
        "fast_mode_state",
        "origin",
        "uuid",
      ],
    },
    {
      version: "2.1.330",
      keys: [
        "api_error_type",
        "api_error",
        "fast_mode_disabled_reason",
        "subagent_stats",
        "safety_stops",
        "first_content_frame_ms",
        "queued_turn_count",
        "begun_message_ids",
        "local_command",
        "result_index",
        "user_message_uuid",
        "user_message_uuids",
        "request_sent_wall_ms",
        "first_request_input_tokens",
        "first_request_cache_read_input_tokens",
        "model_usage_since_last_result",
      ],
    },
  ],
  usage: [
    {
      version: "2.1.168",
      keys: [
        "input_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
        "output_tokens",
        "server_tool_use",
        "service_tier",
        "cache_creation",
        "inference_geo",
        "iterations",
        "speed",
      ],
    },
    { version: "2.1.330", keys: ["output_tokens_details", "fallback_credit"] },
  ],
  modelUsage: [
    {
      version: "2.1.168",
      keys: [
        "inputTokens",
        "outputTokens",
        "cacheReadInputTokens",
        "cacheCreationInputTokens",
        "webSearchRequests",
        "costUSD",
        "contextWindow",
        "maxOutputTokens",
      ],
    },
    {
      version: "2.1.330",
      keys: [
        "thinkingTokens",
        "cacheCreationEphemeral5mInputTokens",
        "cacheCreationEphemeral1hInputTokens",
        "canonicalModel",
        "provider",
        "costBasis",
      ],
    },
  ],
};

/**
 * Keeps of an object what a version prints, in the version's order, and drops undefined values.
 * With `extra`, keys outside every table stay too, at the end: fields of the API that Claude Code
 * passes on as they come.
 *
 * A version older than all measured ones counts as the oldest of them.
 */
export function onlyWireKeys(
  object: WireObject,
  fields: Readonly<Record<string, unknown>>,
  options: { readonly version: string; readonly extra?: boolean },
): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const [index, { version, keys }] of TABLE[object].entries()) {
    if (index > 0 && !isVersionAtLeast(options.version, version)) continue;
    for (const key of keys) if (fields[key] !== undefined) kept[key] = fields[key];
  }
  if (options.extra !== true) return kept;
  const extra = Object.entries(fields).filter(([key, value]) =>
    value !== undefined && !isWireKey(object, key)
  );
  return { ...kept, ...Object.fromEntries(extra) };
}

/** Tells whether any version has a key in an object. */
export function isWireKey(object: WireObject, key: string): boolean {
  return TABLE[object].some((since) => since.keys.includes(key));
}
