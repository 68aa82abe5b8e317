import type {
  AssistantEntry,
  ContentBlock,
  Entry,
  UserEntry,
} from "../../../claude/transcript/entry.ts";
import { isJsonObject } from "../../../json_object.ts";
import {
  enqueuedNotification,
  parseTaskNotification,
} from "../../../claude/transcript/task_notification.ts";
import { systemFrame } from "../frames/frame_context.ts";
import { and, type FramesState, type Told, told } from "../telling/frames_state.ts";
import type { SeenShell, ShellCall, ShellOrder, ShellText } from "../telling/known_shells.ts";
import { say } from "../telling/saying.ts";

/** So much of two texts has to be the same where one of them may have been cut, in UTF-16 units. */
const COMPARED = 20_000;

/** A call of Bash was told: what its shell writes is told from now on. */
export function noteShellCalls(state: FramesState, { message }: AssistantEntry): Told {
  if (state.options.shellOutput === undefined) return told(state);
  const called = message.content.flatMap(({ type, id, name, input }) =>
    type === "tool_use" && name === "Bash" && typeof id === "string" && isJsonObject(input) &&
      typeof input.command === "string"
      ? [[id, { command: input.command }] as const]
      : []
  );
  if (called.length === 0) return told(state);
  return tellCalled({ ...state, shellCalls: new Map([...state.shellCalls, ...called]) });
}

/** A shell runs, or ran. */
export function noteShell(
  state: FramesState,
  { id, command, running }: {
    readonly id: string;
    readonly command?: string;
    readonly running: boolean;
  },
): Told {
  if (state.seenShells.has(id)) return told(state);
  const known = command === undefined ? {} : { command };
  const shell = { ...known, running, called: false, untold: [], over: false };
  return tellCalled(withShell(state, id, shell));
}

/** A shell has written something. */
export function tellShellOutput(
  state: FramesState,
  { id, ...written }: { readonly id: string } & ShellText,
): Told {
  const shell = state.seenShells.get(id);
  if (shell === undefined) return told(state);
  const { text, stream } = written;
  const last = shell.untold.at(-1);
  const untold = last !== undefined && last.stream === stream
    ? [...shell.untold.slice(0, -1), { ...last, text: last.text + text }]
    : [...shell.untold, { text, ...(stream === undefined ? {} : { stream }) }];
  const next = withShell(state, id, { ...shell, untold });
  return callOf(state, id) === undefined ? told(next) : tellUntold(next, id);
}

/**
 * Tells what has been written by a shell whose call is known. What may be Claude Code's own remark is kept until it is
 * known that the shell is none in the background, which on a busy machine may have ended before that.
 */
function tellUntold(state: FramesState, id: string): Told {
  const call = callOf(state, id);
  const seen = state.seenShells.get(id);
  if (call === undefined || seen === undefined) return told(state);
  const kept = remarkIn(seen.untold.at(-1)?.text ?? "");
  const untold = kept === "" ? [] : [{ ...seen.untold.at(-1), text: kept }];
  return seen.untold.reduce<Told>(
    (said, { text, stream }, index) => {
      const isLast = index === seen.untold.length - 1;
      const told = isLast ? text.slice(0, text.length - kept.length) : text;
      return and(said, (state) => tellText(state, { call, shell: id, text: told, stream }));
    },
    told(withShell(state, id, { ...seen, untold })),
  );
}

/** All that a shell has written is known. */
export function noteShellOver(
  state: FramesState,
  { id, cut }: { readonly id: string; readonly cut?: true },
): Told {
  const shell = state.seenShells.get(id);
  const known = shell === undefined ? state : withShell(state, id, { ...shell, over: true });
  const text = `shell ${id} has written more than is told`;
  const next = cut === undefined ? known : ordered(known, { type: "trace", text });
  const call = callOf(next, id);
  return call !== undefined && next.shellCalls.get(call)?.returned === true
    ? endCall(next, call)
    : told(next);
}

/**
 * A line says that calls have returned, or that one in the background has ended: told before the line itself, because
 * what was written comes before what came of it.
 */
export function tellReturnedShells(state: FramesState, entry: Entry): Told {
  if (state.shellCalls.size === 0) return told(state);
  const ended = endedTask(entry);
  if (ended !== undefined) {
    const call = callOf(state, ended);
    return call === undefined ? told(state) : leave(state, { id: call, shell: ended });
  }
  if (entry.type !== "user" || typeof entry.message.content === "string") return told(state);
  return entry.message.content.reduce<Told>(
    (said, block) => and(said, (state) => tellReturned(state, { entry, block })),
    told(state),
  );
}

/** Nothing more is heard of calls: they are over. */
export function tellShellsEnd(state: FramesState): Told {
  const ids = [...state.shellCalls.keys()];
  const known = ids.reduce<Told>(
    (said, id) =>
      and(said, (state) => {
        const shell = shellFor(state, id, undefined);
        return shell === undefined ? told(state) : assign(state, { id, shell });
      }),
    told(state),
  );
  return ids.reduce<Told>((said, id) => and(said, (state) => endCall(state, id)), known);
}

function tellReturned(
  state: FramesState,
  { entry, block }: { readonly entry: UserEntry; readonly block: ContentBlock },
): Told {
  const id = block.type === "tool_result" ? block.tool_use_id : undefined;
  const call = typeof id === "string" ? state.shellCalls.get(id) : undefined;
  const outcome = entry.toolUseResult;
  if (typeof id !== "string" || call === undefined) return tellStopped(state, outcome);
  const task = isJsonObject(outcome) ? outcome.backgroundTaskId : undefined;
  if (typeof task === "string") {
    const background: ShellCall = { ...call, background: true, shell: task };
    const next = withCall(state, id, background);
    return tellCalled(ordered(next, { type: "follow-shell", id: task }));
  }
  const written = writtenBy(outcome);
  const shell = shellFor(state, id, written);
  if (shell !== undefined) {
    return and(assign(state, { id, shell }), (state) => leave(state, { id, shell }));
  }
  // It was gone before it could be seen: what Claude Code says of its output is all there is.
  return and(
    written === undefined ? told(state) : tellText(state, { call: id, shell: null, text: written }),
    (state) => endCall(state, id),
  );
}

/** What another tool has returned: it may have stopped a shell in the background. */
function tellStopped(state: FramesState, outcome: unknown): Told {
  const task = isJsonObject(outcome) && outcome.task_type === "local_bash"
    ? outcome.task_id
    : undefined;
  const call = typeof task === "string" ? callOf(state, task) : undefined;
  return typeof task !== "string" || call === undefined
    ? told(state)
    : leave(state, { id: call, shell: task });
}

/** What a call has written, as Claude Code gives it: trimmed, and cut where it is long. Undefined if it ran no shell. */
function writtenBy(outcome: unknown): string | undefined {
  if (typeof outcome === "string") {
    return /^Error: Exit code \d+(?:\n|$)/u.test(outcome)
      ? outcome.slice(outcome.indexOf("\n") + 1 || outcome.length)
      : undefined;
  }
  return isJsonObject(outcome) && typeof outcome.stdout === "string" ? outcome.stdout : undefined;
}

/** The task in the background that a line says is over. */
function endedTask(entry: Entry): string | undefined {
  if (entry.type === "other") return enqueuedNotification(entry.line)?.taskId;
  return entry.type === "user" ? parseTaskNotification(entry.message.content)?.taskId : undefined;
}

/** A call has returned: it is over once all that its shell has written is told. */
function leave(
  state: FramesState,
  { id, shell }: { readonly id: string; readonly shell: string },
): Told {
  const call = state.shellCalls.get(id);
  if (call === undefined || call.returned) return told(state);
  const left = ordered(state, { type: "leave-shell", id: shell });
  return state.seenShells.get(shell)?.over === true
    ? endCall(left, id)
    : told(withCall(left, id, { ...call, returned: true }));
}

/** Says that a call has written all that it will. */
function endCall(before: FramesState, id: string): Told {
  const { shell = null, background } = before.shellCalls.get(id) ?? {};
  const { untold = [] } = background ? {} : before.seenShells.get(shell ?? "") ?? {};
  const rest = untold.reduce<Told>(
    (said, { text, stream }) =>
      and(said, (state) => tellText(state, { call: id, shell, text, stream })),
    told(before),
  );
  return and(rest, (state) => forgetCall(state, { id, shell }));
}

/** Nothing more is told of a call but that this was all. */
function forgetCall(
  state: FramesState,
  { id, shell }: { readonly id: string; readonly shell: string | null },
): Told {
  const shellCalls = new Map(state.shellCalls);
  shellCalls.delete(id);
  const seenShells = new Map(state.seenShells);
  if (shell !== null) seenShells.delete(shell);
  return and(
    sayText(state, { call: id, shell, text: "" }),
    (state) => told({ ...state, shellCalls, seenShells }),
  );
}

/** Tells of the shells that can only be those of a certain call. */
function tellCalled(state: FramesState): Told {
  return [...state.seenShells].filter(([, { called }]) => !called).reduce<Told>(
    (said, [shell]) =>
      and(said, (state) => {
        const id = onlyCallOf(state, shell);
        return id === undefined ? told(state) : assign(state, { id, shell });
      }),
    told(state),
  );
}

/** From now on it is known whose shell it is. */
function assign(
  state: FramesState,
  { id, shell }: { readonly id: string; readonly shell: string },
): Told {
  const seen = state.seenShells.get(shell);
  const call = state.shellCalls.get(id);
  if (call === undefined || seen === undefined || seen.called) return told(state);
  const known = withShell(
    withCall(state, id, { ...call, shell }),
    shell,
    { ...seen, called: true },
  );
  const followed = seen.over ? known : ordered(known, { type: "follow-shell", id: shell });
  return tellUntold(followed, shell);
}

/**
 * The call that a shell carries out, if there is no doubt. Claude Code tells the id of a shell in the background alone;
 * of others it is known what their process was given to carry out. Where two calls ask for the same, whose shell is
 * whose is seen only from what they return.
 */
function onlyCallOf(state: FramesState, id: string): string | undefined {
  const named = callOf(state, id);
  const seen = state.seenShells.get(id);
  if (named !== undefined || seen === undefined) return named;
  const { command, running, over } = seen;
  // The line of its own call may not have been written, and that of an earlier one not say yet that it has returned.
  if (command === undefined || !running || over) return undefined;
  const others = [...state.seenShells].filter(([other, { called }]) => !called && other !== id);
  const open = [...state.shellCalls].filter(([, { shell }]) => shell === undefined);
  const same = open.filter(([, call]) => call.command === command);
  // A hook of the project may have changed what is carried out.
  const fit = same.length === 0 ? open : same;
  const rivals = same.length === 0 ? others : others.filter(([, one]) => one.command === command);
  return fit.length === 1 && rivals.length === 0 ? fit[0]?.[0] : undefined;
}

/**
 * The shell of a call that is over, if that is known by now.
 *
 * @param written what it has written, as it returned it; absent for a call that was stopped, or never ran
 */
function shellFor(state: FramesState, id: string, written: string | undefined): string | undefined {
  const call = state.shellCalls.get(id);
  if (call === undefined || call.shell !== undefined) return call?.shell;
  const free = [...state.seenShells].filter(([, { called }]) => !called);
  const same = free.filter(([, { command }]) => command === call.command);
  if (written === undefined) {
    const calls = [...state.shellCalls.values()].filter(({ command, shell }) =>
      shell === undefined && command === call.command
    );
    return same.length === 1 && calls.length === 1 ? same[0]?.[0] : undefined;
  }
  const commands = new Set([...state.shellCalls.values()].map(({ command }) => command));
  const unknown = free.filter(([, { command }]) => command === undefined || !commands.has(command));
  const may = same.length === 0 ? unknown : same;
  const [fitting] = may.find(([, { untold }]) => isSameText(joined(untold), written)) ?? [];
  // Claude Code may have cut it, or added a remark.
  return fitting ?? (same.length === 1 ? same[0]?.[0] : undefined);
}

/** What Claude Code adds to the output of a shell in the background that has ended, at the end of a text. */
function remarkIn(text: string): string {
  return /\n\[(?:exited with code -?\d+|killed)\]\n$/u.exec(text)?.[0] ?? "";
}

function joined(texts: readonly ShellText[]): string {
  return texts.map(({ text }) => text).join("");
}

/** Whether two texts are the same but for space around them, as far as they go. */
function isSameText(untold: string, written: string): boolean {
  const [one, other] = [untold.trim(), written.trim()];
  const length = Math.min(one.length, other.length);
  return one.length === other.length || length >= COMPARED
    ? one.slice(0, length) === other.slice(0, length)
    : false;
}

/** The call to which a shell belongs. */
function callOf({ shellCalls }: FramesState, id: string): string | undefined {
  return [...shellCalls].find(([, { shell }]) => shell === id)?.[0];
}

function tellText(
  state: FramesState,
  piece: ToldPiece,
): Told {
  return piece.text === "" ? told(state) : sayText(state, piece);
}

/** A piece of what a call has written. */
interface ToldPiece {
  readonly call: string;
  readonly shell: string | null;
  readonly text: string;
  readonly stream?: ShellText["stream"] | undefined;
}

function sayText(
  state: FramesState,
  { call, shell, text, stream }: ToldPiece,
): Told {
  return say(state, (context) => [
    systemFrame("shell_output_delta", {
      tool_use_id: call,
      task_id: shell,
      stream: stream ?? "output",
      text,
    }, context),
  ]);
}

function withCall(state: FramesState, id: string, call: ShellCall): FramesState {
  return { ...state, shellCalls: new Map(state.shellCalls).set(id, call) };
}

function withShell(state: FramesState, id: string, shell: SeenShell): FramesState {
  return { ...state, seenShells: new Map(state.seenShells).set(id, shell) };
}

function ordered(state: FramesState, order: ShellOrder): FramesState {
  return { ...state, shellOrders: [...state.shellOrders, order] };
}
