import { endOfCall } from "../frames/task_ends.ts";
import { startTask, type Task } from "../frames/tasks.ts";
import {
  and,
  type FramesState,
  type HookedTask,
  knownCall,
  type Told,
  told,
} from "../telling/frames_state.ts";
import { tellTasks } from "../telling/saying.ts";
import { listOf } from "../../../chain.ts";
import type { HookPayload } from "../../control/input.ts";
import { isJsonObject } from "../../../json_object.ts";
import { callsOf, type ToolUse } from "../../../claude/transcript/turn.ts";

/**
 * Notes what a hook says of a task: `claude -p` tells that it has begun before it calls SubagentStart, and that it is
 * over before PostToolUse. Transcripts say so too, but not before the child has its answer.
 */
export function hearTask(
  state: FramesState,
  { event, payload, at }: {
    readonly event: string;
    readonly payload: HookPayload;
    /** In milliseconds since the epoch. */
    readonly at: number;
  },
): Told {
  const heard = hookedTask(event, payload, at);
  return heard === undefined
    ? told(state)
    : tellHookedTasks({ ...state, hooked: [...state.hooked, heard] });
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
      const isOfTask = typeof name === "string" && OF_TASKS.includes(name);
      if (typeof toolUseId !== "string" || !isOfTask) return undefined;
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

/** Tools whose calls may be tasks. */
const OF_TASKS = ["Agent", "Task", "Bash"];

/** Tells what hooks have said of tasks, as far as the calls that they are about have been told. */
export function tellHookedTasks(state: FramesState): Told {
  const { hooked } = state;
  if (hooked.length === 0) return told(state);
  return hooked.reduce<Told>(
    (said, task) => and(said, (state) => tellHooked(state, task)),
    told({ ...state, hooked: [] }),
  );
}

/** A subagent's transcript has been read: which call has begun it is left to that. */
export function forgetBegun(state: FramesState, agentId: string): FramesState {
  return keepBegun(state, (task) => task.agentId !== agentId);
}

/** A turn is over, with all subagents that were begun in it; its last line may be read when the next one has begun some. */
export function forgetBegunUntil(state: FramesState, end: string | undefined): FramesState {
  const until = end === undefined ? Infinity : Date.parse(end);
  return keepBegun(state, ({ at }) => at > until);
}

function keepBegun(
  state: FramesState,
  isKept: (task: HookedTask & { readonly kind: "begun" }) => boolean,
): FramesState {
  if (state.hooked.length === 0) return state;
  return { ...state, hooked: state.hooked.filter((task) => task.kind !== "begun" || isKept(task)) };
}

/** The result of a call has been read: what a hook has said of it is told by that. */
export function forgetHooked(state: FramesState, toolUseIds: readonly unknown[]): FramesState {
  if (state.hooked.length === 0) return state;
  const hooked = state.hooked.filter((task) =>
    task.kind === "begun" || !toolUseIds.includes(task.toolUseId)
  );
  return { ...state, hooked };
}

function tellHooked(state: FramesState, task: HookedTask): Told {
  const later = told({ ...state, hooked: [...state.hooked, task] });
  if (task.kind === "begun") {
    const { agentId, type } = task;
    if (state.allTasks.has(agentId)) return told(state);
    const calls = newCalls(state, type);
    const [call] = calls;
    if (call === undefined) return later;
    // Of several, its transcript will say which is its own.
    return calls.length > 1 ? told(state) : tellBegun(state, { agentId, type, call });
  }
  const { toolUseId, outcome } = task;
  if (knownCall(state, toolUseId) === undefined) return later;
  const { agentId, status } = outcome;
  const isOver = typeof agentId === "string" && status === "completed";
  // What it has said until then comes first.
  if (isOver && state.tasks.get(agentId)?.spoken !== true) return later;
  return tellTasks(state, (context) => endOfCall(state.tasks, task, context));
}

/** Calls of a kind of subagent that none has been started for; a skill's subagent may be of any kind. */
function newCalls(state: FramesState, type: string): readonly ToolUse[] {
  const { toolUses, agentCalls, allTasks } = state;
  const started = new Set([...allTasks.values()].map(({ toolUseId }) => toolUseId));
  const calls = [...toolUses.values(), ...agentCalls.values(), ...heldCalls(state)];
  return calls.filter(({ id, name, input }) => {
    if (started.has(id)) return false;
    if (name === "Skill") return true;
    const wanted = isJsonObject(input) ? input.subagent_type : undefined;
    return (name === "Agent" || name === "Task") && (wanted ?? "general-purpose") === type;
  });
}

/** Calls that have been read, and are told behind the beginning of the one before them. */
function heldCalls({ unbegun, own }: FramesState): readonly ToolUse[] {
  return unbegun === undefined
    ? []
    : listOf(own).flatMap((line) => line.type === "assistant" ? callsOf(line.message) : []);
}

function tellBegun(
  state: FramesState,
  { agentId, type, call }: {
    readonly agentId: string;
    readonly type: string;
    readonly call: ToolUse;
  },
): Told {
  // What begins a skill's is known from its transcript.
  if (call.name === "Skill") return told(state);
  return tellTasks(state, (context) =>
    startTask(state.tasks, {
      description: "",
      ...calledSubagent(call),
      id: agentId,
      toolUseId: call.id,
      type: "local_agent",
      agentType: type,
    }, context));
}

/** What the call of a subagent says of its task. */
interface CalledSubagent extends Pick<Task, "background" | "prompt" | "name" | "parent"> {
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
