import type { ControlStep } from "./control_step.ts";
import { isTextOf, type Message, type Prompt } from "./message.ts";
import { isNotification } from "../../claude/transcript/task_notification.ts";
import type { SessionState } from "./session_state.ts";

/** Whether a text was delivered to the child, and the child is not known to have taken it. */
export function isSent({ sent }: SessionState, text: unknown): boolean {
  return sameAs(sent, text) >= 0;
}

/** Moves a text that a hook names from the sent to the taken prompts, if it was sent. */
export function takeSent(step: ControlStep, text: unknown): void {
  const place = sameAs(step.state.sent, text);
  if (place >= 0) takeUnwritten(step, place);
}

/**
 * Makes the first sent prompt the turn's own, although no hook has named it. In the turn of a wake-up, or of a task's
 * end, a sent prompt waits in the child's queue.
 */
export function takeFirst(step: ControlStep): void {
  const { taken, sent, isWakeup, isTaskNotice } = step.state;
  if (taken.length === 0 && sent.length > 0 && !isWakeup && !isTaskNotice) takeUnwritten(step, 0);
}

function takeUnwritten(step: ControlStep, place: number): void {
  const { unwritten, sent } = step.state;
  step.update({
    ...taken(step.state, place),
    unwritten: [...unwritten, ...sent.slice(place, place + 1)],
  });
}

/** The facts in the transcript's line of a prompt. */
export interface WrittenPrompt {
  /** Whether the line belongs to a prompt that was delivered to the child. */
  readonly isFound: boolean;
  /** The changes of the line to the session. */
  readonly changes: Partial<SessionState>;
  /** The id that the caller gave the prompt, if any. */
  readonly uuid?: string | undefined;
  /** Whether the child has taken the prompt without a report of a hook. */
  readonly isUnannounced: boolean;
  /** Whether the prompt belongs to an earlier turn. */
  readonly isLate: boolean;
}

/**
 * Finds the prompt of a line, or the message that joined a turn with this line. A command has another text in its line.
 * Whether a prompt from the child's stdin or input box kept its text is checked when the turn has ended.
 */
export function findWrittenPrompt(state: SessionState, text: string): WrittenPrompt {
  // The line of a sent prompt does not belong to an earlier command, which may never have a line.
  const known = isSent(state, text)
    ? sameAs(state.unwritten, text)
    : placeOf(state.unwritten, text);
  const prompt = state.unwritten[known];
  if (prompt !== undefined) {
    return {
      isFound: true,
      changes: { unwritten: state.unwritten.toSpliced(known, 1) },
      uuid: ownId(prompt),
      isUnannounced: false,
      isLate: !state.taken.includes(prompt),
    };
  }
  const place = placeOf(state.sent, text);
  if (place < 0) return { isFound: false, changes: {}, isUnannounced: false, isLate: false };
  return {
    isFound: true,
    changes: taken(state, place),
    uuid: ownId(state.sent[place]),
    isUnannounced: true,
    isLate: false,
  };
}

/** The id that the caller gave a message, if no other line has it. */
function ownId(prompt: Prompt | undefined): string | undefined {
  return prompt?.namesake ? undefined : prompt?.uuid;
}

/** The first prompt that was sent and not taken; otherwise the first that the turn has taken. */
export function currentPrompt({ sent, taken }: SessionState): Prompt | undefined {
  return sent[0] ?? taken[0];
}

/** The prompts of the last turn, or of a turn that never began. */
export function lastMessages({ sent, taken }: SessionState): readonly Prompt[] {
  return taken.length > 0 ? taken : sent;
}

/** The messages without an answer at the end of the child. Its current turn, or the next one, has failed. */
export function untakenMessages(
  { ending, queue, sent, taken }: SessionState,
): readonly Message[] {
  const isBetween = ending?.kind === "closed" || ending?.kind === "renewed";
  return taken.length > 0 || isBetween ? [...sent, ...queue] : queue;
}

function sameAs(prompts: readonly Prompt[], text: unknown): number {
  return prompts.findIndex((prompt) => isTextOf(prompt, text));
}

function placeOf(prompts: readonly Prompt[], text: string): number {
  const same = sameAs(prompts, text);
  if (same >= 0) return same;
  const [first] = prompts;
  // The notice of a task's end is no prompt of the caller.
  const mayDiffer = first !== undefined && !isNotification(text) &&
    (first.way !== "rendezvous" || first.command !== undefined);
  return mayDiffer ? 0 : -1;
}

function taken(state: SessionState, place: number): Pick<SessionState, "sent" | "taken"> {
  return {
    sent: state.sent.toSpliced(place, 1),
    taken: [...state.taken, ...state.sent.slice(place, place + 1)],
  };
}
