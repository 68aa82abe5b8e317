import type { Frame } from "../../../claude/wire/frame.ts";
import { begin } from "./beginning.ts";
import type { FrameContext } from "../frames/frame_context.ts";
import { and, type FramesState, type Told, told, withIds } from "./frames_state.ts";
import type { Task, TaskContext, TaskStep } from "../frames/tasks.ts";
import { asText } from "../../../json_object.ts";

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
  const after = naming === undefined
    ? next
    : { ...next, named: new Set([...next.named, naming.type]) };
  return and(begin(after), (state) => told(state, made));
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
    : state.allTasks.with(started.id, started);
  return and(said, (state) => told({ ...state, tasks, allTasks, taskEnds }));
}

/** The ends of tasks after frames that tell of some; a task that begins again has not ended. */
function endsAfter(
  before: FramesState["taskEnds"],
  { frames, started }: TaskStep,
): FramesState["taskEnds"] {
  const isAgain = started !== undefined && before.has(started.id);
  return frames.filter(({ subtype }) => subtype === "task_notification").reduce(
    (ends, { task_id: id, status }) => ends.with(asText(id), asText(status)),
    isAgain ? before.without(started.id) : before,
  );
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
  & Required<Pick<FrameContext, "toolUses" | "decisions">>
  & Pick<TaskContext, "allTasks" | "toldTasks">;

/** A task so far, or a subagent of the session as it was before the run: that may be woken. */
function taskOf({ allTasks, uncalled }: FramesState, id: string): Task | undefined {
  const earlier = uncalled.findLast(({ subagent }) => subagent.agentId === id)?.subagent;
  if (allTasks.has(id) || earlier === undefined) return allTasks.get(id);
  const { toolUseId = "", type: agentType, description } = earlier;
  return { id, toolUseId, type: "local_agent", description, agentType, background: false };
}

function contextOf(
  state: FramesState,
  { version, newUuid }: { readonly version: string; readonly newUuid: () => string },
): FrameContext & SpeakingContext {
  const { options, toolUses, typed, taken, joined, named, decisions, givenIds } = state;
  return {
    version,
    sessionId: options.sessionId,
    subagentText: options.subagentText,
    newUuid,
    toolUses,
    allTasks: { get: (id) => taskOf(state, id) },
    toldTasks: state.allTasks,
    asked: named.has("assistant") ? undefined : { taken, joined },
    denialsUntold: options.denialsUntold,
    decisions,
    givenIds,
    typed: typed?.command,
  };
}
