import type { Task } from "../single/task.ts";
import { isJsonObject } from "../../json_object.ts";
import type { ToolUse } from "../../transcript/turn/turn.ts";
import { isVersionAtLeast } from "../../claude/versions/compare_versions.ts";

/** What the call of a subagent says of its task. */
export interface CalledSubagent extends Pick<Task, "background" | "prompt" | "name" | "parent"> {
  /** Absent where there is none. */
  readonly description?: string;
}

/** Reads the call of a subagent; the turn has to wait for it before 2.1.330 unless it says otherwise, since then if it says so. */
export function calledSubagent(call: ToolUse | undefined, version: string): CalledSubagent {
  const input = isJsonObject(call?.input) ? call.input : {};
  const { description, prompt, name, run_in_background: wanted } = input;
  return {
    background: isVersionAtLeast(version, "2.1.330") ? wanted !== false : wanted === true,
    ...(typeof description === "string" ? { description } : {}),
    ...(typeof prompt === "string" ? { prompt } : {}),
    ...(typeof name === "string" ? { name } : {}),
    ...(call?.agentId === undefined ? {} : { parent: call.agentId }),
  };
}
