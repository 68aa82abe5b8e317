import { end, ESCAPE, INTERRUPT_MS, KEPT_OUT } from "./end_session.ts";
import { refuseWithdrawn } from "../protocol/answering.ts";
import { isHook } from "../protocol/questions/told_calls.ts";
import type { Effect } from "./effect.ts";
import type { Message } from "./message.ts";
import type { SessionState } from "./session_state.ts";
import { act, andThen, deadline, stay, type Step, write } from "./step.ts";
import { overWhenIdle } from "./wait_times.ts";

/** The key that deletes what keeps prompts out of the input box. */
const BACKSPACE = "\x7f";
/**
 * How long a child that has drawn something since Escape was pressed may go on before it is pressed again. One too many
 * hits what the child has in its queue: it puts that into its input box, or stops it before it is written down
 * (2.1.330).
 */
const AGAIN_MS = 3000;
/** After so many Escapes the child is taken for one that takes none. */
const MAX_ESCAPES = 5;
/** For how many seconds a child that has been told to stop may draw nothing: it has not even read that. */
const MAX_UNREAD = 30;
/** For how many seconds it may not have taken what it may have lost, or not have made the first request of a turn. */
const MAX_UNTAKEN = 5;
/** The tool whose calls run to their end in `claude -p` 2.1.330 when an urgent message comes. */
const COMMAND_TOOL = "Bash";

/**
 * Stops the turn under way, or the one that comes next: `claude -p` has begun that of a message by the time it hears what
 * comes behind it (2.1.330), and a child may have yet to start.
 */
export function stopTurn(state: SessionState): Step {
  const { phase, waits, sent, queue } = state;
  switch (phase) {
    case "working":
    case "entered":
      // Tasks in the background are no turn: Escape would hit the next one.
      return waits ? stay(state) : abort(state);
    case "settling":
    case "aborting":
    case "interrupting":
      return stay(state);
    default:
      return stay(
        sent.length > 0
          ? { ...state, sent: withFirstStopped(sent) }
          : { ...state, queue: withFirstStopped(queue) },
      );
  }
}

/**
 * Stops the turn under way for an urgent message, but lets a running command end before that. `claude -p` 2.1.330 does not
 * kill the command either: the turn goes on until the command has ended, or its own timeout has put it into the background.
 * Everything else is stopped at once, as there: an answer, a subagent, a call of an MCP server, a question to the caller.
 * Of several calls the later ones must not begin.
 */
export function stopForUrgent(state: SessionState): Step {
  const [[id, tool] = [], ...others] = state.tools;
  const isCommand = state.phase === "working" && tool === COMMAND_TOOL && others.length === 0;
  return isCommand && !awaitsCaller(state) ? stay({ ...state, stopsAfter: id }) : stopTurn(state);
}

/** Stops the turn once the command has ended for which `stopForUrgent` waits, or the caller is asked something. */
export function stopWhenFree(before: Step): Step {
  const { state } = before;
  const { stopsAfter, phase, tools } = state;
  if (stopsAfter === undefined || phase !== "working") return before;
  return tools.has(stopsAfter) && !awaitsCaller(state) ? before : andThen(before, abort);
}

/** Whether a hook or a permission of the turn waits for the caller. */
function awaitsCaller({ asked, waiting }: SessionState): boolean {
  return waiting.some(isHook) || [...asked.values()].some(({ kind }) => kind !== "server");
}

function withFirstStopped<Kind extends Message>(messages: readonly Kind[]): readonly Kind[] {
  return messages.map((message, at) => at === 0 ? { ...message, stopped: true } : message);
}

/** The child is given what a turn is about, which may be to be stopped. */
export function abortIfStopped(state: SessionState): Step {
  return state.sent[0]?.stopped ? abort(state) : stay(state);
}

/**
 * Ends a turn under way as a person would, and nothing else: the conversation goes on, and the model knows what was
 * asked, as with `claude -p`.
 *
 * Escape is pressed once the transcript holds the prompt, for which it is waited a moment. Earlier it would stop nothing,
 * if the child has yet to take the prompt, or what the model is never told of. Where the child has something in its queue,
 * 2.1.330 goes on with that before a turn has ended that is stopped ahead of its first request: the line which says so
 * stands behind the next prompts, as if those were stopped. So Escape waits for that request too.
 */
function abort(state: SessionState): Step {
  const { phase } = state;
  if (phase !== "working" && phase !== "entered") return stay(state);
  const stopped = { ...state, phase: "aborting" } as const;
  return isStoppable(stopped) ? press(stopped) : act(stopped, [
    ...whileAborting(),
    {
      type: "trace",
      text: "stopped by the caller: its prompt or request is still to be written down",
    },
  ]);
}

/** The turn ends by itself, because of an answer that stops it; Escape is pressed if it does not. */
export function stopped(state: SessionState): Step {
  if (state.phase !== "working") return stay(state);
  return act({ ...state, phase: "aborting" }, [
    ...whileAborting(),
    { type: "trace", text: "stopped by the caller's answer" },
  ]);
}

/** The turn that is to be stopped has been told of for the first time, or is on record: it can be stopped from now on. */
export function onStoppable(state: SessionState): Step {
  if (state.phase !== "aborting" || state.escapes > 0) return stay(state);
  return isStoppable(state) ? press(state) : act(state, [deadline("interrupt", INTERRUPT_MS)]);
}

/** Whether the child has come to where it can be stopped as if nothing else were to follow, as far as lines tell. */
function isStoppable(state: SessionState): boolean {
  return isWritten(state) && (state.requested || state.sent.length === 0);
}

/** Whether the prompt is written down: after a Stop hook that has named tasks in the background, that of the next turn. */
export function isWritten({ recorded, unasked }: SessionState): boolean {
  return recorded && !unasked;
}

/** The turn that was to be stopped is complete, but for its tasks in the background: there is nothing left to stop. */
export function cancelStop(state: SessionState): Step {
  if (state.phase !== "aborting") return stay(state);
  const next = { ...state, phase: "working", escapes: 0, hasDrawn: false, stalls: 0 } as const;
  return act(next, [deadline("interrupt"), ...cleared(state)]);
}

/** The child draws: if that is for the first time since Escape was pressed, it has read that by now. */
export function onDrawn(state: SessionState): Step {
  const { phase, escapes, hasDrawn, status } = state;
  if (phase !== "aborting" || escapes === 0 || hasDrawn) return stay(state);
  const isIdle = status?.status === "idle";
  return act({ ...state, hasDrawn: true }, isIdle ? [] : [deadline("interrupt", AGAIN_MS)]);
}

/** The child is not idle yet, though it was to stop. */
export function stopAgain(state: SessionState): Step {
  const { escapes, hasDrawn, stalls } = state;
  if (isTaken(state)) {
    const isVain = hasDrawn ? escapes >= MAX_ESCAPES : escapes > 0 && stalls >= MAX_UNREAD;
    if (isVain) return end(state, { kind: "unstoppable" });
    const waits = isWritten(state) && !isStoppable(state) && stalls < MAX_UNTAKEN;
    // A hook that holds up the turn although Escape was read goes on with a veto.
    if (hasDrawn) return andThen(refuseWithdrawn(state), press);
    if (escapes === 0 && !waits) return press(state);
  }
  return act({ ...state, stalls: stalls + 1 }, [deadline("interrupt", INTERRUPT_MS)]);
}

/**
 * Whether the child is known to have taken what the turn is about: before that there is nothing to stop. A command has no
 * hook, and of a compaction no line before its end; it is given to a child that rests, which is busy with nothing else.
 */
export function isTaken(
  { prompted, recorded, woken, taken, sent, status, escapes }: SessionState,
): boolean {
  const [first] = sent;
  return prompted || recorded || woken || taken.length > 0 || escapes > 0 || first === undefined ||
    (first.command !== undefined && status?.status === "busy");
}

/**
 * Whether the turn that is to be stopped is over, of which no line tells. A child that has not come to where it can be
 * stopped may be busy, and its status not be read yet: on a busy machine that takes 2 s. Unless an Escape for the turn
 * before may have hit the prompt: what else the child has not taken has the limit of every prompt.
 */
export function isStopped(state: SessionState): boolean {
  const { status, escapes, shaken, stalls } = state;
  const isForgotten = shaken && stalls >= MAX_UNTAKEN;
  return status?.status === "idle" && (escapes > 0 || isStoppable(state) || isForgotten);
}

/** Empties the input box again, once the turn is over. */
export function cleared({ escapes }: SessionState): readonly Effect[] {
  return escapes === 0 ? [] : [write(BACKSPACE.repeat(escapes))];
}

/** What Escape is pressed behind tells by its drawing that both have been read. */
function press(state: SessionState): Step {
  return act({ ...state, escapes: state.escapes + 1, hasDrawn: false, stalls: 0 }, [
    write(`${KEPT_OUT}${ESCAPE}`),
    ...whileAborting(),
    { type: "trace", text: "stopped by the caller: Escape pressed" },
  ]);
}

function whileAborting(): readonly Effect[] {
  return [deadline("interrupt", INTERRUPT_MS), deadline("idle"), deadline("look")];
}

/**
 * Whether nothing is known to come of what the turn is about: an Escape that was meant for the turn before may have hit
 * it. A child that has it in its queue puts it into its input box then, and one that calls the hooks of its prompt
 * forgets it; either is idle from then on, and writes nothing down (2.1.330).
 */
export function isLost({ shaken, recorded, phase, status }: SessionState): boolean {
  return shaken && !recorded && (phase === "entered" || phase === "working") &&
    status?.status === "idle";
}

/** Bounds the wait for a sign of a turn that may be lost. */
export function untilLost(state: SessionState): Effect {
  return isLost(state) ? overWhenIdle() : deadline("idle");
}

/** Says what is lost to another child: nobody knows what this one has in its input box. */
export function sayAgain(state: SessionState): Step {
  const { sent, taken, changes = {} } = state;
  return end({ ...state, sent: [...taken, ...sent], taken: [] }, {
    kind: "renewed",
    changes,
    lost: true,
  });
}
