import type { AssistantEntry, UserEntry } from "../../../claude/transcript/entry.ts";
import { type FramesState, type Told, told, withIds } from "../telling/frames_state.ts";
import type { OpenCall } from "../telling/open_call.ts";
import { callsOf } from "../../../claude/transcript/turn.ts";

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
