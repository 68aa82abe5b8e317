import { isTextOf, type Message, type Prompt } from "./message.ts";
import { isNotification } from "../../claude/transcript/task_notification.ts";
import type { SessionState } from "./session_state.ts";

/**
 * The session once a hook has told that its child takes a text that it was sent.
 *
 * @returns undefined for a text that the child was not sent, or has taken before
 */
export function take(state: SessionState, text: unknown): SessionState | undefined {
  const at = state.sent.findIndex((prompt) => isTextOf(prompt, text));
  return at < 0 ? undefined : takeUnwritten(state, at);
}

/**
 * The session in a turn: it is that of what was on its way, though nothing has said so. What is on its way when the model
 * is woken, or hears of the end of a task, waits in the child's queue.
 */
export function takeFirst<Session extends SessionState>(state: Session): Session {
  const { taken, sent, woken, noticed } = state;
  const isOthers = woken || noticed;
  return taken.length === 0 && sent.length > 0 && !isOthers ? takeUnwritten(state, 0) : state;
}

function takeUnwritten<Session extends SessionState>(state: Session, at: number): Session {
  return { ...taken(state, at), unwritten: [...state.unwritten, ...state.sent.slice(at, at + 1)] };
}

/** What the line of a prompt in the transcript tells. */
interface WrittenPrompt {
  readonly state: SessionState;
  /** The id that the caller gave it, if it gave one. */
  readonly uuid?: string | undefined;
  /** Whether the child has taken the prompt, and no hook has told so. */
  readonly isNews: boolean;
  /** Whether it is a prompt of an earlier turn. */
  readonly isLate: boolean;
}

/**
 * Takes the line of a prompt, or of a message that became a part of a turn. A command has another text there; whether
 * what came in by the child's stdin or its input box is still what it was, is looked at when the turn is over.
 */
export function takeLine(state: SessionState, text: string): WrittenPrompt {
  const known = placeOf(state.unwritten, text);
  const prompt = state.unwritten[known];
  if (prompt !== undefined) {
    return {
      state: { ...state, unwritten: state.unwritten.toSpliced(known, 1) },
      uuid: ownId(prompt),
      isNews: false,
      isLate: !state.taken.includes(prompt),
    };
  }
  const place = placeOf(state.sent, text);
  return place < 0 ? { state, isNews: false, isLate: false } : {
    state: taken(state, place),
    uuid: ownId(state.sent[place]),
    isNews: true,
    isLate: false,
  };
}

/** The id that the caller gave a message, where no other line has it. */
function ownId(prompt: Prompt | undefined): string | undefined {
  return prompt?.namesake ? undefined : prompt?.uuid;
}

/** The message that is on its way, or that the turn is about. */
export function currentPrompt({ sent, taken }: SessionState): Prompt | undefined {
  return sent[0] ?? taken[0];
}

/** What the last turn was about, or the one that never began. */
export function lastMessages({ sent, taken }: SessionState): readonly Prompt[] {
  return taken.length > 0 ? taken : sent;
}

/** What is still to be answered once the child is gone, and the turn under way, or the next one, has failed. */
export function untakenMessages(
  { ending, queue, sent, taken }: SessionState,
): readonly Message[] {
  const isBetween = ending?.kind === "closed" || ending?.kind === "renewed";
  return taken.length > 0 || isBetween ? [...sent, ...queue] : queue;
}

function placeOf(prompts: readonly Prompt[], text: string): number {
  const same = prompts.findIndex((prompt) => isTextOf(prompt, text));
  if (same >= 0) return same;
  const [first] = prompts;
  // What tells of the end of a task is nobody's text.
  const isOther = first !== undefined && !isNotification(text) &&
    (first.way !== "rendezvous" || first.command !== undefined);
  return isOther ? 0 : -1;
}

function taken<Session extends SessionState>(state: Session, at: number): Session {
  return {
    ...state,
    sent: state.sent.toSpliced(at, 1),
    taken: [...state.taken, ...state.sent.slice(at, at + 1)],
  };
}
