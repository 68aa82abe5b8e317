import type { AssistantEntry, UserEntry } from "../../../claude/transcript/entry.ts";
import { and, type FramesState, type Told, told, withIds } from "../telling/frames_state.ts";
import type { OpenCall } from "../telling/open_call.ts";
import { callsOf } from "../../../claude/transcript/turn.ts";
import { asText, isJsonObject } from "../../../json_object.ts";
import type { WaitedShell } from "../telling/known_shells.ts";
import { tellTasks } from "../telling/saying.ts";
import { startTask } from "../frames/tasks.ts";

/** How often `claude -p` tells that a call is still at work, in milliseconds. */
const BEAT_MS = 30_000;

/** Tools whose calls Claude Code carries out side by side; of others it is not certain, and each waits for those before it. */
const SIDE_BY_SIDE = "Agent Glob Grep Read Task WebFetch WebSearch".split(" ");

type OpenCalls = FramesState["openCalls"];

/** The open calls with those of a line. */
export function withOpenCalls(
  calls: OpenCalls,
  { message, timestamp }: AssistantEntry,
): OpenCalls {
  const called = callsOf(message);
  if (called.length === 0) return calls;
  const open = new Map(calls);
  for (const { id, name } of called) open.set(id, { name, beats: 0 });
  return begun(open, timestamp);
}

/** The open calls without those that have returned, for which others may have waited. */
export function withoutReturned(calls: OpenCalls, { message, timestamp }: UserEntry): OpenCalls {
  if (calls.size === 0 || typeof message.content === "string") return calls;
  const open = new Map(calls);
  for (const { tool_use_id: id } of message.content) if (typeof id === "string") open.delete(id);
  return begun(open, timestamp);
}

/** The calls, of which those begin that wait for nothing. */
function begun(calls: Map<string, OpenCall>, timestamp: string | undefined): OpenCalls {
  const since = Date.parse(timestamp ?? "");
  if (Number.isNaN(since)) return calls;
  const before: string[] = [];
  for (const [id, call] of calls) {
    const isSide = SIDE_BY_SIDE.includes(call.name);
    const waits = before.some((name) => !isSide || !SIDE_BY_SIDE.includes(name));
    before.push(call.name);
    if (!waits && !call.asked && call.since === undefined) calls.set(id, { ...call, since });
  }
  return calls;
}

/** Somebody is asked whether a call may be carried out: until then it is not at work. */
export function noteAsked(state: FramesState, id: unknown): FramesState {
  const call = typeof id === "string" ? state.openCalls.get(id) : undefined;
  if (typeof id !== "string" || call === undefined) return state;
  const { since: _, ...waiting } = call;
  return {
    ...state,
    openCalls: new Map(state.openCalls).set(id, { ...waiting, asked: true }),
  };
}

/** What was asked of a call has been decided. */
export function noteDecided(
  state: FramesState,
  { id, now }: { readonly id: string; readonly now: number },
): FramesState {
  const call = state.openCalls.get(id);
  if (call?.asked === undefined) return state;
  const { asked: _, ...decided } = call;
  return { ...state, openCalls: new Map(state.openCalls).set(id, { ...decided, since: now }) };
}

/** In how many milliseconds the next call is to be told; absent where none is at work. */
export function untilBeat({ openCalls }: FramesState, now: number): number | undefined {
  const due = [...openCalls.values()].flatMap(({ since, beats }) =>
    since === undefined ? [] : [since + (beats + 1) * BEAT_MS - now]
  );
  return due.length === 0 ? undefined : Math.max(0, Math.min(...due));
}

/** Tells of the calls that have been at work for so long. */
export function tellBeats(state: FramesState, now: number): Told {
  const due = [...state.openCalls].filter(([, { since, beats }]) =>
    since !== undefined && now >= since + (beats + 1) * BEAT_MS
  );
  const { state: next, made } = withIds(state, (newUuid) =>
    due.map(([id, { name, beats }]) => ({
      type: "tool_progress" as const,
      tool_use_id: `${id}-heartbeat-${beats}`,
      tool_name: name,
      parent_tool_use_id: id,
      elapsed_time_seconds: (beats + 1) * BEAT_MS / 1000,
      heartbeat: true,
      session_id: state.options.sessionId,
      uuid: newUuid(),
    })));
  const counted = due.map(([id, call]) => [id, { ...call, beats: call.beats + 1 }] as const);
  return told({ ...next, openCalls: new Map([...next.openCalls, ...counted]) }, made);
}

/** After so long `claude -p` prints a task for a shell in the foreground. */
const LONG_SHELL_MS = 3000;

type WaitedShells = FramesState["shells"];

/** The shells that are waited for, with those that a line calls. */
export function withShells(
  waited: WaitedShells,
  { message, timestamp }: AssistantEntry,
): WaitedShells {
  const since = Date.parse(timestamp ?? "");
  const called = callsOf(message).filter(({ name, input }) => name === "Bash" && !isApart(input));
  if (called.length === 0 || Number.isNaN(since)) return waited;
  const shells = new Map(waited);
  for (const { id, input } of called) {
    const { description, command } = isJsonObject(input) ? input : {};
    shells.set(id, { since, description: asText(description ?? command ?? "") });
  }
  return shells;
}

/** Whether a shell is called that nobody waits for. */
function isApart(input: unknown): boolean {
  return isJsonObject(input) && input.run_in_background === true;
}

/** The shells that are waited for, without those whose results a line holds. */
export function withoutEnded(waited: WaitedShells, { message }: UserEntry): WaitedShells {
  if (waited.size === 0 || typeof message.content === "string") return waited;
  const shells = new Map(waited);
  for (const { tool_use_id: id } of message.content) if (typeof id === "string") shells.delete(id);
  return shells;
}

/** In how many milliseconds it is time to look which shells run; absent for as long as nothing changes. */
export function untilLong(state: FramesState, now: number): number | undefined {
  const waiting = waitedShells(state).map(([, { since }]) => since + LONG_SHELL_MS - now);
  return waiting.length === 0 ? undefined : Math.max(0, Math.min(...waiting));
}

/**
 * Tells of shells that have run for so long that `claude -p` tells of them as tasks. Their ids are in no line: they are
 * told only as long as there is no doubt which is whose.
 *
 * A call may wait for others, for hooks, and for somebody who permits it, before its shell is started.
 *
 * @param options.running ids of the shells that run, in the order of their start, and of some in the background
 * @param options.startedAt when each was started, in milliseconds since the epoch, as far as that is known
 * @param options.now milliseconds since the epoch
 */
export function tellLongShells(
  before: FramesState,
  { running, startedAt = [], now }: {
    readonly running: readonly string[];
    readonly startedAt?: readonly number[] | undefined;
    readonly now: number;
  },
): Told {
  const waiting = waitedShells(before);
  const started = running.map((id, index) => ({ id, at: startedAt[index] ?? 0 }))
    .filter(({ id }) => !before.allTasks.has(id));
  if (started.length !== waiting.length) return told(before);
  const known = waiting.map(([toolUseId, shell], index) => {
    const { id = "", at = 0 } = started[index] ?? {};
    return { id, toolUseId, shell: { ...shell, since: Math.max(shell.since, at) } };
  });
  const shells = new Map(before.shells);
  for (const { toolUseId, shell } of known) shells.set(toolUseId, shell);
  let next = told({ ...before, shells });
  for (const { id, toolUseId, shell } of known) {
    if (now - shell.since < LONG_SHELL_MS) continue;
    next = and(next, (state) =>
      tellTasks(
        { ...state, shells: new Map(state.shells).set(toolUseId, { ...shell, task: id }) },
        (context) =>
          startTask(state.tasks, {
            id,
            toolUseId,
            type: "local_bash",
            description: shell.description,
            background: false,
          }, context),
      ));
  }
  return next;
}

function waitedShells({ shells }: FramesState): readonly (readonly [string, WaitedShell])[] {
  return [...shells].filter(([, { task }]) => task === undefined);
}
