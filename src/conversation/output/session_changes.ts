import type { Entry } from "../../claude/transcript/entry.ts";
import type { ControlResponse } from "../../claude/wire/control.ts";
import type { OutputStep } from "./output_state.ts";
import { emitSystemFrame, emitTasks, newUuid } from "./emit_frames.ts";
import { stopNotice } from "./frames/hook_frames.ts";
import { systemFrame } from "./frames/frame_context.ts";
import { stopTask } from "./frames/task_ends.ts";

/** Emits the permission mode, if it has changed. */
export function emitMode(step: OutputStep, permissionMode: string): void {
  const { permissionMode: before, options } = step.state;
  if (permissionMode === (before ?? options.permissionMode)) return;
  step.update({ permissionMode });
  emitSystemFrame(step, "status", { status: null, permissionMode });
}

/** Emits plan mode if the model itself has entered it, as the result of its call shows. */
export function emitPlanMode(step: OutputStep, entry: Entry): void {
  if (entry.type !== "user" || typeof entry.message.content === "string") return;
  const { toolUses } = step.state;
  const isBegun = entry.message.content.some(({ tool_use_id: id, is_error: isError }) =>
    typeof id === "string" && isError !== true && toolUses.get(id)?.name === "EnterPlanMode"
  );
  if (isBegun) emitMode(step, "plan");
}

/**
 * Emits that a hook of the caller has failed. As in `claude -p`, the failure of a hook of the first prompt comes after
 * `system/init`.
 */
export function emitHookFailure(
  step: OutputStep,
  { text: content, own, ofStop }: {
    readonly text: string;
    readonly own?: true;
    readonly ofStop?: true;
  },
): void {
  const { options, hasInit, framesAfterInit, prompt, version } = step.state;
  const context = { sessionId: options.sessionId, newUuid: () => newUuid(step) };
  const fields = { content, level: "warning", ...(own ? {} : { tag: "hook_callback_failed" }) };
  const frames = [
    systemFrame("informational", fields, context),
    ...(ofStop ? [stopNotice({ ...context, version })] : []),
  ];
  const isFirst = prompt === undefined && options.before === undefined;
  if (hasInit || !isFirst) step.emit(...frames);
  else step.update({ framesAfterInit: [...framesAfterInit, ...frames] });
}

/** Emits the current commands. */
export function emitCommands(step: OutputStep, commands: readonly unknown[]): void {
  step.update({ commands });
  emitSystemFrame(step, "commands_changed", { commands });
}

/** Emits the reloaded commands, if they differ from those that the caller knows. */
export function emitReloadedCommands(step: OutputStep, commands: readonly unknown[]): void {
  const { commands: before } = step.state;
  const areOthers = before !== undefined && JSON.stringify(before) !== JSON.stringify(commands);
  if (areOthers) emitCommands(step, commands);
}

/** Records the commands that a response to the caller lists. */
export function recordCommands(step: OutputStep, answer: ControlResponse): void {
  const commands = answer.subtype === "success" ? answer.response?.["commands"] : undefined;
  if (Array.isArray(commands)) step.update({ commands });
}

/** Emits the new title of the session. */
export function emitTitle(step: OutputStep, title: string): void {
  emitSystemFrame(step, "session_title_changed", { title });
}

/**
 * Emits the new model as `claude -p` does, in the words of `/model`. `at` is in milliseconds from the child's start.
 */
export function emitModel(
  step: OutputStep,
  { model, at }: { readonly model: string; readonly at: number },
): void {
  const { sessionId, startedAt } = step.state.options;
  step.emit({
    type: "user",
    message: {
      role: "user",
      content: `<local-command-stdout>Set model to \`${model}\`</local-command-stdout>`,
    },
    session_id: sessionId,
    parent_tool_use_id: null,
    uuid: newUuid(step),
    timestamp: new Date(startedAt + at).toISOString(),
    isReplay: true,
  });
}

/** Emits that the caller has stopped a task in the background. `at` is in milliseconds from the child's start. */
export function emitStoppedTask(
  step: OutputStep,
  { task: id, at }: { readonly task: string; readonly at: number },
): void {
  const { tasks, options } = step.state;
  const task = tasks.get(id);
  if (task === undefined) return;
  const endedAt = new Date(options.startedAt + at).toISOString();
  emitTasks(step, (context) => stopTask(tasks, task, { endedAt, context }));
}
