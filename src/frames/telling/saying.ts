import type { Frame } from "../../wire/frame.ts";
import { begin } from "./beginning.ts";
import type { FrameContext } from "../single/frames_of_entry.ts";
import { and, type FramesState, type Told, told, withIds } from "./frames_state.ts";
import type { TaskStep } from "../single/task_frames.ts";

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
  return made.length === 0 ? told(next) : and(begin(next), (state) => told(state, made));
}

/** Says what has become of tasks, and remembers it. */
export function tellTasks(
  state: FramesState,
  make: (context: FrameContext & SpeakingContext) => TaskStep,
): Told {
  let tasks = state.tasks;
  const said = say(state, (context) => {
    const step = make(context);
    tasks = step.tasks;
    return step.frames;
  });
  if (tasks === state.tasks) return said;
  const taskIds = state.taskIds.union(new Set(tasks.keys()));
  return and(said, (state) => told({ ...state, tasks, taskIds }));
}

/** Says frames now, before `system/init` if that has not been told: a typed command does not begin a turn. */
export function sayEarly(
  state: FramesState,
  make: (context: FrameContext) => readonly Frame[],
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
type SpeakingContext = Required<Pick<FrameContext, "toolUses" | "denialMessages" | "decisions">>;

function contextOf(
  { options, toolUses, typed, taken, decisions }: FramesState,
  { version, newUuid }: { readonly version: string; readonly newUuid: () => string },
): FrameContext & SpeakingContext {
  return {
    version,
    sessionId: options.sessionId,
    ...(options.subagentText ? { subagentText: true } : {}),
    newUuid,
    toolUses,
    messages: taken,
    denialMessages: options.denialMessages,
    decisions,
    isTyped: typed !== undefined,
  };
}
