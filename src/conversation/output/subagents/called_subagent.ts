import type { Task } from "../single/task.ts";
import { isJsonObject } from "../../../json_object.ts";
import type { ToolUse } from "../../../claude/transcript/turn.ts";

/** What the call of a subagent says of its task. */
export interface CalledSubagent extends Pick<Task, "background" | "prompt" | "name" | "parent"> {
  /** Absent where there is none. */
  readonly description?: string;
}

/** Reads the call of a subagent. The turn waits for the subagent only if the call says so. */
export function calledSubagent(call: ToolUse | undefined): CalledSubagent {
  const input = isJsonObject(call?.input) ? call.input : {};
  const { description, prompt, name, run_in_background: wanted } = input;
  return {
    background: wanted !== false,
    ...(typeof description === "string" ? { description } : {}),
    ...(typeof prompt === "string" ? { prompt } : {}),
    ...(typeof name === "string" ? { name } : {}),
    ...(call?.agentId === undefined ? {} : { parent: call.agentId }),
  };
}
