import type { ContentBlock, Entry } from "../../../claude/transcript/entry.ts";
import {
  parseTaskNotification,
  readQueuedNotification,
} from "../../../claude/transcript/task_notification.ts";
import type { ControlRequest } from "../../../claude/wire/control.ts";
import { asText, isJsonObject } from "../../../json_object.ts";
import { awaitBackground, backgroundTasksOf } from "../../control/background_wait.ts";
import type { ControlStep } from "../../control/control_step.ts";
import { deliverNext } from "../../control/deliver.ts";
import { deadline, type Effect, write } from "../../control/effect.ts";
import type { SessionState, TaskStop } from "../../control/session_state.ts";
import {
  hasCommand,
  isCalled,
  readTasks,
  type Screen,
  type TaskRow,
} from "../../terminal/screen.ts";
import { refuse, respond } from "../answers.ts";
import { isAsking } from "../questions/decide_permission.ts";
import { askHelper } from "./ask_helper.ts";

/** The request that reads the end of a background shell's output. */
export const TASK_OUTPUT = "get_task_output";

/** The form of a shell's id. */
const SHELL_ID = /^b[\da-z]{8}$/u;

/** Ctrl+B, the key that moves all running calls to the background that can continue there. */
const TO_BACKGROUND: Effect = { type: "write", bytes: new Uint8Array([2]) };

/**
 * How long a call may take to move to the background before the key is pressed again, in milliseconds. Claude Code
 * ignores the key until it shows it on the screen, some 2 s after a call's start (2.1.330).
 */
const BACKGROUND_KEY_MS = 300;
/** The maximum number of times that the key is pressed. */
const MAX_BACKGROUND_KEYS = 20;

/** Time between a key in the list of tasks and the next look at the list, in milliseconds. */
const LOOK_MS = 150;
/** The number of looks after which a stage of a stop has failed. */
const MAX_LOOKS = 40;
/** The number of looks for which the child has to be quiet before the list is closed, and between two attempts. */
const QUIET_LOOKS = 8;
/**
 * The number of looks after which a key without an effect is pressed again. A turn's end may have left the list
 * undrawn.
 */
const KEY_LOOKS = 4;

const DOWN = "\x1b[B";
const UP = "\x1b[A";
const ENTER = "\r";
const ESCAPE = "\x1b";
const STOP = "x";

/** Tools whose calls can continue in the background. */
const BACKGROUND_TOOLS = ["Agent", "Bash", "Task"];

/** Moves calls of tools to the background: all of them, or the named call, if no other call is running. */
export function onBackgroundTasks(step: ControlStep, request: ControlRequest): void {
  const { tools, phase } = step.state;
  const id = request.body["tool_use_id"] ?? undefined;
  if (id !== undefined && typeof id !== "string") {
    step.emit(refuse(request, { error: "background_tasks: tool_use_id must be a string" }));
    return;
  }
  const isAtWork = id === undefined ? tools.size > 0 : tools.has(id);
  const answer = respond(request, { response: id === undefined ? {} : { backgrounded: isAtWork } });
  if (!isAtWork || phase !== "working") {
    step.emit(answer);
    return;
  }
  if (id !== undefined && tools.size > 1) {
    step.emit(refuse(request, {
      error: "claude-print can put only all calls into the background at once, " +
        `and more than "${id}" are at work`,
    }));
    return;
  }
  step.emit(answer);
  pressBackgroundKey(step, { calls: new Set(tools.keys()), presses: 0 });
}

/** Presses the key again if calls are still in the foreground, unless other calls have begun in the meantime. */
export function onForegroundDeadline(step: ControlStep): void {
  const { backgrounding, tools, phase } = step.state;
  const mustPress = backgrounding !== undefined && phase === "working" && tools.size > 0 &&
    backgrounding.presses < MAX_BACKGROUND_KEYS &&
    [...tools.keys()].every((id) => backgrounding.calls.has(id));
  if (mustPress) pressBackgroundKey(step, backgrounding);
  else step.update({ backgrounding: undefined });
}

function pressBackgroundKey(
  step: ControlStep,
  { calls, presses }: NonNullable<SessionState["backgrounding"]>,
): void {
  step.update({ backgrounding: { calls, presses: presses + 1 } });
  step.emit(TO_BACKGROUND, deadline("foreground", BACKGROUND_KEY_MS));
}

/** Requests the file in which Claude Code keeps the output of a shell (2.1.330). Other tasks have no such file. */
export function onTaskOutput(step: ControlStep, request: ControlRequest): void {
  const { task_id: task } = request.body;
  if (typeof task !== "string") {
    step.emit(refuse(request, { error: `${TASK_OUTPUT}: task_id must be a string` }));
  } else if (!SHELL_ID.test(task)) {
    step.emit(refuse(request, {
      error: `${TASK_OUTPUT}: no shell or Monitor task with that task_id in this session`,
    }));
  } else {
    askHelper(step, request);
  }
}

/** Records the names that the list of tasks may show for background tasks, and forgets tasks that have ended. */
export function recordTasks(step: ControlStep, entry: Entry): void {
  if (step.state.options.caller === undefined) return;
  switch (entry.type) {
    case "other":
      return forgetTask(step, readQueuedNotification(entry.line)?.taskId);
    case "assistant":
      return recordLaunches(step, entry);
    case "user": {
      const { content } = entry.message;
      if (typeof content === "string") forgetTask(step, parseTaskNotification(content)?.taskId);
      else recordLaunched(step, entry, content);
      return;
    }
  }
}

/** Records calls that may start a task. */
function recordLaunches(step: ControlStep, entry: Extract<Entry, { readonly type: "assistant" }>) {
  const calls = entry.message.content.flatMap(({ type, id, name, input }) =>
    type === "tool_use" && typeof id === "string" && BACKGROUND_TOOLS.includes(asText(name))
      ? [[id, namesIn(input)] as const]
      : []
  );
  if (calls.length === 0) return;
  step.update({ launchedCalls: new Map([...step.state.launchedCalls, ...calls]) });
}

function namesIn(input: unknown): readonly string[] {
  const { command, description } = isJsonObject(input) ? input : {};
  return [command, description].filter((name) => typeof name === "string" && name.trim() !== "")
    .map(asText);
}

/** Records the task that a call has started, if the call's result names it. */
function recordLaunched(
  step: ControlStep,
  { toolUseResult }: Extract<Entry, { readonly type: "user" }>,
  content: readonly ContentBlock[],
): void {
  const { launchedCalls, taskNames } = step.state;
  const returned = content.flatMap(({ tool_use_id: id }) => typeof id === "string" ? [id] : []);
  const call = returned.find((id) => launchedCalls.has(id));
  if (call === undefined) return;
  step.update({
    launchedCalls: new Map([...launchedCalls].filter(([id]) => !returned.includes(id))),
  });
  const { backgroundTaskId, isAsync, agentId } = isJsonObject(toolUseResult) ? toolUseResult : {};
  const task = isAsync === true ? agentId : backgroundTaskId;
  if (typeof task === "string") {
    step.update({ taskNames: new Map([...taskNames, [task, launchedCalls.get(call) ?? []]]) });
  }
}

function forgetTask(step: ControlStep, task: string | undefined): void {
  const { taskNames } = step.state;
  if (task === undefined || !taskNames.has(task)) return;
  step.update({ taskNames: new Map([...taskNames].filter(([id]) => id !== task)) });
}

/**
 * Stops a background task as a person does, in the list of tasks that opens below the input box (2.1.330). A task that
 * is not running needs no stop.
 */
export function onStopTask(step: ControlStep, request: ControlRequest): void {
  const { taskNames, taskStops } = step.state;
  const { task_id: task } = request.body;
  if (typeof task !== "string") {
    step.emit(refuse(request, { error: "stop_task: task_id must be a string" }));
  } else if (!taskNames.has(task)) {
    step.emit(respond(request, { response: {} }));
  } else {
    step.update({ taskStops: [...taskStops, { request, task, stage: "waiting", looks: 0 }] });
    if (taskStops.length === 0) openTaskList(step);
  }
}

/** Whether keys go to the list of tasks, or open it. */
export function isInTaskList({ taskStops: [stop] }: SessionState): boolean {
  return stop !== undefined && stop.stage !== "waiting";
}

/** Looks at the list of tasks, or opens it. */
export function onTaskDeadline(step: ControlStep): void {
  const [stop] = step.state.taskStops;
  if (stop === undefined) return;
  if (stop.stage === "waiting") openTaskList(step);
  else step.emit({ type: "look" });
}

/** Opens the list for the first task to stop, once keys have no other target. */
function openTaskList(step: ControlStep): void {
  const { taskStops: [stop], taskNames, phase, status } = step.state;
  if (stop === undefined) return;
  // The task may have ended in the meantime, or an earlier request has stopped it.
  if (!taskNames.has(stop.task)) return finishStop(step, stop);
  const isFree = (phase === "working" || phase === "resting") && status?.status !== "waiting" &&
    !isAsking(step.state);
  if (isFree) return press(step, DOWN, { ...stop, stage: "opening" });
  if (stop.looks < MAX_LOOKS) return lookLater(step, stop);
  finishStop(step, { ...stop, failure: "it waits for something else" });
}

/** Receives the screen while the list of tasks is opened, open, or closed again. */
export function onTaskListScreen(step: ControlStep, screen: Screen): void {
  const [stop] = step.state.taskStops;
  if (stop === undefined || stop.stage === "waiting") return;
  const shown = readTasks(screen);
  const isOpen = shown.kind === "list" || shown.kind === "task";
  if (stop.looks >= MAX_LOOKS) {
    const { failure = "its list of tasks does not do as it should" } = stop;
    if (isOpen && stop.stage !== "closing") closeTaskList(step, { ...stop, failure });
    else finishStop(step, { ...stop, failure });
    return;
  }
  // A key would answer the dialog about which the caller is being asked.
  if (isAsking(step.state)) return lookLater(step, stop);
  switch (stop.stage) {
    case "closing":
      if (isOpen) pressClose(step, stop);
      else finishStop(step, stop);
      return;
    case "ending":
      if (!isOpen) finishStop(step, stop);
      else if (isShown(step.state, stop, shown)) lookLater(step, stop);
      else closeTaskList(step, stop);
      return;
    default:
      findTask(step, stop, shown);
  }
}

/** Presses the next key on the way to the task, and the key that stops it. */
function findTask(step: ControlStep, stop: TaskStop, shown: ReturnType<typeof readTasks>): void {
  const isOpening = stop.stage === "opening";
  switch (shown.kind) {
    case "none":
      if (isOpening && stop.looks % KEY_LOOKS === KEY_LOOKS - 1) return press(step, DOWN, stop);
      return lookLater(step, stop);
    case "offered":
      if (isOpening) return press(step, ENTER, { ...stop, stage: "finding" });
      return lookLater(step, stop);
    case "task":
      if (isShown(step.state, stop, shown)) return press(step, STOP, { ...stop, stage: "ending" });
      return giveUp(step, stop, "its list of tasks shows another one");
    case "list":
      return goToRow(step, stop, shown.rows);
  }
}

/** Moves to the task's row of the list, one key at a time, and stops the task there. */
function goToRow(step: ControlStep, stop: TaskStop, rows: readonly TaskRow[]): void {
  const names = namesOf(step.state, stop);
  const [place, ...others] = [...rows.keys()].filter((at) => isNamed(rows[at], names));
  if (place === undefined) return giveUp(step, stop, "its list of tasks does not show it");
  if (others.length > 0) return giveUp(step, stop, "its list of tasks calls several so");
  const caret = rows.findIndex(({ selected }) => selected);
  if (caret < 0) return lookLater(step, stop);
  if (caret === place) return press(step, STOP, { ...stop, stage: "ending" });
  press(step, caret < place ? DOWN : UP, { ...stop, stage: "finding" });
}

/** Whether the list, or its page of one task, shows the task. */
function isShown(
  state: SessionState,
  stop: TaskStop,
  shown: Extract<ReturnType<typeof readTasks>, { readonly kind: "list" | "task" }>,
): boolean {
  const names = namesOf(state, stop);
  return shown.kind === "list"
    ? shown.rows.some((row) => isNamed(row, names))
    : names.some((name) => hasCommand(shown.text, name));
}

function isNamed(row: TaskRow | undefined, names: readonly string[]): boolean {
  return row !== undefined && names.some((name) => isCalled(row.text, name));
}

function namesOf({ taskNames }: SessionState, { task }: TaskStop): readonly string[] {
  return taskNames.get(task) ?? [];
}

function press(step: ControlStep, keys: string, stop: TaskStop): void {
  const isSameStage = step.state.taskStops[0]?.stage === stop.stage;
  setFirstStop(step, { ...stop, looks: isSameStage ? stop.looks + 1 : 0 });
  step.emit(write(keys), deadline("task", LOOK_MS));
}

function lookLater(step: ControlStep, stop: TaskStop): void {
  setFirstStop(step, { ...stop, looks: stop.looks + 1 });
  step.emit(deadline("task", LOOK_MS));
}

function setFirstStop(step: ControlStep, stop: TaskStop): void {
  step.update({ taskStops: [stop, ...step.state.taskStops.slice(1)] });
}

/**
 * Closes the open list once the child has been quiet for a while. If the model receives the task's end, a turn follows
 * immediately. The caller gets its answer earlier.
 */
function closeTaskList(step: ControlStep, stop: TaskStop): void {
  const closing = { ...stop, stage: "closing", looks: -1 } as const;
  if (stop.failure !== undefined || stop.answered) return lookLater(step, closing);
  emitStopped(step, stop);
  lookLater(step, { ...closing, answered: true });
}

/** Presses the key that closes the list. During a turn the key would stop that turn. */
function pressClose(step: ControlStep, stop: TaskStop): void {
  if (!isQuiet(step.state)) return lookLater(step, { ...stop, looks: -1 });
  if (stop.looks % QUIET_LOOKS === QUIET_LOOKS - 1) return press(step, ESCAPE, stop);
  lookLater(step, stop);
}

/** Whether no turn is running. */
function isQuiet({ phase, isOnlyBackground, status }: SessionState): boolean {
  return (phase === "resting" || (phase === "working" && isOnlyBackground)) &&
    status?.status !== "waiting";
}

/** Closes the list without stopping the task, which may have ended in the meantime. */
function giveUp(step: ControlStep, stop: TaskStop, failure: string): void {
  const isAtWork = step.state.taskNames.has(stop.task);
  closeTaskList(step, isAtWork ? { ...stop, failure } : stop);
}

/** Reports that a task has been stopped. */
function emitStopped(step: ControlStep, { task, request }: TaskStop): void {
  forgetTask(step, task);
  step.emit({ type: "stopped", task }, respond(request, { response: {} }));
}

/**
 * Answers the request, unless it is already answered. Continues with the next task, and with messages that had to wait.
 */
function finishStop(step: ControlStep, stop: TaskStop): void {
  const { request, task, failure, answered } = stop;
  step.update({ taskStops: step.state.taskStops.slice(1) });
  if (failure !== undefined) {
    const error = `Cannot stop the task ${task} on the screen of Claude Code: ${failure}`;
    step.emit(refuse(request, { error }));
    openTaskList(step);
    deliverNext(step);
    return;
  }
  if (answered) forgetTask(step, task);
  else emitStopped(step, stop);
  openTaskList(step);
  const { backgroundStop } = step.state;
  const left = backgroundStop === undefined
    ? undefined
    : backgroundTasksOf(backgroundStop).filter(({ id }) => id !== task);
  if (left !== undefined) {
    step.update({ backgroundStop: { ...backgroundStop, background_tasks: left } });
  }
  deliverNext(step);
  // No turn follows the end of the last task.
  if (left?.length === 0) awaitBackground(step);
}

/** Answers all requests to stop a task, because the child and its tasks have ended. */
export function answerStops(step: ControlStep): void {
  const { taskStops } = step.state;
  step.update({ taskStops: [] });
  step.emit(...taskStops.map(({ request }) => respond(request, { response: {} })));
}
