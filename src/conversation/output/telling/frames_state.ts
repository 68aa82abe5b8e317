import type { AnswerMemory } from "../memory/answer_memory.ts";
import type { CallMemory } from "../memory/call_memory.ts";
import type { CompactionMemory } from "../memory/compaction_memory.ts";
import type { LineMemory } from "../memory/line_memory.ts";
import type { MessageMemory } from "../memory/message_memory.ts";
import type { SessionMemory } from "../memory/session_memory.ts";
import type { ShellMemory } from "../memory/shell_memory.ts";
import type { SpendingMemory } from "../memory/spending_memory.ts";
import type { TaskMemory } from "../memory/task_memory.ts";
import type { TurnMemory } from "../memory/turn_memory.ts";
import type { ToolUse } from "../../../claude/transcript/turn/turn.ts";
import type { Frame } from "../../../claude/wire/frame.ts";
import type { ReportOptions } from "../result/report.ts";
import type { FramesOptions } from "./frames_options.ts";
import { growingMap } from "../../../growing_map.ts";
import { NO_STREAM } from "./exact_state.ts";
import { NOTHING_HEARD } from "./heard_firsts.ts";
import { noLines } from "./kept_lines.ts";
import { makeIds } from "./made_ids.ts";
import { NO_PARTS } from "./partial_state.ts";

/** Everything that has to be remembered to say what comes next, each of something else. */
export interface FramesState
  extends
    SessionMemory,
    MessageMemory,
    TurnMemory,
    LineMemory,
    CompactionMemory,
    CallMemory,
    TaskMemory,
    ShellMemory,
    SpendingMemory,
    AnswerMemory {
  readonly options: FramesOptions;
  readonly reporting: ReportOptions;
  /** How many ids have been made of the seed. */
  readonly ids: number;
}

/** A state and what is said because of it. */
export interface Told {
  readonly state: FramesState;
  readonly frames: readonly Frame[];
}

/** No frame has named the messages of the turn. */
export const NOT_NAMED: FramesState["named"] = new Set();

/** Nothing has been said yet. */
export function startFrames(options: FramesOptions, reporting: ReportOptions): FramesState {
  return {
    options,
    reporting,
    ...(options.version === undefined ? {} : { version: options.version }),
    ...(options.before?.commands === undefined ? {} : { commands: options.before.commands }),
    ...(options.before?.described === undefined ? {} : { described: options.before.described }),
    subagentsBefore: options.before?.subagents,
    usageTold: options.before === undefined ? {} : options.before.modelUsage,
    ...(options.output === undefined ? {} : { outputCalls: new Set<string>() }),
    ...(options.before?.activity === undefined ? {} : { activity: options.before.activity }),
    ids: 0,
    earlier: [],
    kept: noLines(),
    own: undefined,
    subagents: undefined,
    unmirrored: undefined,
    givenIds: growingMap(),
    uncalled: [],
    stopEnds: [],
    notices: [],
    hooked: [],
    begun: false,
    early: [],
    compactions: [],
    unsummed: false,
    ahead: undefined,
    preserved: new Map(),
    toolUses: new Map(),
    agentCalls: growingMap(),
    skills: [],
    forks: growingMap(),
    failed: undefined,
    tasks: new Map(),
    decisions: growingMap(),
    awaitsSubagent: false,
    amid: false,
    unbegun: undefined,
    allTasks: growingMap(),
    taskEnds: growingMap(),
    shells: new Map(),
    openCalls: new Map(),
    shellCalls: new Map(),
    seenShells: new Map(),
    shellOrders: [],
    results: 0,
    locals: options.before?.results ?? 0,
    awaited: [],
    toldAhead: [],
    taken: [],
    joined: [],
    named: NOT_NAMED,
    begins: new Set(),
    stops: [],
    spoken: false,
    ended: [],
    endedAt: 0,
    rested: false,
    reports: [],
    closed: false,
    ...(options.partial === undefined ? {} : {
      streamed: [],
      requested: false,
      ...(options.partial === "exact" ? { exact: NO_STREAM } : { partial: NO_PARTS }),
    }),
    ...(options.heard === undefined ? {} : { heard: NOTHING_HEARD }),
  };
}

/** Whether the first turn of the child has begun: before it, others may have been told that needed no child. */
export function isUnderWay({ begun, rested, prompt }: FramesState): boolean {
  return begun && !(rested && prompt === undefined);
}

/** Whether there are lines that have not been told. */
export function holdsLines({ own, subagents }: FramesState): boolean {
  return own !== undefined || subagents !== undefined;
}

/** A call that has not returned, or has started a subagent. */
export function knownCall({ toolUses, agentCalls }: FramesState, id: string): ToolUse | undefined {
  return toolUses.get(id) ?? agentCalls.get(id);
}

/** Notes that an answer is told as it is written. */
export function withStreamed(state: FramesState, id: string): FramesState {
  const { streamed = [] } = state;
  return id === "" || streamed.includes(id) ? state : { ...state, streamed: [...streamed, id] };
}

/** Says something, or nothing. */
export function told(state: FramesState, frames: readonly Frame[] = []): Told {
  return { state, frames };
}

/** Says what comes next after what has been said. */
export function and(before: Told, next: (state: FramesState) => Told): Told {
  const { state, frames } = next(before.state);
  return { state, frames: frames.length === 0 ? before.frames : [...before.frames, ...frames] };
}

/** Uses ids that are new, and remembers how many there were. */
export function withIds<Made>(
  state: FramesState,
  use: (newUuid: () => string) => Made,
): { readonly state: FramesState; readonly made: Made } {
  const ids = makeIds(state.options.seed, state.ids);
  const made = use(ids.next);
  return { state: ids.count() === state.ids ? state : { ...state, ids: ids.count() }, made };
}
