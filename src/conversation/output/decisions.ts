import type { CallDecision } from "../control/effect.ts";
import type { Entry } from "../../claude/transcript/entry.ts";
import type { ControlResponse } from "../../claude/wire/control.ts";
import type { UserFrame } from "../../claude/wire/message_frames.ts";
import { stopNotice } from "./frames/hook_frames.ts";
import { systemFrame } from "./frames/frame_context.ts";
import { tellStop } from "./frames/task_ends.ts";
import { type FramesState, type Told, told, withIds } from "./telling/frames_state.ts";
import { tellTasks } from "./telling/saying.ts";

/** Remembers what the caller has decided on a call, which shows in its result. */
export function noteDecision(
  state: FramesState,
  { toolUseId, decision }: { readonly toolUseId: string; readonly decision: CallDecision },
): FramesState {
  return { ...state, decisions: state.decisions.with(toolUseId, decision) };
}

/** The session is in a permission mode, which is told where it is another one. */
export function tellMode(state: FramesState, permissionMode: string): Told {
  const { sessionId } = state.options;
  if (permissionMode === (state.permissionMode ?? state.options.permissionMode)) return told(state);
  const { state: next, made } = withIds(
    state,
    (newUuid) => systemFrame("status", { status: null, permissionMode }, { sessionId, newUuid }),
  );
  return told({ ...next, permissionMode }, [made]);
}

/** The model has begun to plan by itself, as the result of its call says. */
export function tellPlanning(state: FramesState, entry: Entry): Told {
  if (entry.type !== "user" || typeof entry.message.content === "string") return told(state);
  const isBegun = entry.message.content.some(({ tool_use_id: id, is_error: isError }) =>
    typeof id === "string" && isError !== true && state.toolUses.get(id)?.name === "EnterPlanMode"
  );
  return isBegun ? tellMode(state, "plan") : told(state);
}

/** A hook of the caller's has failed: that of the first prompt is told after `system/init`, as by `claude -p`. */
export function tellHookFailure(
  state: FramesState,
  { text: content, own, ofStop }: {
    readonly text: string;
    readonly own?: true;
    readonly ofStop?: true;
  },
): Told {
  const { sessionId } = state.options;
  const { state: next, made } = withIds(state, (newUuid) => {
    const context = { sessionId, newUuid };
    const fields = { content, level: "warning", ...(own ? {} : { tag: "hook_callback_failed" }) };
    return [
      systemFrame("informational", fields, context),
      ...(ofStop ? [stopNotice({ ...context, version: state.version })] : []),
    ];
  });
  const isFirst = next.prompt === undefined && next.options.before === undefined;
  return next.begun || !isFirst
    ? told(next, made)
    : told({ ...next, early: [...next.early, ...made] });
}

/** There are other commands. */
export function tellCommands(state: FramesState, commands: readonly unknown[]): Told {
  const { sessionId } = state.options;
  const { state: next, made } = withIds(
    state,
    (newUuid) => systemFrame("commands_changed", { commands }, { sessionId, newUuid }),
  );
  return told({ ...next, commands }, [made]);
}

/** Commands have been read again, and may be those that the caller knows. */
export function tellReloaded(
  state: FramesState,
  { commands }: { readonly commands: readonly unknown[] },
): Told {
  const areOthers = state.commands !== undefined &&
    JSON.stringify(state.commands) !== JSON.stringify(commands);
  return areOthers ? tellCommands(state, commands) : told(state);
}

/** Remembers the commands that an answer to the caller tells. */
export function noteCommands(state: FramesState, answer: ControlResponse): FramesState {
  const commands = answer.subtype === "success" ? answer.response?.["commands"] : undefined;
  return Array.isArray(commands) ? { ...state, commands } : state;
}

/** The session has another title. */
export function tellTitle(state: FramesState, title: string): Told {
  const { sessionId } = state.options;
  const { state: next, made } = withIds(
    state,
    (newUuid) => systemFrame("session_title_changed", { title }, { sessionId, newUuid }),
  );
  return told(next, [made]);
}

/** The model is another one, so many milliseconds after the child's start: `claude -p` tells it as `/model` would. */
export function tellModel(
  state: FramesState,
  { model, at }: { readonly model: string; readonly at: number },
): Told {
  const { options: { sessionId, startedAt } } = state;
  const { state: next, made } = withIds(state, (newUuid): UserFrame => ({
    type: "user",
    message: {
      role: "user",
      content: `<local-command-stdout>Set model to \`${model}\`</local-command-stdout>`,
    },
    session_id: sessionId,
    parent_tool_use_id: null,
    uuid: newUuid(),
    timestamp: new Date(startedAt + at).toISOString(),
    isReplay: true,
  }));
  return told(next, [made]);
}

/** A task in the background has been stopped, so many milliseconds after the start of the child. */
export function tellStopped(
  state: FramesState,
  { task: id, at }: { readonly task: string; readonly at: number },
): Told {
  const task = state.tasks.get(id);
  if (task === undefined) return told(state);
  const endedAt = new Date(state.options.startedAt + at).toISOString();
  return tellTasks(state, (context) => tellStop(state.tasks, task, { endedAt, context }));
}
