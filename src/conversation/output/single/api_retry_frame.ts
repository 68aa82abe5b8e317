import type { ApiRetry } from "../../control/input.ts";
import type { SystemFrame } from "../../../claude/wire/system_frames.ts";

/** The frame with which `claude -p` tells of a retry. */
export function apiRetryFrame(
  retry: ApiRetry,
  ids: { readonly sessionId: string; readonly uuid: string },
): SystemFrame {
  return {
    type: "system",
    subtype: "api_retry",
    attempt: retry.attempt,
    max_retries: retry.maxRetries,
    retry_delay_ms: retry.delayMs,
    error_status: retry.status,
    error: errorClass(retry.status),
    session_id: ids.sessionId,
    uuid: ids.uuid,
  };
}

function errorClass(status: number | null): string {
  switch (status) {
    case 529:
      return "overloaded";
    case 429:
      return "rate_limit";
    case 401:
    case 403:
      return "authentication_failed";
    default:
      return status !== null && status >= 408 ? "server_error" : "unknown";
  }
}
