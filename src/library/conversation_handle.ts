import type { ContentBlock } from "../claude/wire/message_frames.ts";
import type { Frame } from "../claude/wire/frame.ts";
import type { RunOptions, RunResult } from "./run_handle.ts";

/** What a conversation can be told beside its messages. */
export interface ConverseOptions extends RunOptions {
  /**
   * Whether Claude Code is started at once and waits for the first message, whose turn then takes as long as any later
   * one. Where something that it has read at its start is another by then (its settings, instructions or MCP servers, who
   * is logged in, the state of the git repository, the date), a new one takes the message.
   */
  readonly warm?: boolean;
}

/** What became of a turn, and with it of each message that it answered. */
export type TurnResult = RunResult;

/** What a message can be given beside its content. */
export interface MessageOptions {
  /**
   * An id of your own, which the message has in the session too: frames of type `command_lifecycle` tell how far it is. One
   * that was sent before is not sent again, and has the result that it has, as long as it is among the last 1000 that were
   * sent with an id; one that the session has from an earlier run, or that was sent longer ago, is refused.
   */
  readonly uuid?: string;
  /**
   * When it is Claude's business: `now` ends the turn under way, `next` may become a part of it, which is so by default,
   * and `later` waits until it is over; several that wait make one turn.
   */
  readonly priority?: "now" | "next" | "later";
}

/** A message on its way. */
export interface SentMessage {
  /**
   * The result of the turn that answers it; messages that are answered together have the same one.
   *
   * Failures of Claude Code, of the API and of this library are results, and after them the conversation goes on. It
   * rejects only when there is no turn for the message: with a {@linkcode RunError} that says what to do, or with the
   * reason of `signal`.
   */
  readonly result: Promise<TurnResult>;
}

/** How a conversation ended. */
export interface ConversationEnd {
  /** What the program would exit with, which is the exit code of the last turn. */
  readonly exitCode: number;
  /** What no result has told: a sentence each. */
  readonly warnings: readonly string[];
}

/**
 * A conversation of as many turns as you like, in one session.
 *
 * Iterating over it gives the frames that `--output-format stream-json` prints, of all turns, as they happen; those that
 * nobody has asked for yet wait. Each frame is given once, however many iterate. Leaving the loop leaves the
 * conversation as it is: another loop goes on where the first has stopped.
 *
 * It keeps your program from ending until it is closed, or the scope of `await using` ends.
 */
export interface Conversation extends AsyncIterable<Frame>, AsyncDisposable {
  /**
   * Sends a message, whether or not a turn is under way.
   *
   * @param content the text, or blocks of text, which reach the model as they are or not at all
   */
  readonly send: (
    content: string | readonly ContentBlock[],
    options?: MessageOptions,
  ) => SentMessage;
  /**
   * Stops the turn under way as a person does, by Escape: its result has the subtype `error_during_execution`, and the
   * conversation goes on. What has not begun yet is not stopped.
   *
   * It resolves when the turn has been told to end, or there is none.
   */
  readonly interrupt: () => Promise<void>;
  /**
   * Sends nothing more: what has been sent is answered, then Claude Code ends. It resolves when nothing of it is left, and
   * rejects as {@linkcode SentMessage.result} does when the conversation has failed.
   */
  readonly close: () => Promise<ConversationEnd>;
  /** The frames, each of them once. */
  [Symbol.asyncIterator](): AsyncIterator<Frame, undefined>;
  /** Ends Claude Code, whatever it does, and resolves when nothing of it is left. */
  [Symbol.asyncDispose](): Promise<void>;
}
