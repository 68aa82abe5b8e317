import type { Frame } from "../../../claude/wire/frame.ts";
import { emitInit } from "./beginning.ts";
import { type FramesState, newUuid, type OutputStep } from "./frames_state.ts";
import type { SystemFrame } from "../../../claude/wire/system_frames.ts";
import { asText } from "../../../json_object.ts";
import { type FrameContext, systemFrame } from "../frames/frame_context.ts";
import type { Task, TaskContext, TaskStep } from "../frames/tasks.ts";

/** What frames are made from besides the line or event that they are about. */
export type EmitContext =
  & FrameContext
  & Required<Pick<FrameContext, "toolUses" | "decisions">>
  & Pick<TaskContext, "allTasks" | "toldTasks">;

/** Emits frames, after `system/init`. Emits none as long as the version is unknown, which decides what frames hold. */
export function emitAfterInit(
  step: OutputStep,
  make: (context: EmitContext) => readonly Frame[],
): void {
  const frames = makeFrames(step, make);
  if (frames.length === 0) return;
  const naming = frames.find((frame) => frame["user_message_uuid"] !== undefined);
  if (naming !== undefined) step.update({ named: new Set([...step.state.named, naming.type]) });
  emitInit(step);
  step.emit(...frames);
}

/** Emits frames even before `system/init`: a typed command does not begin a turn. */
export function emitImmediately(
  step: OutputStep,
  make: (context: EmitContext) => readonly Frame[],
): void {
  step.emit(...makeFrames(step, make));
}

/** Emits a `system` frame of the session; fields that are undefined are left out. */
export function emitSystemFrame(
  step: OutputStep,
  subtype: SystemFrame["subtype"],
  fields: Readonly<Record<string, unknown>>,
): void {
  const { sessionId } = step.state.options;
  step.emit(systemFrame(subtype, fields, { sessionId, newUuid: () => newUuid(step) }));
}

function makeFrames(
  step: OutputStep,
  make: (context: EmitContext) => readonly Frame[],
): readonly Frame[] {
  const { version } = step.state;
  return version === undefined ? [] : make(emitContext(step, version));
}

/** Emits what has become of tasks, and records it. */
export function emitTasks(
  step: OutputStep,
  make: (context: EmitContext) => TaskStep,
  emit: typeof emitAfterInit = emitAfterInit,
): void {
  emit(step, (context) => {
    const { tasks, started, frames } = make(context);
    const { allTasks, taskEnds } = step.state;
    step.update({
      tasks,
      // A short task may begin and end in one line.
      ...(started === undefined ? {} : { allTasks: allTasks.with(started.id, started) }),
      taskEnds: endsAfter(taskEnds, { frames, started }),
    });
    return frames;
  });
}

/** Returns the ends of tasks after frames that report some; a task that begins again has not ended. */
function endsAfter(
  before: FramesState["taskEnds"],
  { frames, started }: {
    readonly frames: readonly Frame[];
    readonly started: Task | undefined;
  },
): FramesState["taskEnds"] {
  const isAgain = started !== undefined && before.has(started.id);
  return frames.filter(({ subtype }) => subtype === "task_notification").reduce(
    (ends, { task_id: id, status }) => ends.with(asText(id), asText(status)),
    isAgain ? before.without(started.id) : before,
  );
}

/** Returns a task that this run has seen, or a subagent of an earlier run, which can be woken. */
function taskOf({ allTasks, uncalled }: FramesState, id: string): Task | undefined {
  const earlier = uncalled.findLast(({ subagent }) => subagent.agentId === id)?.subagent;
  if (allTasks.has(id) || earlier === undefined) return allTasks.get(id);
  const { toolUseId = "", type: agentType, description } = earlier;
  return { id, toolUseId, type: "local_agent", description, agentType, background: false };
}

function emitContext(step: OutputStep, version: string): EmitContext {
  const { state } = step;
  const { options, toolUses, typed, taken, joined, named, decisions, givenIds } = state;
  return {
    version,
    sessionId: options.sessionId,
    subagentText: options.subagentText,
    newUuid: () => newUuid(step),
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
