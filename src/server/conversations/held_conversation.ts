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
  type ConversationNews,
  type KnownConversation,
  openedState,
} from "./conversation_state.ts";
import { EventLog, type EventLogLimits } from "./event_log.ts";
import type { Profile } from "../profiles.ts";
import { BusyError, NoSpaceError } from "../problems.ts";

/** Most messages that wait for their results. */
const MOST_WAITING = 100;

/** How a conversation is held. */
export interface HeldOptions {
  readonly id: string;
  readonly profile: Profile;
  /** What it is opened with. */
  readonly open: OpenOptions;
  /** Where its events are kept. */
  readonly eventsPath: string;
  readonly eventLimits?: EventLogLimits | undefined;
  /** The folder of its cassette, if it is recorded. */
  readonly cassette?: string | undefined;
}

/** A conversation that is held for other programs, with all that has been said in it. */
export class HeldConversation implements AsyncDisposable {
  readonly id: string;
  readonly profile: Profile;
  /** When it was opened, in milliseconds since the epoch. */
  readonly openedAt = Date.now();
  /** The folder of its cassette, if it is recorded. */
  readonly cassette: string | undefined;
  /** Its frames, one an event. */
  readonly log: EventLog;
  readonly #conversation: OpenConversation;
  readonly #over: Promise<void>;
  #state = openedState(this.openedAt);
  #terminal: ShownTerminal | undefined;
  readonly #watchers = new Set<(news: ConversationNews) => void>();
  #isTakenOver = false;

  constructor({ id, profile, open, eventsPath, eventLimits, cassette }: HeldOptions) {
    this.id = id;
    this.profile = profile;
    this.cassette = cassette;
    this.log = new EventLog(eventsPath, eventLimits);
    this.#conversation = openConversation({
      ...open,
      onTerminal: (terminal) => this.#terminal = terminal,
      onReady: () => this.#note({ kind: "ready" }),
      onWaiting: (about) => this.#note({ kind: "dialog", about }),
    });
    this.#over = this.#follow();
  }

  /** What is known of it. */
  get state(): KnownConversation {
    return this.#state;
  }

  /** What can be seen of the terminal of the last Claude Code, if there was one. */
  get terminal(): ShownTerminal | undefined {
    return this.#terminal;
  }

  /** Whether nothing can be said any more. */
  get isOver(): boolean {
    return this.#state.end !== undefined;
  }

  /** Resolves when nothing can be said any more. */
  get over(): Promise<void> {
    return this.#over;
  }

  /** Tells of whatever happens, once it is a part of what is known, until it is disposed. */
  watch(watcher: (news: ConversationNews) => void): Disposable {
    this.#watchers.add(watcher);
    return { [Symbol.dispose]: () => void this.#watchers.delete(watcher) };
  }

  /** Whether a person types in it. */
  get isTakenOver(): boolean {
    return this.#isTakenOver;
  }

  /**
   * Lets a person type in its terminal, and nobody send messages, until it is disposed.
   *
   * @throws {BusyError} when somebody does already
   */
  takeOver(): Disposable {
    if (this.#isTakenOver) {
      throw new BusyError(
        "Cannot take over the conversation: somebody types in it already",
        "Wait until it is handed back, or only watch",
      );
    }
    this.#isTakenOver = true;
    return { [Symbol.dispose]: () => this.#isTakenOver = false };
  }

  /**
   * Sends a message. One for now stops the turn under way, a running command included, which its priority alone lets end.
   *
   * @param options.uuid an id of the caller's own; one that was sent before is not sent again
   * @throws {CliError} when it cannot be sent, or when there is no room for what comes of it
   */
  async send(
    content: string | readonly ContentBlock[],
    { uuid, priority }: { readonly uuid: string; readonly priority: "now" | "later" },
  ): Promise<void> {
    const { problem } = this.log;
    if (problem !== undefined) throw new NoSpaceError(problem);
    if (this.#isTakenOver) {
      throw new BusyError(
        "Cannot send the message: somebody types in the conversation",
        "Send it once the conversation is handed back",
      );
    }
    if (this.#state.unanswered >= MOST_WAITING) {
      throw new BusyError(
        `Cannot send the message: ${MOST_WAITING} wait to be answered already`,
        "Send it when one of them is answered",
      );
    }
    if (priority === "now" && this.#state.unanswered > 0) await this.interrupt();
    const { result } = this.#conversation.send(content, { uuid, priority });
    this.#note({ kind: "sent" });
    // The frames of its turn, which were given before, are known first: else it would seem to be idle in between.
    const settled = () => void setTimeout(() => this.#note({ kind: "settled" }));
    result.then(settled, settled);
    // What is wrong with a message is known at once, and what comes of it is told by frames.
    await Promise.race([result, Promise.resolve()]);
  }

  /** Stops the turn under way. */
  async interrupt(): Promise<void> {
    await this.#conversation.interrupt();
  }

  /**
   * Answers what is asked.
   *
   * @returns false if nobody asks that (any more)
   */
  answer(requestId: string, response: unknown): boolean {
    if (!this.#state.questions.some((each) => each.requestId === requestId)) return false;
    this.#conversation.answer({ id: requestId, response });
    this.#note({ kind: "answered", requestId });
    return true;
  }

  /** Lets what was sent be answered, then ends it. */
  async close(): Promise<void> {
    await this.#conversation.close().catch(() => {});
    await this.#over;
  }

  /** Ends it, whatever it does, and forgets what was said. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#conversation[Symbol.asyncDispose]();
    await this.#over;
    this.log[Symbol.dispose]();
    if (this.cassette !== undefined) {
      await Deno.remove(this.cassette, { recursive: true }).catch(() => {});
    }
  }

  async #follow(): Promise<void> {
    try {
      for await (const frame of this.#conversation) {
        this.log.append(jsonLine(frame));
        this.#note({ kind: "frame", frame });
      }
      const { exitCode } = await this.#conversation.close();
      this.#note({ kind: "ended", exitCode });
    } catch (error) {
      this.#note({ kind: "failed", error });
    }
    this.log.end();
  }

  #note(news: ConversationNews): void {
    this.#state = advanceState(this.#state, { at: Date.now(), ...news });
    for (const watcher of this.#watchers) watcher(news);
  }
}
