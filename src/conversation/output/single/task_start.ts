import { systemFrame } from "./system_frame.ts";
import {
  AMBIENT,
  isOwned,
  startingCall,
  type Task,
  type TaskContext,
  type Tasks,
  type TaskStep,
} from "./task.ts";
import { listFrames } from "./task_list.ts";

/** A task that was seen to run. */
export function startTask(tasks: Tasks, given: Task, context: TaskContext): TaskStep {
  if (tasks.has(given.id)) return { tasks, frames: [] };
  const { parent } = given;
  const depth = 1 + (parent === undefined ? 0 : tasks.get(parent)?.depth ?? 1);
  const task = { ...given, depth };
  const started = new Map(tasks).set(task.id, task);
  const frame = systemFrame("task_started", {
    task_id: task.id,
    owned_by_subagent: isOwned(task) ? true : undefined,
    tool_use_id: startingCall(task),
    description: task.description,
    subagent_type: task.agentType,
    is_backgrounded: task.background,
    spawn_depth: task.type === "local_agent" ? depth : undefined,
    parent_task_id: parent,
    task_type: task.type,
    prompt: task.prompt,
    ...(task.skill === undefined ? {} : AMBIENT),
  }, context);
  return {
    started: task,
    tasks: started,
    frames: task.background ? [...listFrames(started, context), frame] : [frame],
  };
}
