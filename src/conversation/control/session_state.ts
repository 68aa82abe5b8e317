import { type AskingMemory, NOTHING_ASKED } from "./memory/asking_memory.ts";
import { type ChildMemory, UNHEARD_CHILD } from "./memory/child_memory.ts";
import { type EndMemory, NO_END } from "./memory/end_memory.ts";
import { type MessageMemory, noMessages } from "./memory/message_memory.ts";
import { NOTHING_REQUESTED, type RequestMemory } from "./memory/request_memory.ts";
import { nothingSpent, type SpendingMemory } from "./memory/spending_memory.ts";
import { JUST_STARTED, type StartMemory } from "./memory/start_memory.ts";
import { newTerminal, type TerminalMemory } from "./memory/terminal_memory.ts";
import { NO_TURN, type TurnMemory } from "./memory/turn_memory.ts";
import type { OpenPhase, Phase } from "./phase.ts";
import type { SessionOptions } from "./session_options.ts";

/** Everything a session remembers between two inputs: where it stands, and what it knows in every phase. */
export type SessionState = SessionMemory & Phase;

/** A session whose ending is not known yet. */
export type OpenSession = SessionMemory & OpenPhase;

/** A session whose prompt was pasted. */
export type PastedSession = Extract<OpenSession, { readonly phase: "pasted" }>;

/** What it remembers in every phase, each of something else. */
interface SessionMemory
  extends
    MessageMemory,
    RequestMemory,
    AskingMemory,
    StartMemory,
    TerminalMemory,
    ChildMemory,
    TurnMemory,
    SpendingMemory,
    EndMemory {
  readonly options: SessionOptions;
}

/** The session before its first input. */
export function startSession(options: SessionOptions): SessionState {
  const { version, size, requestsMade = 0 } = options;
  return {
    options,
    phase: "starting",
    ...noMessages(),
    ...NOTHING_REQUESTED,
    ...NOTHING_ASKED,
    ...JUST_STARTED,
    ...newTerminal(size),
    ...UNHEARD_CHILD,
    ...(version === undefined ? {} : { version }),
    ...NO_TURN,
    requests: requestsMade,
    ...nothingSpent(options),
    ...NO_END,
  };
}

/** Whether the turn under way, or the one just over, is the last of the conversation, and every request answered. */
export function isLast({ open, queue, sent, consulted, stops }: SessionState): boolean {
  return !open && queue.length + sent.length + stops.length + consulted.size === 0;
}
