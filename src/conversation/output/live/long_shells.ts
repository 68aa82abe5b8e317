import type { AssistantEntry, UserEntry } from "../../../claude/transcript/entry.ts";
import { asText, isJsonObject } from "../../../json_object.ts";
import { and, type FramesState, type Told, told } from "../telling/frames_state.ts";
import type { WaitedShell } from "../telling/known_shells.ts";
import { tellTasks } from "../telling/saying.ts";
import { startTask } from "../single/task_start.ts";
import { callsOf } from "../../../claude/transcript/turn.ts";

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
