import type { Frame } from "../../wire/frame.ts";
import { begin } from "./beginning.ts";
import type { FrameContext } from "../single/frame_context.ts";
import { and, type FramesState, type Told, told, withIds } from "./frames_state.ts";
import type { Task, TaskContext, Tasks, TaskStep } from "../single/task.ts";
import { asText } from "../../json_object.ts";

/** Says frames, after `system/init`; none without a version, on which they depend. */
export function say(
  state: FramesState,
  make: (context: FrameContext & SpeakingContext) => readonly Frame[],
): Told {
  const { version } = state;
  if (version === undefined) return told(state);
  const { state: next, made } = withIds(
    state,
    (newUuid) => make(contextOf(state, { version, newUuid })),
  );
  if (made.length === 0) return told(next);
  const naming = made.find((frame) => frame["user_message_uuid"] !== undefined);
  const named = naming === undefined ? next.named : new Set([...next.named, naming.type]);
  return and(begin({ ...next, named }), (state) => told(state, made));
}

/** Says what has become of tasks, and remembers it; after `system/init` unless it is to be said early. */
export function tellTasks(
  state: FramesState,
  make: (context: FrameContext & SpeakingContext) => TaskStep,
  speak = say,
): Told {
  let { tasks, taskEnds } = state;
  let started: Task | undefined;
  const said = speak(state, (context) => {
    const step = make(context);
    ({ tasks, started } = step);
    taskEnds = endsAfter(taskEnds, step);
    return step.frames;
  });
  if (tasks === state.tasks && started === undefined && taskEnds === state.taskEnds) return said;
  // A short task may begin and end in one line.
  const allTasks = started === undefined
    ? state.allTasks
    : new Map(state.allTasks).set(started.id, started);
  return and(said, (state) => told({ ...state, tasks, allTasks, taskEnds }));
}

/** The ends of tasks after frames that tell of some; a task that begins again has not ended. */
function endsAfter(
  before: ReadonlyMap<string, string>,
  { frames, started }: TaskStep,
): ReadonlyMap<string, string> {
  const ends = new Map(before);
  if (started !== undefined) ends.delete(started.id);
  for (const { subtype, task_id: id, status } of frames) {
    if (subtype === "task_notification") ends.set(asText(id), asText(status));
  }
  return frames.length === 0 && ends.size === before.size ? before : ends;
}

/** Says frames now, before `system/init` if that has not been told: a typed command does not begin a turn. */
export function sayEarly(
  state: FramesState,
  make: (context: FrameContext & SpeakingContext) => readonly Frame[],
): Told {
  const { version } = state;
  if (version === undefined) return told(state);
  const { state: next, made } = withIds(
    state,
    (newUuid) => make(contextOf(state, { version, newUuid })),
  );
  return told(next, made);
}

/** What is known in any case of what is said. */
type SpeakingContext =
  & Required<Pick<FrameContext, "toolUses" | "denialMessages" | "decisions">>
  & Pick<TaskContext, "allTasks" | "toldTasks">;

/** All tasks so far, and the subagents of the session as it was before the run: those may be woken. */
function allTasksOf({ allTasks, uncalled }: FramesState): Tasks {
  if (uncalled.length === 0) return allTasks;
  const earlier = uncalled.map(({ subagent }): readonly [string, Task] => {
    const { agentId: id, toolUseId = "", type: agentType, description } = subagent;
    return [id, { id, toolUseId, type: "local_agent", description, agentType, background: false }];
  });
  return new Map([...earlier, ...allTasks]);
}

function contextOf(
  state: FramesState,
  { version, newUuid }: { readonly version: string; readonly newUuid: () => string },
): FrameContext & SpeakingContext {
  const { options, toolUses, typed, taken, named, decisions, givenIds } = state;
  return {
    version,
    sessionId: options.sessionId,
    ...(options.subagentText ? { subagentText: true } : {}),
    newUuid,
    toolUses,
    allTasks: allTasksOf(state),
    toldTasks: state.allTasks,
    messages: named.has("assistant") ? [] : taken,
    denialMessages: options.denialMessages,
    ...(options.denialsUntold ? { denialsUntold: true } : {}),
    decisions,
    givenIds,
    typed: typed?.command,
  };
}
