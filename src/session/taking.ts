import type { Prompt } from "./message.ts";
import type { SessionState } from "./session_state.ts";

/**
 * The session once its child has taken a text that it was sent.
 *
 * @returns undefined for a text that the child was not sent, or has taken before
 */
export function take(state: SessionState, text: unknown): SessionState | undefined {
  return takeAt(state, state.sent.findIndex((prompt) => prompt.text === text));
}

/**
 * The same for the prompt's line in the transcript. A command has another text there; whether what came in by the child's
 * stdin or its input box is still what it was, is looked at when the turn is over.
 */
export function takeLine(state: SessionState, text: unknown): SessionState | undefined {
  const [first] = state.sent;
  const isFirst = first !== undefined && (first.way !== "rendezvous" || first.command !== undefined);
  return take(state, text) ?? (isFirst ? takeAt(state, 0) : undefined);
}

/** The message that is on its way, or that the turn is about. */
export function currentPrompt({ sent, taken }: SessionState): Prompt | undefined {
  return sent[0] ?? taken[0];
}

function takeAt(state: SessionState, at: number): SessionState | undefined {
  const prompt = state.sent[at];
  return prompt && {
    ...state,
    sent: state.sent.toSpliced(at, 1),
    taken: [...state.taken, prompt],
  };
}
