import { isShellsOnly } from "../../session/background_wait.ts";
import type { HookPayload } from "../../session/input.ts";
import { isVersionAtLeast } from "../../wire/wire_keys.ts";

/** A failure in one line, and what to do about it. */
export interface Problem {
  readonly message: string;
  readonly suggestion?: string;
}

/**
 * Names the background tasks that were stopped because they had been waited for long enough.
 *
 * @param tasks as the Stop hook names them
 * @param version the version of Claude Code, which decides how long that is
 */
export function unfinishedProblem(
  tasks: readonly HookPayload[],
  version: string,
): Problem {
  const names = tasks.map(({ type, description }) =>
    (type === "shell" || type === "subagent") && typeof description === "string"
      ? `${type} "${description}"`
      : "a task"
  );
  return {
    message: `Stopped waiting for what runs in the background: ${names.join(", ")}`,
    suggestion: isShellsOnly(tasks) && !isVersionAtLeast(version, "2.1.330")
      ? "Update Claude Code: before 2.1.330 it waits 5 s for a shell"
      : "Wait longer with CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS=MILLISECONDS, without end with 0",
  };
}
