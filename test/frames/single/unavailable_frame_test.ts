import { assertEquals } from "@std/assert";
import { resultFrame } from "../../../src/frames/result/result_frame.ts";
import { unavailableFrame } from "../../../src/frames/single/unavailable_frame.ts";

const TEXT = "/logout isn't available in this environment.";

/** What `claude -p /logout` printed after `system/init`, but for ids and clocks. */
const PRINTED: Readonly<Record<string, readonly [object, object]>> = {
  "2.1.332": [
    JSON.parse(
      `{"type":"assistant","message":{"diagnostics":null,"id":"M","container":null,"model":"<synthetic>","role":"assistant","stop_details":null,"stop_reason":"end_turn","stop_sequence":null,"type":"message","usage":{"output_tokens_details":null,"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"server_tool_use":{"web_search_requests":0,"web_fetch_requests":0},"service_tier":null,"cache_creation":{"ephemeral_1h_input_tokens":0,"ephemeral_5m_input_tokens":0},"inference_geo":null,"iterations":null,"speed":null,"fallback_credit":null},"content":[{"type":"text","text":"${TEXT}"}],"context_management":null},"parent_tool_use_id":null,"local_command_source":"<local-command-stdout>${TEXT}</local-command-stdout>","session_id":"S","uuid":"U","timestamp":"T","local_command_outcome":{"kind":"unavailable_headless"}}`,
    ),
    JSON.parse(
      `{"is_error":false,"duration_api_ms":0,"num_turns":0,"stop_reason":null,"session_id":"S","total_cost_usd":0,"usage":{"output_tokens_details":{"thinking_tokens":0},"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0,"server_tool_use":{"web_search_requests":0,"web_fetch_requests":0},"service_tier":"standard","cache_creation":{"ephemeral_1h_input_tokens":0,"ephemeral_5m_input_tokens":0},"inference_geo":"","iterations":[],"speed":"standard","fallback_credit":null},"modelUsage":{},"permission_denials":[],"fast_mode_state":"off","fast_mode_disabled_reason":"sdk_opt_in_required","subagent_stats":{"spawned":0,"requested":{"background":0,"foreground":0,"unset":0},"started_in_background":0,"max_depth":0,"spawned_by_subagents":0,"completed":0,"failed":0,"killed":{"parent":0,"user":0,"system":0},"refused":{"depth_limit":0,"concurrency_limit":0,"budget":0},"by_type":{}},"safety_stops":0,"subtype":"success","result":"${TEXT}","type":"result","duration_ms":0,"uuid":"U","queued_turn_count":0,"result_index":0,"model_usage_since_last_result":{}}`,
    ),
  ],
};

Deno.test("a command that is not available is answered in claude -p's frames", () => {
  for (const [version, [assistant, result]] of Object.entries(PRINTED)) {
    const ids = { version, sessionId: "S", uuid: "U" };
    assertEquals(
      { ...unavailableFrame(TEXT, { ...ids, messageId: "M", timestamp: "T" }) },
      assistant,
    );
    const { claude_version, ...ours } = resultFrame({
      ...ids,
      outcome: { kind: "local", text: TEXT },
      cost: { totalUsd: 0, apiDurationMs: 0, modelUsage: {}, hasUnknownPrice: undefined },
      sinceLast: {},
    });
    assertEquals<unknown>([ours, claude_version], [result, version]);
  }
});
