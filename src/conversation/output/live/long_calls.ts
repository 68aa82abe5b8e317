import type { AssistantEntry, UserEntry } from "../../../claude/transcript/entry.ts";
import type { OpenCall, OutputState, OutputStep, WaitedShell } from "../output_state.ts";
import { readToolCalls } from "../../../claude/transcript/turn.ts";
import { asText, isJsonObject } from "../../../json_object.ts";
import { emitTasks, newUuid } from "../emit_frames.ts";
import { startTask } from "../frames/tasks.ts";

/** The interval at which `claude -p` prints `tool_progress` for a running call, in milliseconds. */
const HEARTBEAT_MS = 30_000;

/**
 * Tools whose calls Claude Code runs at the same time. A call of any other tool is assumed to wait for the calls before
 * it.
 */
const PARALLEL_TOOLS = "Agent Glob Grep Read Task WebFetch WebSearch".split(" ");

type OpenCalls = OutputState["openCalls"];

/** The open calls, with the calls of a line added. */
export function withOpenCalls(
  calls: OpenCalls,
  { message, timestamp }: AssistantEntry,
): OpenCalls {
  const called = readToolCalls(message);
  if (called.length === 0) return calls;
  const open = new Map(calls);
  for (const { id, name } of called) open.set(id, { name, heartbeats: 0 });
  return started(open, timestamp);
}

/** The open calls without those whose results a line holds. Calls that waited for them start. */
export function withoutReturnedCalls(
  calls: OpenCalls,
  { message, timestamp }: UserEntry,
): OpenCalls {
  if (calls.size === 0 || typeof message.content === "string") return calls;
  const open = new Map(calls);
  for (const { tool_use_id: id } of message.content) if (typeof id === "string") open.delete(id);
  return started(open, timestamp);
}

/** Records the start of the calls that wait for no other call and no permission. */
function started(calls: Map<string, OpenCall>, timestamp: string | undefined): OpenCalls {
  const since = Date.parse(timestamp ?? "");
  if (Number.isNaN(since)) return calls;
  const before: string[] = [];
  for (const [id, call] of calls) {
    const isParallel = PARALLEL_TOOLS.includes(call.name);
    const waits = before.some((name) => !isParallel || !PARALLEL_TOOLS.includes(name));
    before.push(call.name);
    if (!waits && !call.asked && call.since === undefined) calls.set(id, { ...call, since });
  }
  return calls;
}

/**
 * Records the calls for which a permission question is open: such a call does not run until the question is decided.
 * Returns whether a call starts to run.
 */
export function recordPermissions(
  step: OutputStep,
  { asked, now }: { readonly asked: ReadonlySet<string | undefined>; readonly now: number },
): boolean {
  const calls = new Map(step.state.openCalls);
  let isDecided = false;
  for (const [id, { name, heartbeats, asked: wasAsked = false }] of calls) {
    if (asked.has(id) === wasAsked) continue;
    calls.set(id, { name, heartbeats, ...(wasAsked ? { since: now } : { asked: true }) });
    isDecided ||= wasAsked;
  }
  step.update({ openCalls: calls });
  return isDecided;
}

/** Milliseconds until the next heartbeat of a call; undefined if no call runs. */
export function msUntilHeartbeat({ openCalls }: OutputState, now: number): number | undefined {
  const due = [...openCalls.values()].flatMap(({ since, heartbeats }) =>
    since === undefined ? [] : [since + (heartbeats + 1) * HEARTBEAT_MS - now]
  );
  return due.length === 0 ? undefined : Math.max(0, Math.min(...due));
}

/** Emits `tool_progress` for the calls whose heartbeat is due. */
export function emitHeartbeats(step: OutputStep, now: number): void {
  const { openCalls, options: { sessionId } } = step.state;
  const counted = new Map(openCalls);
  for (const [id, call] of openCalls) {
    const { name, since, heartbeats } = call;
    if (since === undefined || now < since + (heartbeats + 1) * HEARTBEAT_MS) continue;
    step.emit({
      type: "tool_progress",
      tool_use_id: `${id}-heartbeat-${heartbeats}`,
      tool_name: name,
      parent_tool_use_id: id,
      elapsed_time_seconds: (heartbeats + 1) * HEARTBEAT_MS / 1000,
      heartbeat: true,
      session_id: sessionId,
      uuid: newUuid(step),
    });
    counted.set(id, { ...call, heartbeats: heartbeats + 1 });
  }
  step.update({ openCalls: counted });
}

/** The time after which `claude -p` prints a task for a foreground shell, in milliseconds. */
const LONG_SHELL_MS = 3000;

type WaitedShells = OutputState["shells"];

/** The shells for which the turn waits, with the shells added that a line calls. */
export function withWaitedShells(
  waited: WaitedShells,
  { message, timestamp }: AssistantEntry,
): WaitedShells {
  const since = Date.parse(timestamp ?? "");
  const called = readToolCalls(message).filter(({ name, input }) =>
    name === "Bash" && !(isJsonObject(input) && input.run_in_background === true)
  );
  if (called.length === 0 || Number.isNaN(since)) return waited;
  const shells = new Map(waited);
  for (const { id, input } of called) {
    const { description, command } = isJsonObject(input) ? input : {};
    shells.set(id, { since, description: asText(description ?? command ?? "") });
  }
  return shells;
}

/** The shells for which the turn waits, without those whose results a line holds. */
export function withoutEndedShells(waited: WaitedShells, { message }: UserEntry): WaitedShells {
  if (waited.size === 0 || typeof message.content === "string") return waited;
  const shells = new Map(waited);
  for (const { tool_use_id: id } of message.content) if (typeof id === "string") shells.delete(id);
  return shells;
}

/** Milliseconds until the output needs the list of running shells; undefined if the turn waits for no shell. */
export function msUntilLongShell(state: OutputState, now: number): number | undefined {
  const waiting = waitedShells(state).map(([, { since }]) => since + LONG_SHELL_MS - now);
  return waiting.length === 0 ? undefined : Math.max(0, Math.min(...waiting));
}

/**
 * Emits the start of a task for each foreground shell that has run for `LONG_SHELL_MS`. No line names the id of such a
 * shell. So a task is emitted only if the number of running shells is the number of shells for which the turn waits:
 * then their order assigns them to calls.
 *
 * A shell may start long after its call: the call may wait for other calls, for hooks and for a permission.
 *
 * @param options.running ids of the running shells in the order of their start, including some in the background
 * @param options.startedAt when each shell was started, in milliseconds since the epoch, if known
 * @param options.now milliseconds since the epoch
 */
export function emitLongShells(
  step: OutputStep,
  { running, startedAt = [], now }: {
    readonly running: readonly string[];
    readonly startedAt?: readonly number[] | undefined;
    readonly now: number;
  },
): void {
  const { allTasks, shells } = step.state;
  const waiting = waitedShells(step.state);
  const started = running.map((id, index) => ({ id, at: startedAt[index] ?? 0 }))
    .filter(({ id }) => !allTasks.has(id));
  if (started.length !== waiting.length) return;
  const known = waiting.map(([toolUseId, shell], index) => {
    const { id = "", at = 0 } = started[index] ?? {};
    return { id, toolUseId, shell: { ...shell, since: Math.max(shell.since, at) } };
  });
  step.update({
    shells: new Map([
      ...shells,
      ...known.map(({ toolUseId, shell }) => [toolUseId, shell] as const),
    ]),
  });
  for (const { id, toolUseId, shell } of known) {
    if (now - shell.since < LONG_SHELL_MS) continue;
    step.update({ shells: new Map(step.state.shells).set(toolUseId, { ...shell, task: id }) });
    emitTasks(step, (context) =>
      startTask(step.state.tasks, {
        id,
        toolUseId,
        type: "local_bash",
        description: shell.description,
        background: false,
      }, context));
  }
}

/** The shells for which the turn waits and that have no task yet, by their calls. */
function waitedShells({ shells }: OutputState): readonly (readonly [string, WaitedShell])[] {
  return [...shells].filter(([, { task }]) => task === undefined);
}
