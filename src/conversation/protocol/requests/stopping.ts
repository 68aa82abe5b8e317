import type { Entry } from "../../../claude/transcript/entry.ts";
import { asText, isJsonObject } from "../../../json_object.ts";
import {
  enqueuedNotification,
  parseTaskNotification,
} from "../../../claude/transcript/task_notification.ts";
import type { ControlRequest } from "../../../claude/wire/control.ts";
import { awaitBackground, backgroundTasksOf } from "../../control/background_wait.ts";
import type { Effect } from "../../control/effect.ts";
import { deliverNext } from "../../control/deliver.ts";
import type { SessionState, Stopping } from "../../control/session_state.ts";
import { act, asOld, deadline, stay, type Step, write } from "../../control/step.ts";
import {
  hasCommand,
  isCalled,
  readTasks,
  type Screen,
  type TaskRow,
} from "../../terminal/screen.ts";
import { refuse, respond } from "../answering.ts";
import { isAsking } from "../questions/deciding.ts";

/** Time between a key in the list of tasks and the next look at it. */
const LOOK_MS = 150;
/** So often a stage is looked at until it has failed. */
const MOST_LOOKS = 40;
/** So often nothing has to be under way before the list is closed, and between two tries. */
const QUIET_LOOKS = 8;

const DOWN = "\x1b[B";
const UP = "\x1b[A";
const ENTER = "\r";
const ESCAPE = "\x1b";
const STOP = "x";

const TOOLS = ["Agent", "Bash", "Task"];

/** Notes by what names the screen may call the tasks in the background, and forgets those that have ended. */
export function withTasks(state: SessionState, entry: Entry): SessionState {
  if (state.options.caller === undefined) return state;
  if (entry.type === "other") return withoutTask(state, enqueuedNotification(entry.line)?.taskId);
  if (entry.type === "assistant") {
    const made = entry.message.content.flatMap(({ type, id, name, input }) =>
      type === "tool_use" && typeof id === "string" && TOOLS.includes(asText(name))
        ? [[id, namesIn(input)] as const]
        : []
    );
    if (made.length === 0) return state;
    return { ...state, launches: new Map([...state.launches, ...made]) };
  }
  if (entry.type !== "user") return state;
  const { content } = entry.message;
  if (typeof content === "string") {
    return withoutTask(state, parseTaskNotification(content)?.taskId);
  }
  const returned = content.flatMap(({ tool_use_id: id }) => typeof id === "string" ? [id] : []);
  const [call] = returned.filter((id) => state.launches.has(id));
  if (call === undefined) return state;
  const launches = new Map([...state.launches].filter(([id]) => !returned.includes(id)));
  const { backgroundTaskId, isAsync, agentId } = isJsonObject(entry.toolUseResult)
    ? entry.toolUseResult
    : {};
  const task = isAsync === true ? agentId : backgroundTaskId;
  return typeof task === "string"
    ? {
      ...state,
      launches,
      atWork: new Map([...state.atWork, [task, state.launches.get(call) ?? []]]),
    }
    : { ...state, launches };
}

function namesIn(input: unknown): readonly string[] {
  const { command, description } = isJsonObject(input) ? input : {};
  return [command, description].filter((name) => typeof name === "string" && name.trim() !== "")
    .map(asText);
}

function withoutTask(state: SessionState, task: string | undefined): SessionState {
  return task === undefined || !state.atWork.has(task)
    ? state
    : { ...state, atWork: new Map([...state.atWork].filter(([id]) => id !== task)) };
}

/**
 * Stops a task in the background as a person does, in the list of tasks that opens below the input box
 * (2.1.330). One that is not at work needs nothing.
 */
export function onStopTask(state: SessionState, request: ControlRequest): Step {
  const { task_id: task } = request.body;
  if (typeof task !== "string") {
    return act(state, [refuse(request, { error: "stop_task: task_id must be a string" })]);
  }
  if (!state.atWork.has(task)) {
    return act(state, [respond(request, { response: {} })]);
  }
  const stops = [...state.stops, { request, task, stage: "waiting", looks: 0 } as const];
  return state.stops.length > 0 ? stay({ ...state, stops }) : begin({ ...state, stops });
}

/** Whether keys go to the list of tasks, or are to open it. */
export function isInTasks({ stops: [stopping] }: SessionState): boolean {
  return stopping !== undefined && stopping.stage !== "waiting";
}

/** It is time to look at the list of tasks again, or to open it. */
export function onTaskDue(state: SessionState): Step {
  const [stopping] = state.stops;
  if (stopping === undefined) return stay(state);
  return stopping.stage === "waiting" ? begin(state) : act(state, [{ type: "look" }]);
}

/** Opens the list, once keys go to nothing else. */
function begin(state: SessionState): Step {
  const [stopping] = state.stops;
  if (stopping === undefined) return stay(state);
  // It may have ended meanwhile, or been stopped because of the request before.
  if (!state.atWork.has(stopping.task)) return over(state, stopping, undefined);
  const { phase, status } = state;
  const isFree = (phase === "working" || phase === "resting") && status?.status !== "waiting" &&
    !isAsking(state);
  if (isFree) return press(state, DOWN, { ...stopping, stage: "opening" });
  return stopping.looks < MOST_LOOKS
    ? again(state, stopping)
    : over(state, stopping, "it waits for something else");
}

/** The screen, while the list of tasks is opened, open, or closed again. */
export function onTaskScreen(state: SessionState, screen: Screen): Step {
  const [stopping] = state.stops;
  if (stopping === undefined || stopping.stage === "waiting") return stay(state);
  const shown = readTasks(screen);
  const isOpen = shown.kind === "list" || shown.kind === "task";
  if (stopping.looks >= MOST_LOOKS) {
    const { failure = "its list of tasks does not do as it should" } = stopping;
    return isOpen && stopping.stage !== "closing"
      ? close(state, { ...stopping, failure })
      : over(state, stopping, failure);
  }
  // A key would decide what the caller is asked.
  if (isAsking(state)) return again(state, stopping);
  if (stopping.stage === "closing") {
    if (!isOpen) return over(state, stopping, stopping.failure);
    if (!isQuiet(state)) return again(state, { ...stopping, looks: -1 });
    return stopping.looks % QUIET_LOOKS === QUIET_LOOKS - 1
      ? press(state, ESCAPE, stopping)
      : again(state, stopping);
  }
  if (stopping.stage === "ending") {
    if (isOpen && isThere(state, shown)) return again(state, stopping);
    return isOpen ? close(state, stopping) : over(state, stopping, undefined);
  }
  switch (shown.kind) {
    case "none":
      return stopping.stage === "opening" && isTimeToPress(stopping)
        ? press(state, DOWN, stopping)
        : again(state, stopping);
    case "offered":
      return stopping.stage === "opening"
        ? press(state, ENTER, { ...stopping, stage: "finding" })
        : again(state, stopping);
    case "task":
      return isThere(state, shown)
        ? press(state, STOP, { ...stopping, stage: "ending" })
        : giveUp(state, stopping, "its list of tasks shows another one");
    case "list":
      return find(state, stopping, shown.rows);
  }
}

/** Whether no turn is under way: it would take the key that closes the list, and stop. */
function isQuiet({ phase, waits, status }: SessionState): boolean {
  return (phase === "resting" || (phase === "working" && waits)) && status?.status !== "waiting";
}

/** Whether a key that has had no effect is pressed again: right after a turn the number of tasks may have yet to be drawn. */
function isTimeToPress({ looks }: Stopping): boolean {
  return looks % 4 === 3;
}

/** Goes to the task in the list, a key at a time, and stops it. */
function find(state: SessionState, stopping: Stopping, rows: readonly TaskRow[]): Step {
  const names = namesOf(state, stopping);
  const places = [...rows.keys()].filter((at) => isNamed(rows[at], names));
  const [place, ...others] = places;
  if (place === undefined || others.length > 0) {
    const problem = place === undefined ? "does not show it" : "calls several so";
    return giveUp(state, stopping, `its list of tasks ${problem}`);
  }
  const caret = rows.findIndex(({ selected }) => selected);
  if (caret < 0) return again(state, stopping);
  return caret === place
    ? press(state, STOP, { ...stopping, stage: "ending" })
    : press(state, caret < place ? DOWN : UP, { ...stopping, stage: "finding" });
}

function isThere(
  state: SessionState,
  shown: Extract<ReturnType<typeof readTasks>, { readonly kind: "list" | "task" }>,
): boolean {
  const [stopping] = state.stops;
  const names = stopping === undefined ? [] : namesOf(state, stopping);
  return shown.kind === "list"
    ? shown.rows.some((row) => isNamed(row, names))
    : names.some((name) => hasCommand(shown.text, name));
}

function isNamed(row: TaskRow | undefined, names: readonly string[]): boolean {
  return row !== undefined && names.some((name) => isCalled(row.text, name));
}

function namesOf({ atWork }: SessionState, { task }: Stopping): readonly string[] {
  return atWork.get(task) ?? [];
}

function press(state: SessionState, keys: string, next: Stopping): Step {
  const looks = state.stops[0]?.stage === next.stage ? next.looks + 1 : 0;
  return act(withFirst(state, { ...next, looks }), [
    write(keys),
    deadline("task", LOOK_MS),
  ]);
}

function again(state: SessionState, stopping: Stopping): Step {
  return act(withFirst(state, { ...stopping, looks: stopping.looks + 1 }), [
    deadline("task", LOOK_MS),
  ]);
}

/**
 * Closes the list, which is open, once nothing has been under way for a while: a turn follows at once where the model is
 * told of the task's end. Whoever has asked does not wait for that.
 */
function close(state: SessionState, stopping: Stopping): Step {
  const { task, request, failure, answered } = stopping;
  if (failure !== undefined || answered) {
    return again(state, { ...stopping, stage: "closing", looks: -1 });
  }
  const next = again(withoutTask(state, task), {
    ...stopping,
    stage: "closing",
    looks: -1,
    answered: true,
  });
  return act(next.state, [
    { type: "stopped", task },
    respond(request, { response: {} }),
    ...next.effects,
  ]);
}

/** Closes the list without having stopped the task, which may have ended meanwhile. */
function giveUp(state: SessionState, stopping: Stopping, failure: string): Step {
  return close(state, state.atWork.has(stopping.task) ? { ...stopping, failure } : stopping);
}

function withFirst(state: SessionState, stopping: Stopping): SessionState {
  return { ...state, stops: [stopping, ...state.stops.slice(1)] };
}

/** A task has been stopped, or could not be; then the next one's turn comes, and whatever had to wait. */
function over(before: SessionState, stopping: Stopping, failure: string | undefined): Step {
  const { request, task } = stopping;
  const rest = { ...before, stops: before.stops.slice(1) };
  const state = failure === undefined ? withoutTask(rest, task) : rest;
  const next = begin(state);
  if (failure !== undefined) {
    const error = `Cannot stop the task ${task} on the screen of Claude Code: ${failure}`;
    const after = asOld(next.state, deliverNext);
    return act(after.state, [refuse(request, { error }), ...next.effects, ...after.effects]);
  }
  const stopped: readonly Effect[] = stopping.answered
    ? []
    : [{ type: "stopped", task }, respond(request, { response: {} })];
  const after = withoutTasks(next.state, task);
  return act(after.state, [...stopped, ...next.effects, ...after.effects]);
}

/** What is waited for in the background has one task less; nothing follows the end of the last one. */
function withoutTasks(state: SessionState, task: string): Step {
  const { backgroundStop: stop } = state;
  if (stop === undefined) return asOld(state, deliverNext);
  const left = backgroundTasksOf(stop).filter(({ id }) => id !== task);
  const next = asOld(
    { ...state, backgroundStop: { ...stop, background_tasks: left } },
    deliverNext,
  );
  const waiting = left.length === 0 ? asOld(next.state, awaitBackground) : stay(next.state);
  return act(waiting.state, [...next.effects, ...waiting.effects]);
}

/** The child is gone, and its tasks with it. */
export function stopsOver(state: SessionState): Step {
  return act(
    { ...state, stops: [] },
    state.stops.map(({ request }) => respond(request, { response: {} })),
  );
}
