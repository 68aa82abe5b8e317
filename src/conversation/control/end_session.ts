import type { Effect, Ending } from "./effect.ts";
import { isOutputWritten } from "../protocol/structured_output.ts";
import { DEADLINE_NAMES } from "./input.ts";
import { hasOtherStopHooks } from "./follow_ups.ts";
import { isLast, type SessionState } from "./session_state.ts";
import { act, deadline, stay, type Step, write } from "./step.ts";

/**
 * How long the child may take after Escape to put down what it is at, and to write down what there is of it: measured
 * 0.2 s (2.1.330), and 0.7 s on a busy machine.
 */
export const INTERRUPT_MS = 1000;
/** The key with which a person stops a turn. */
export const ESCAPE = "\x1b";
/**
 * What stands in the input box meanwhile: into an empty one Claude Code puts a prompt back that is stopped before its
 * first words, and does not write down that it was: the model never hears of it.
 */
export const KEPT_OUT = ".";
/**
 * How long the child may take to go after SIGTERM when somebody waits for this program to stop. 2.1.330 takes up to
 * 1.6 s with tasks in the background; all that a SIGKILL loses then is the cost.
 */
const HURRIED_EXIT_MS = 1500;
/**
 * When a child that is still there gets SIGTERM again: on a busy machine 2.1.197 ignored the first one, once in some
 * 1,000 runs. It takes no notice of one more while it ends.
 */
const REMINDER_MS = 1000;
/**
 * How much longer the child may take that has not written down the turn it has answered: on a machine on which it hardly
 * runs it has taken more than 6 s, and what a SIGKILL loses then no later run of the session knows.
 */
const UNWRITTEN_MS = 30_000;
/** How long the child may take to go after SIGKILL. */
const KILLED_MS = 2000;
/** After so many signals the child is given up: it hangs in the kernel. */
const MAX_KILLS = 4;

/** Ends a turn under way as a person would, so that its text so far gets into the transcript, and that it was stopped. */
export function interrupt(state: SessionState, ending: Ending): Step {
  const underWay = state.phase === "working" && state.status?.status !== "idle";
  if (!underWay) return end(state, ending);
  return act({ ...state, phase: "interrupting", ending }, [
    { type: "note-tools" },
    ...clearedDeadlines(),
    write(isToldOf(ending) ? `${KEPT_OUT}${ESCAPE}` : ESCAPE),
    deadline("interrupt", INTERRUPT_MS),
    { type: "trace", text: `${ending.kind}: Escape pressed` },
  ]);
}

/**
 * Whether the model is told later that a turn was stopped which had said nothing yet: `claude -p` writes that down after
 * SIGINT (2.1.330), and after any other signal keeps the prompt alone.
 */
export function isToldOf(ending: Ending | undefined): boolean {
  return ending?.kind !== "interrupted" || ending.signal === "SIGINT";
}

/** Fixes the ending and tells the child to go. */
export function end(state: SessionState, ending: Ending): Step {
  const killed = killChild({ ...state, phase: "ending", ending }, "SIGTERM");
  return act(killed.state, [
    { type: "trace", text: `ending: ${ending.kind}` },
    ...clearedDeadlines(),
    ...killed.effects,
  ]);
}

/** The child's tools die with it unless the turn ended by itself: what `claude -p` leaves running stays too. */
export function killChild(state: SessionState, signal: "SIGTERM" | "SIGKILL"): Step {
  if (state.kills >= MAX_KILLS) {
    return finish(state);
  }
  const kind = state.ending?.kind;
  const unfinished = state.ending?.kind === "answered" && state.ending.unfinished !== undefined;
  const tree = signal === "SIGKILL" || unfinished ||
    (kind !== "answered" && kind !== "failed" && kind !== "max-turns" &&
      kind !== "output-tries" && kind !== "blocked" &&
      kind !== "closed" && kind !== "renewed");
  const kills = state.kills + 1;
  const { exitTimeoutMs } = state.options;
  const patience = kind === "interrupted"
    ? Math.min(exitTimeoutMs, HURRIED_EXIT_MS)
    : exitTimeoutMs;
  const killed: Effect = { type: "kill", signal, tree };
  if (signal === "SIGKILL") {
    // There is nothing more to remind it of.
    return act({ ...state, kills, exitLeftMs: -UNWRITTEN_MS }, [
      killed,
      deadline("exit", KILLED_MS),
    ]);
  }
  const waiting = awaitExit({ ...state, kills, exitLeftMs: patience });
  return act(waiting.state, [killed, ...waiting.effects]);
}

/** The child did not go in time: it is reminded, or killed. */
export function remind(state: SessionState): Step {
  if (leftMs(state) <= 0) return killChild(state, "SIGKILL");
  const waiting = awaitExit(state);
  return act(waiting.state, [
    { type: "trace", text: "still there: SIGTERM again" },
    { type: "kill", signal: "SIGTERM", tree: false },
    ...waiting.effects,
  ]);
}

function awaitExit(state: SessionState): Step {
  const afterMs = Math.min(REMINDER_MS, leftMs(state));
  return act({ ...state, exitLeftMs: state.exitLeftMs - afterMs }, [deadline("exit", afterMs)]);
}

/** How much longer the child may take to go, in milliseconds. */
function leftMs(state: SessionState): number {
  return state.exitLeftMs + (isKept(state) ? UNWRITTEN_MS : 0);
}

/** Nothing of what was awaited matters any more, but that the child ends. */
export function clearedDeadlines(): readonly Effect[] {
  return DEADLINE_NAMES.filter((name) => name !== "exit").map((name) => deadline(name));
}

/** The ending a hook has announced, if one is only waiting to be carried out. */
export function settledEnding({ stop, failure, limited }: SessionState): Ending | undefined {
  if (stop !== undefined) return { kind: "answered", stop };
  if (failure !== undefined) return { kind: "failed", failure };
  return limited === undefined ? undefined : { kind: limited };
}

/** How long a child that was told to go may be kept until its transcript holds the turn. */
const KEPT_MS = 1400;

/** The child is about to go: it is kept until its transcript holds the turn that its Stop hook has ended. */
export function onSessionEnd(state: SessionState, id: string): Step {
  return isKept(state)
    ? act({ ...state, endHook: id }, [deadline("record", KEPT_MS)])
    : act(state, [{ type: "answer", id }, ...whole(state)]);
}

/** Lets the child go that was kept, once there is no reason any more or it has been kept long enough. */
export function answerEndHook(state: SessionState, { inAnyCase = false } = {}): Step {
  const { endHook: id } = state;
  if (id === undefined || (isKept(state) && !inAnyCase)) return stay(state);
  return act({ ...state, endHook: undefined }, [
    deadline("record"),
    { type: "answer", id },
    ...(inAnyCase ? [] : whole(state)),
  ]);
}

/** Endings at which a child that is told to go has nothing more to do. */
const AT_REST: readonly Ending["kind"][] = [
  ...["answered", "failed", "max-turns", "budget", "output-tries", "blocked", "closed"] as const,
];

/** Claude Code calls the hooks of its end once its transcript is written (2.1.330). */
function whole(state: SessionState): readonly Effect[] {
  const { phase, ending } = state;
  if (phase !== "ending" || !AT_REST.includes(ending.kind) || !isLast(state)) return [];
  return ending.kind === "answered" && ending.unfinished !== undefined
    ? []
    : [{ type: "whole", ending }];
}

/** The prompt can follow the answer in the transcript: on a busy machine 2.1.197 wrote the first lines last. */
function isKept(state: SessionState): boolean {
  return state.phase === "ending" && state.ending.kind === "answered" &&
    !(state.recorded && isWritten(state, state.ending));
}

/** How long a transcript may lag behind its child's end: 0.15 s were seen after Stop, none after a clean exit. */
const REST_MS = 2000;

/** Ends once the transcript of a child that is gone holds the answer that its Stop hook announced. */
export function awaitRest(state: SessionState): Step {
  const { ending, exit } = state;
  if (ending === undefined || isWritten(state, ending)) return finish(state);
  return state.phase === "reading" && exit !== undefined
    ? act(state, [deadline("record", REST_MS)])
    : finish(state);
}

/** The end, with what there is. */
export function finish(state: SessionState): Step {
  const { ending, exit } = state;
  if (ending === undefined) return stay(state);
  const last: Effect = { type: "end", ending, ...(exit === undefined ? {} : { exit }) };
  return act({ ...state, phase: "ended" }, [last]);
}

/** Without a Stop there is nothing to wait for, and what was waited for in the background came long after the answer. */
function isWritten(state: SessionState, ending: Ending): boolean {
  if (ending.kind !== "answered" || ending.unfinished !== undefined) return true;
  if (!isOutputWritten(state)) return false;
  if (state.carriedOut) return true;
  const message = ending.stop["last_assistant_message"];
  return typeof message === "string" && message.trim() !== ""
    ? announces(message, state.answer)
    : state.answered || state.completed;
}

/** The ending that nothing can change any more, though the child is not idle yet. */
export function announced(state: SessionState): Ending | undefined {
  return state.phase === "settling" && !hasOtherStopHooks(state) ? settledEnding(state) : undefined;
}

/**
 * Whether the `last_assistant_message` of a hook's payload is a text of the transcript, or ends in it: an answer of
 * several blocks has a line for each, and Claude Code trims what it announces.
 */
export function announces(message: string, text: string): boolean {
  return text.trim() !== "" && message.trim().endsWith(text.trim());
}
