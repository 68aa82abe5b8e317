import { endCall } from "../frames/task_ends.ts";
import { startTask, type Task } from "../frames/tasks.ts";
import { type HookedTask, knownCall, type OutputState, type OutputStep } from "../output_state.ts";
import { emitTasks } from "../emit_frames.ts";
import { listOf } from "../../../chain.ts";
import type { HookPayload } from "../../control/input.ts";
import { isJsonObject } from "../../../json_object.ts";
import { readToolCalls, type ToolUse } from "../../../claude/transcript/turn.ts";

/** A call of a hook. */
interface HookCall {
  readonly event: string;
  readonly payload: HookPayload;
  /** When the hook ran, in milliseconds since the epoch. */
  readonly at: number;
}

/**
 * Receives a hook's report about a task. `claude -p` prints the start of a task before it runs SubagentStart, and its
 * end before PostToolUse. Transcripts hold both, but only after the hook has answered the child.
 */
export function receiveTaskHook(step: OutputStep, { event, payload, at }: HookCall): void {
  const task = hookedTask(event, payload, at);
  if (task === undefined) return;
  step.update({ hookedTasks: [...step.state.hookedTasks, task] });
  emitHookedTasks(step);
}

function hookedTask(event: string, payload: HookPayload, at: number): HookedTask | undefined {
  const { agent_id: agentId, agent_type: type, tool_use_id: toolUseId, tool_name: name } = payload;
  switch (event) {
    case "SubagentStart":
      return typeof agentId === "string" && typeof type === "string"
        ? { kind: "begun", agentId, type, at }
        : undefined;
    case "PostToolUse":
    case "PostToolUseFailure": {
      const mayStartTask = typeof name === "string" && TASK_TOOLS.includes(name);
      if (typeof toolUseId !== "string" || !mayStartTask) return undefined;
      const response = payload["tool_response"];
      return {
        kind: "returned",
        toolUseId,
        failed: event === "PostToolUseFailure",
        outcome: isJsonObject(response) ? response : {},
        endedAt: new Date(at).toISOString(),
      };
    }
    default:
      return undefined;
  }
}

/** Tools whose calls may start tasks. */
const TASK_TOOLS = ["Agent", "Task", "Bash"];

/** Emits the hook reports about tasks whose calls have been emitted, and keeps the rest. */
export function emitHookedTasks(step: OutputStep): void {
  const { hookedTasks } = step.state;
  if (hookedTasks.length === 0) return;
  step.update({ hookedTasks: [] });
  for (const task of hookedTasks) {
    if (task.kind === "begun") emitHookedStart(step, task);
    else emitHookedReturn(step, task);
  }
}

/**
 * Emits that a subagent starts, if only one call can have started it. If several can, the subagent's transcript will
 * name its call.
 */
function emitHookedStart(step: OutputStep, task: HookedTask & { readonly kind: "begun" }): void {
  const { agentId, type } = task;
  if (step.state.allTasks.has(agentId)) return;
  const [call, ...others] = startableCalls(step.state, type);
  if (call === undefined) {
    step.update({ hookedTasks: [...step.state.hookedTasks, task] });
    return;
  }
  // The transcript of a skill's subagent shows which call started it.
  if (others.length > 0 || call.name === "Skill") return;
  emitTasks(step, (context) =>
    startTask(step.state.tasks, {
      description: "",
      ...calledSubagent(call),
      id: agentId,
      toolUseId: call.id,
      type: "local_agent",
      agentType: type,
    }, context));
}

/** Emits that a task has started or ended with the return of its call. */
function emitHookedReturn(
  step: OutputStep,
  task: HookedTask & { readonly kind: "returned" },
): void {
  const { toolUseId, outcome: { agentId, status } } = task;
  const isCompleted = typeof agentId === "string" && status === "completed";
  // The last text of a subagent comes before its end.
  const isEarly = isCompleted && step.state.tasks.get(agentId)?.spoken !== true;
  if (isEarly || knownCall(step.state, toolUseId) === undefined) {
    step.update({ hookedTasks: [...step.state.hookedTasks, task] });
    return;
  }
  emitTasks(step, (context) => endCall(step.state.tasks, task, context));
}

/**
 * Forgets that a hook reported the start of a subagent. Lines of its transcript, which name its call, have been read.
 */
export function forgetHookedStart(step: OutputStep, agentId: string): void {
  keepHookedStarts(step, (task) => task.agentId !== agentId);
}

/**
 * Forgets the starts that hooks reported in a turn that has ended. The last line of the turn may be read when the next
 * turn has started subagents.
 *
 * @param end when the turn ended, in ISO 8601
 */
export function forgetHookedStartsUntil(step: OutputStep, end: string | undefined): void {
  const until = end === undefined ? Infinity : Date.parse(end);
  keepHookedStarts(step, ({ at }) => at > until);
}

function keepHookedStarts(
  step: OutputStep,
  isKept: (task: HookedTask & { readonly kind: "begun" }) => boolean,
): void {
  const { hookedTasks } = step.state;
  if (hookedTasks.length === 0) return;
  step.update({ hookedTasks: hookedTasks.filter((task) => task.kind !== "begun" || isKept(task)) });
}

/**
 * Forgets the hook reports about the return of calls. The results of the calls have been read, and hold the same facts.
 */
export function forgetHookedReturns(step: OutputStep, toolUseIds: readonly unknown[]): void {
  const { hookedTasks } = step.state;
  if (hookedTasks.length === 0) return;
  step.update({
    hookedTasks: hookedTasks.filter((task) =>
      task.kind === "begun" || !toolUseIds.includes(task.toolUseId)
    ),
  });
}

/** The calls that may have started a subagent of a type, and have no task yet. A skill's subagent may have any type. */
function startableCalls(state: OutputState, type: string): readonly ToolUse[] {
  const { toolUses, agentCalls, allTasks } = state;
  const started = new Set([...allTasks.values()].map(({ toolUseId }) => toolUseId));
  const calls = [...toolUses.values(), ...agentCalls.values(), ...deferredCalls(state)];
  return calls.filter(({ id, name, input }) => {
    if (started.has(id)) return false;
    if (name === "Skill") return true;
    const wanted = isJsonObject(input) ? input.subagent_type : undefined;
    return (name === "Agent" || name === "Task") && (wanted ?? "general-purpose") === type;
  });
}

/** Calls that have been read, and wait until the subagent of an earlier call starts. */
function deferredCalls({ unstartedCall, ownLines }: OutputState): readonly ToolUse[] {
  return unstartedCall === undefined
    ? []
    : listOf(ownLines).flatMap((line) =>
      line.type === "assistant" ? readToolCalls(line.message) : []
    );
}

/** The facts about a task in the call of a subagent. */
interface CalledSubagent extends Pick<Task, "background" | "prompt" | "name" | "parent"> {
  /** The description; absent if the call has none. */
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
