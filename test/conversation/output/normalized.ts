/** Fields whose values differ from run to run; only their presence and kind can agree. */
const VOLATILE = new Set([
  "uuid",
  "session_id",
  "timestamp",
  "duration_ms",
  "duration_api_ms",
  "thinking_duration_ms",
  "refused_user_message_uuid",
  "agentId",
  "agent_id",
  "runId",
  "totalDurationMs",
]);

/** Replaces what cannot be equal in two runs of the same prompt. */
export function normalized(value: unknown, field = ""): unknown {
  if (VOLATILE.has(field) && (typeof value === "string" || typeof value === "number")) {
    return `<${typeof value}>`;
  }
  if (Array.isArray(value)) return value.map((item) => normalized(item));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value);
  const synthetic = "model" in value && value.model === "<synthetic>";
  return Object.fromEntries(
    entries.map(([key, item]) => [key, synthetic && key === "id" ? "<id>" : normalized(item, key)]),
  );
}
