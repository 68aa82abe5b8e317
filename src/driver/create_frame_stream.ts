import { DENIAL_MESSAGE } from "../sandbox/hooks.ts";
import type { Frame } from "../wire/frame.ts";
import { claudeVersion } from "./claude_version.ts";
import { FrameStream } from "./frame_stream.ts";
import type { PreparedRun } from "./prepare_run.ts";
import { runningShells } from "./running_shells.ts";

/** The frames of a prepared run. */
export function createFrameStream(
  prepared: PreparedRun,
  emit: (frame: Frame) => void,
): FrameStream {
  const { options, binary, env } = prepared;
  return new FrameStream({
    sessionId: prepared.sessionId,
    cwd: options.cwd,
    permissionMode: prepared.permissionMode,
    apiKeySource: prepared.apiKeySource,
    memoryPath: prepared.memoryPath,
    servedByAnthropic: env["ANTHROPIC_BASE_URL"] === undefined,
    fallbackVersion: async () => await claudeVersion(binary, env) ?? "unknown",
    denialMessages: [DENIAL_MESSAGE],
    runningShells: () => runningShells(prepared.sandbox.tempDir, prepared.sessionId),
    emit,
  });
}
