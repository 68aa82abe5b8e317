import type {
  AssistantEntry,
  ContentBlock,
  Entry,
  UserEntry,
} from "../../../claude/transcript/entry.ts";
import { isJsonObject } from "../../../json_object.ts";
import {
  parseTaskNotification,
  readQueuedNotification,
} from "../../../claude/transcript/task_notification.ts";
import { systemFrame } from "../frames/frame_context.ts";
import type {
  OutputState,
  OutputStep,
  SeenShell,
  ShellCall,
  ShellOrder,
  ShellText,
} from "../output_state.ts";
import { emitAfterInit } from "../emit_frames.ts";

/** The number of characters (UTF-16 units) that are compared if Claude Code may have cut one of two texts. */
const COMPARED = 20_000;

/** Records the Bash calls of a line. From then on, the output of their shells is emitted. */
export function recordShellCalls(step: OutputStep, { message }: AssistantEntry): void {
  const { options, shellCalls } = step.state;
  if (options.shellOutput === undefined) return;
  const called = message.content.flatMap(({ type, id, name, input }) =>
    type === "tool_use" && name === "Bash" && typeof id === "string" && isJsonObject(input) &&
      typeof input.command === "string"
      ? [[id, { command: input.command }] as const]
      : []
  );
  if (called.length === 0) return;
  step.update({ shellCalls: new Map([...shellCalls, ...called]) });
  assignCertainShells(step);
}

/** Receives that a shell runs or has run. */
export function receiveShell(
  step: OutputStep,
  { id, command, running }: {
    readonly id: string;
    readonly command?: string;
    readonly running: boolean;
  },
): void {
  if (step.state.seenShells.has(id)) return;
  const known = command === undefined ? {} : { command };
  updateShell(step, id, { ...known, running, called: false, unemitted: [], over: false });
  assignCertainShells(step);
}

/** Receives output of a shell, and emits it if the shell's call is known. */
export function receiveShellOutput(
  step: OutputStep,
  { id, ...written }: { readonly id: string } & ShellText,
): void {
  const shell = step.state.seenShells.get(id);
  if (shell === undefined) return;
  const { text, stream } = written;
  const last = shell.unemitted.at(-1);
  const unemitted = last !== undefined && last.stream === stream
    ? [...shell.unemitted.slice(0, -1), { ...last, text: last.text + text }]
    : [...shell.unemitted, { text, ...(stream === undefined ? {} : { stream }) }];
  updateShell(step, id, { ...shell, unemitted });
  emitPendingOutput(step, id);
}

/**
 * Emits the pending output of a shell whose call is known. A text that may be Claude Code's message about a background
 * shell stays pending until the shell is known to be in the foreground. On a busy machine, a background shell may end
 * before Claude Code reports that it runs in the background.
 */
function emitPendingOutput(step: OutputStep, shell: string): void {
  const call = callOf(step.state, shell);
  const seen = step.state.seenShells.get(shell);
  if (call === undefined || seen === undefined) return;
  const remark = remarkIn(seen.unemitted.at(-1)?.text ?? "");
  const unemitted = remark === "" ? [] : [{ ...seen.unemitted.at(-1), text: remark }];
  updateShell(step, shell, { ...seen, unemitted });
  for (const [index, { text, stream }] of seen.unemitted.entries()) {
    const isLast = index === seen.unemitted.length - 1;
    const shown = isLast ? text.slice(0, text.length - remark.length) : text;
    emitOutput(step, { call, shell, text: shown, stream });
  }
}

/** Receives that all output of a shell is known. `cut` is set if the shell has written more than is emitted. */
export function receiveShellEnd(
  step: OutputStep,
  { id, cut }: { readonly id: string; readonly cut?: true },
): void {
  const shell = step.state.seenShells.get(id);
  if (shell !== undefined) updateShell(step, id, { ...shell, over: true });
  if (cut !== undefined) {
    order(step, { type: "trace", text: `shell ${id} has written more than is told` });
  }
  const call = callOf(step.state, id);
  if (call !== undefined && step.state.shellCalls.get(call)?.returned === true) endCall(step, call);
}

/**
 * Ends the calls that have returned according to a line, or whose background shells have ended. The output of a shell
 * comes before the line with its call's result.
 */
export function endReturnedShellCalls(step: OutputStep, entry: Entry): void {
  if (step.state.shellCalls.size === 0) return;
  const ended = endedTask(entry);
  if (ended !== undefined) {
    const call = callOf(step.state, ended);
    if (call !== undefined) leave(step, { id: call, shell: ended });
    return;
  }
  if (entry.type !== "user" || typeof entry.message.content === "string") return;
  for (const block of entry.message.content) endReturnedCall(step, { entry, block });
}

/** Ends all calls. None of their output is received any more. */
export function endAllShellCalls(step: OutputStep): void {
  const ids = [...step.state.shellCalls.keys()];
  for (const id of ids) {
    const shell = shellFor(step.state, id, undefined);
    if (shell !== undefined) assign(step, { id, shell });
  }
  for (const id of ids) endCall(step, id);
}

function endReturnedCall(
  step: OutputStep,
  { entry, block }: { readonly entry: UserEntry; readonly block: ContentBlock },
): void {
  const id = block.type === "tool_result" ? block.tool_use_id : undefined;
  const call = typeof id === "string" ? step.state.shellCalls.get(id) : undefined;
  const outcome = entry.toolUseResult;
  if (typeof id !== "string" || call === undefined) {
    endStoppedShell(step, outcome);
    return;
  }
  const task = isJsonObject(outcome) ? outcome.backgroundTaskId : undefined;
  if (typeof task === "string") {
    updateCall(step, id, { ...call, background: true, shell: task });
    order(step, { type: "follow-shell", id: task });
    assignCertainShells(step);
    return;
  }
  const written = writtenBy(outcome);
  const shell = shellFor(step.state, id, written);
  if (shell !== undefined) {
    assign(step, { id, shell });
    leave(step, { id, shell });
    return;
  }
  // The shell ended before it could be observed: its only known output is in the result of the call.
  if (written !== undefined) emitOutput(step, { call: id, shell: null, text: written });
  endCall(step, id);
}

/** Ends the call of a background shell that another tool has stopped, according to the result of that tool. */
function endStoppedShell(step: OutputStep, outcome: unknown): void {
  const task = isJsonObject(outcome) && outcome.task_type === "local_bash"
    ? outcome.task_id
    : undefined;
  const call = typeof task === "string" ? callOf(step.state, task) : undefined;
  if (typeof task === "string" && call !== undefined) leave(step, { id: call, shell: task });
}

/** The output in the result of a call: trimmed, and cut if it is long. Undefined if the call ran no shell. */
function writtenBy(outcome: unknown): string | undefined {
  if (typeof outcome === "string") {
    return /^Error: Exit code \d+(?:\n|$)/u.test(outcome)
      ? outcome.slice(outcome.indexOf("\n") + 1 || outcome.length)
      : undefined;
  }
  return isJsonObject(outcome) && typeof outcome.stdout === "string" ? outcome.stdout : undefined;
}

/** The background task whose end a line reports. */
function endedTask(entry: Entry): string | undefined {
  if (entry.type === "other") return readQueuedNotification(entry.line)?.taskId;
  return entry.type === "user" ? parseTaskNotification(entry.message.content)?.taskId : undefined;
}

/** Ends a call that has returned, once all output of its shell is known. */
function leave(
  step: OutputStep,
  { id, shell }: { readonly id: string; readonly shell: string },
): void {
  const call = step.state.shellCalls.get(id);
  if (call === undefined || call.returned) return;
  order(step, { type: "leave-shell", id: shell });
  if (step.state.seenShells.get(shell)?.over === true) endCall(step, id);
  else updateCall(step, id, { ...call, returned: true });
}

/** Emits the rest of a call's output, and an empty delta that marks its end. Then forgets the call. */
function endCall(step: OutputStep, id: string): void {
  const { shellCalls, seenShells } = step.state;
  const { shell = null, background } = shellCalls.get(id) ?? {};
  const { unemitted = [] } = background ? {} : seenShells.get(shell ?? "") ?? {};
  for (const { text, stream } of unemitted) emitOutput(step, { call: id, shell, text, stream });
  emitDelta(step, { call: id, shell, text: "" });
  const otherCalls = new Map(shellCalls);
  otherCalls.delete(id);
  const otherShells = new Map(seenShells);
  if (shell !== null) otherShells.delete(shell);
  step.update({ shellCalls: otherCalls, seenShells: otherShells });
}

/** Assigns each shell that only one call can have started, and emits its pending output. */
function assignCertainShells(step: OutputStep): void {
  const unassigned = [...step.state.seenShells].filter(([, { called }]) => !called);
  for (const [shell] of unassigned) {
    const id = onlyCallOf(step.state, shell);
    if (id !== undefined) assign(step, { id, shell });
  }
}

/** Records that a shell runs the command of a call, and emits its pending output. */
function assign(
  step: OutputStep,
  { id, shell }: { readonly id: string; readonly shell: string },
): void {
  const seen = step.state.seenShells.get(shell);
  const call = step.state.shellCalls.get(id);
  if (call === undefined || seen === undefined || seen.called) return;
  updateCall(step, id, { ...call, shell });
  updateShell(step, shell, { ...seen, called: true });
  if (!seen.over) order(step, { type: "follow-shell", id: shell });
  emitPendingOutput(step, shell);
}

/**
 * The call whose command a shell runs, if only one call is possible. Claude Code names only the ids of background
 * shells. Of other shells, the command of the process is known. If two calls have the same command, only their results
 * show which shell belongs to which call.
 */
function onlyCallOf(state: OutputState, id: string): string | undefined {
  const named = callOf(state, id);
  const seen = state.seenShells.get(id);
  if (named !== undefined || seen === undefined) return named;
  const { command, running, over } = seen;
  // The line of the shell's own call may not have been read yet, nor the result of an earlier call.
  if (command === undefined || !running || over) return undefined;
  const others = [...state.seenShells].filter(([other, { called }]) => !called && other !== id);
  const open = [...state.shellCalls].filter(([, { shell }]) => shell === undefined);
  const same = open.filter(([, call]) => call.command === command);
  // A hook of the project may have changed the command.
  const fit = same.length === 0 ? open : same;
  const rivals = same.length === 0 ? others : others.filter(([, one]) => one.command === command);
  return fit.length === 1 && rivals.length === 0 ? fit[0]?.[0] : undefined;
}

/**
 * The shell of a call that has returned, if it is known by now.
 *
 * @param written the output that the call returned; undefined for a call that was stopped or never ran
 */
function shellFor(state: OutputState, id: string, written: string | undefined): string | undefined {
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
  const [fitting] = may.find(([, { unemitted }]) => isSameText(joined(unemitted), written)) ?? [];
  // Claude Code may have cut the output, or added a message.
  return fitting ?? (same.length === 1 ? same[0]?.[0] : undefined);
}

/** The message that Claude Code adds to the output of a background shell when the shell ends. */
function remarkIn(text: string): string {
  return /\n\[(?:exited with code -?\d+|killed)\]\n$/u.exec(text)?.[0] ?? "";
}

function joined(texts: readonly ShellText[]): string {
  return texts.map(({ text }) => text).join("");
}

/**
 * Whether two texts are equal apart from white space around them. If a text may be cut, only its beginning is compared.
 */
function isSameText(unemitted: string, written: string): boolean {
  const [one, other] = [unemitted.trim(), written.trim()];
  const length = Math.min(one.length, other.length);
  return one.length === other.length || length >= COMPARED
    ? one.slice(0, length) === other.slice(0, length)
    : false;
}

/** The call of a shell. */
function callOf({ shellCalls }: OutputState, id: string): string | undefined {
  return [...shellCalls].find(([, { shell }]) => shell === id)?.[0];
}

/** Output of a call. */
interface CallOutput {
  readonly call: string;
  readonly shell: string | null;
  readonly text: string;
  readonly stream?: ShellText["stream"] | undefined;
}

function emitOutput(step: OutputStep, output: CallOutput): void {
  if (output.text !== "") emitDelta(step, output);
}

function emitDelta(step: OutputStep, { call, shell, text, stream }: CallOutput): void {
  emitAfterInit(step, (context) => [
    systemFrame("shell_output_delta", {
      tool_use_id: call,
      task_id: shell,
      stream: stream ?? "output",
      text,
    }, context),
  ]);
}

function updateCall(step: OutputStep, id: string, call: ShellCall): void {
  step.update({ shellCalls: new Map(step.state.shellCalls).set(id, call) });
}

function updateShell(step: OutputStep, id: string, shell: SeenShell): void {
  step.update({ seenShells: new Map(step.state.seenShells).set(id, shell) });
}

function order(step: OutputStep, order: ShellOrder): void {
  step.update({ shellOrders: [...step.state.shellOrders, order] });
}
