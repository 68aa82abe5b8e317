import { hasCapability } from "../../../claude/versions/profiles.ts";
import type { SystemFrame } from "../../../claude/wire/system_frames.ts";
import { systemFrame } from "./system_frame.ts";
import { isOwned, type TaskContext, type Tasks } from "./task.ts";

/** The tasks in the background, once they have changed. */
export function listFrames(tasks: Tasks, context: TaskContext): readonly SystemFrame[] {
  const listed = [...tasks.values()].filter(({ background }) => background).map((task) => ({
    task_id: task.id,
    task_type: task.type,
    ...(task.agentType !== undefined && hasCapability(context.version, "listsSubagentTypes")
      ? { subagent_type: task.agentType }
      : {}),
    description: task.description,
    ...(isOwned(task) ? { parent_task_id: task.parent } : {}),
  }));
  return [systemFrame("background_tasks_changed", { tasks: listed }, context)];
}
