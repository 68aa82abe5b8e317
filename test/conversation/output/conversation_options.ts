import type { ConversationOptions } from "../../../src/conversation/output/conversation.ts";
import type { SessionOptions } from "../../../src/conversation/control/session_options.ts";

/** What the machines are told of a run, but for what a test names. */
export function conversationOptions(given: Partial<SessionOptions> = {}): ConversationOptions {
  const limits = {
    timeoutMs: 60_000,
    startTimeoutMs: 60_000,
    deliveryTimeoutMs: 60_000,
    drainTimeoutMs: 10_000,
    exitTimeoutMs: 5000,
  };
  const session: SessionOptions = {
    size: { rows: 50, cols: 220 },
    ...limits,
    otherStopHooks: false,
    ...given,
  };
  return {
    session,
    frames: {
      sessionId: "s",
      cwd: "/w",
      permissionMode: "default",
      apiKeySource: "none",
      memoryPath: "/m/",
      servedByAnthropic: true,
      seed: "5d2bd263-47a8-4ab5-8f2e-1f1f0c3a9b11",
      startedAt: 1_700_000_000_000,
    },
    report: { limits, binary: "/bin/claude" },
  };
}
