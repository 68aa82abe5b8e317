import type { SystemFrame } from "./frame.ts";

/** That a request to the API failed and is made again. */
export interface ApiRetry {
  /** The number of the request that failed, from 1. */
  readonly attempt: number;
  /** How many more than the first request there may be. */
  readonly maxRetries: number;
  /** Milliseconds until the next request, rounded up to whole seconds: the screen shows no less. */
  readonly delayMs: number;
  /** The HTTP status; null when there was no response. */
  readonly status: number | null;
}

/** The frame with which `claude -p` tells of a retry; the classes are those of 2.1.197 and 2.1.330. */
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
