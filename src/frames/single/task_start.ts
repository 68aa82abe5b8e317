import { systemFrame } from "./system_frame.ts";
import {
  AMBIENT,
  isOwned,
  listsTasks,
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
  const recent = listsTasks(context);
  const frame = systemFrame("task_started", {
    task_id: task.id,
    owned_by_subagent: recent && isOwned(task) ? true : undefined,
    tool_use_id: startingCall(task),
    description: task.description,
    subagent_type: task.agentType,
    is_backgrounded: recent ? task.background : undefined,
    spawn_depth: recent && task.type === "local_agent" ? depth : undefined,
    parent_task_id: recent ? parent : undefined,
    task_type: task.type,
    prompt: task.prompt,
    ...(task.skill === undefined ? {} : AMBIENT),
  }, context);
  if (task.skill !== undefined && !recent) return { started: task, tasks: started, frames: [] };
  return {
    started: task,
    tasks: started,
    frames: task.background ? [...listFrames(started, context), frame] : [frame],
  };
}
