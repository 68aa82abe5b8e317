import type { ShownTerminal } from "../../driver/child_terminal.ts";
import {
  type OpenConversation,
  openConversation,
  type OpenOptions,
} from "../../library/open_conversation.ts";
import type { ContentBlock } from "../../claude/wire/message_frames.ts";
import { jsonLine } from "../../claude/wire/json_text.ts";
import {
  advanceState,
  type ConversationChange,
  type ConversationState,
  initialState,
} from "./conversation_state.ts";
import { EventLog, type EventLogLimits } from "./event_log.ts";
import type { ConversationProfile } from "../server_profiles.ts";
import { FullError, NoSpaceError, OccupiedError } from "../problems.ts";

/** The maximum number of messages of a conversation without a result. */
const MAX_UNANSWERED = 100;

interface ServerConversationOptions {
  readonly id: string;
  readonly profile: ConversationProfile;
  readonly open: OpenOptions;
  /** The file for its events. */
  readonly eventsPath: string;
  readonly eventLimits?: EventLogLimits | undefined;
  /** The folder of its cassette, if it is recorded. */
  readonly cassette?: string | undefined;
}

/** A conversation that the server keeps for its clients, with its state and all its frames. */
export class ServerConversation implements AsyncDisposable {
  readonly id: string;
  readonly profile: ConversationProfile;
  /** When the conversation was opened, in milliseconds since the epoch. */
  readonly openedAt = Date.now();
  /** The folder of the conversation's cassette, if it is recorded. */
  readonly cassette: string | undefined;
  /** The conversation's frames, one event for each. */
  readonly log: EventLog;
  readonly #conversation: OpenConversation;
  readonly #ended: Promise<void>;
  #state = initialState(this.openedAt);
  #terminal: ShownTerminal | undefined;
  readonly #watchers = new Set<(change: ConversationChange) => void>();
  #isTakenOver = false;

  constructor({ id, profile, open, eventsPath, eventLimits, cassette }: ServerConversationOptions) {
    this.id = id;
    this.profile = profile;
    this.cassette = cassette;
    this.log = new EventLog(eventsPath, eventLimits);
    this.#conversation = openConversation({
      ...open,
      onTerminal: (terminal) => this.#terminal = terminal,
      onReady: () => this.#apply({ kind: "ready" }),
      onWaiting: (about) => this.#apply({ kind: "dialog", about }),
    });
    this.#ended = this.#follow();
  }

  get state(): ConversationState {
    return this.#state;
  }

  /** The terminal of the last child, if there was one. */
  get terminal(): ShownTerminal | undefined {
    return this.#terminal;
  }

  /** Whether the conversation accepts no more messages. */
  get hasEnded(): boolean {
    return this.#state.end !== undefined;
  }

  /** Resolves when the conversation accepts no more messages. */
  get ended(): Promise<void> {
    return this.#ended;
  }

  /** Calls `watcher` with each change, after the state includes it, until disposed. */
  watch(watcher: (change: ConversationChange) => void): Disposable {
    this.#watchers.add(watcher);
    return { [Symbol.dispose]: () => void this.#watchers.delete(watcher) };
  }

  /** Whether a person types in the conversation's terminal. */
  get isTakenOver(): boolean {
    return this.#isTakenOver;
  }

  /**
   * Lets a person type in the terminal. Messages are refused until the result is disposed.
   *
   * @throws {OccupiedError} when a person already types in it
   */
  takeOver(): Disposable {
    if (this.#isTakenOver) {
      throw new OccupiedError(
        "Cannot take over the conversation: somebody types in it already",
        "Wait until it is handed back, or only watch",
      );
    }
    this.#isTakenOver = true;
    return { [Symbol.dispose]: () => this.#isTakenOver = false };
  }

  /**
   * Sends a message. With priority `now` it interrupts the running turn first, because the priority alone would wait
   * for a running command.
   *
   * @param options.uuid the caller's own id; a message with an id that was sent before is not sent again
   * @throws {NoSpaceError} when the disk has no room for events
   * @throws {OccupiedError} when a person types in the terminal
   * @throws {FullError} when too many messages have no result
   * @throws {CliError} when it cannot be sent
   */
  async send(
    content: string | readonly ContentBlock[],
    { uuid, priority }: { readonly uuid: string; readonly priority: "now" | "later" },
  ): Promise<void> {
    const { problem } = this.log;
    if (problem !== undefined) throw new NoSpaceError(problem);
    if (this.#isTakenOver) {
      throw new OccupiedError(
        "Cannot send the message: somebody types in the conversation",
        "Send it once the conversation is handed back",
      );
    }
    if (this.#state.unanswered >= MAX_UNANSWERED) {
      throw new FullError(
        `Cannot send the message: ${MAX_UNANSWERED} wait to be answered already`,
        "Send it when one of them is answered",
      );
    }
    if (priority === "now" && this.#state.unanswered > 0) await this.interrupt();
    const { result } = this.#conversation.send(content, { uuid, priority });
    this.#apply({ kind: "sent" });
    // Deferred until the frames of the turn are applied. Otherwise the conversation would be idle for a moment.
    const settled = () => void setTimeout(() => this.#apply({ kind: "settled" }));
    result.then(settled, settled);
    // An invalid message is rejected immediately. Any later result is in the frames.
    await Promise.race([result, Promise.resolve()]);
  }

  /** Stops the running turn. */
  async interrupt(): Promise<void> {
    await this.#conversation.interrupt();
  }

  /**
   * Answers a question.
   *
   * @returns false when the question is not open
   */
  answer(requestId: string, response: unknown): boolean {
    if (!this.#state.questions.some((each) => each.requestId === requestId)) return false;
    this.#conversation.answer({ id: requestId, response });
    this.#apply({ kind: "answered", requestId });
    return true;
  }

  /** Ends the conversation when all messages have their results. */
  async close(): Promise<void> {
    await this.#conversation.close().catch(() => {});
    await this.#ended;
  }

  /** Ends the conversation immediately, and removes its events and its cassette. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#conversation[Symbol.asyncDispose]();
    await this.#ended;
    this.log[Symbol.dispose]();
    if (this.cassette !== undefined) {
      await Deno.remove(this.cassette, { recursive: true }).catch(() => {});
    }
  }

  async #follow(): Promise<void> {
    try {
      for await (const frame of this.#conversation) {
        this.log.append(jsonLine(frame));
        this.#apply({ kind: "frame", frame });
      }
      const { exitCode } = await this.#conversation.close();
      this.#apply({ kind: "ended", exitCode });
    } catch (error) {
      this.#apply({ kind: "failed", error });
    }
    this.log.end();
  }

  #apply(change: ConversationChange): void {
    this.#state = advanceState(this.#state, { at: Date.now(), ...change });
    for (const watcher of this.#watchers) watcher(change);
  }
}
