import type { ConversationNews } from "../conversations/conversation_state.ts";
import type { HeldConversation } from "../conversations/held_conversation.ts";
import type { Profile } from "../conversations/profile.ts";
import { BusyError } from "../conversations/refusals.ts";
import type { Registry } from "../conversations/registry.ts";
import { advanceMessages, type AgentMessage } from "./agent_messages.ts";

/** Whether the agent takes a message. */
export type AgentStatus = "running" | "stable";

/** Something that has changed, as it is now. */
export type AgentEvent =
  | { readonly type: "message_update"; readonly message: AgentMessage }
  | { readonly type: "status_change"; readonly status: AgentStatus };

/** Takes what changes; what it has not taken yet is told as it is once it does. */
interface Reader {
  readonly changed: Set<number>;
  /** The status that it knows. */
  status: AgentStatus | undefined;
  wake: () => void;
}

/**
 * The one conversation that clients of agentapi talk to. It is opened anew where it has ended, on the same session, and
 * its messages go on.
 */
export class AgentConversation implements Disposable {
  readonly #registry: Registry;
  readonly #profile: Profile;
  readonly #readers = new Set<Reader>();
  #held: HeldConversation;
  #watch: Disposable;
  #messages: readonly AgentMessage[] = [];
  #waiting: { readonly uuid: string; readonly taken: () => void } | undefined;

  private constructor(
    { registry, profile, held }: {
      readonly registry: Registry;
      readonly profile: Profile;
      readonly held: HeldConversation;
    },
  ) {
    this.#registry = registry;
    this.#profile = profile;
    this.#held = held;
    this.#watch = held.watch((news) => this.#note(news));
  }

  /** @throws {CliError} when it cannot be opened */
  static async open(registry: Registry, profile: Profile): Promise<AgentConversation> {
    const told = { ...profile, replay_user_messages: true };
    return new AgentConversation({ registry, profile: told, held: await registry.open(told) });
  }

  /** What the server holds for it now. */
  get held(): HeldConversation {
    return this.#held;
  }

  get messages(): readonly AgentMessage[] {
    return this.#messages;
  }

  get status(): AgentStatus {
    const { activity } = this.#held.state;
    // Over, it takes a message too: another one is opened then.
    return this.#held.isOver || activity.kind === "idle" ? "stable" : "running";
  }

  /**
   * Sends a message, and resolves when the agent has begun with it.
   *
   * @returns its id
   * @throws {CliError} when it is at something else, or the message cannot be sent
   */
  async send(content: string): Promise<string> {
    if (this.status !== "stable" || this.#waiting !== undefined) {
      throw new BusyError(
        "Cannot send the message: the agent is running",
        'Send it once GET /status says "stable"',
      );
    }
    const uuid = crypto.randomUUID();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting = { uuid, taken: resolve };
    try {
      if (this.#held.isOver) await this.#reopen();
      await this.#held.send(content, { uuid, priority: "later" });
      await promise;
    } finally {
      this.#waiting = undefined;
    }
    return uuid;
  }

  /** The messages and the status, and then what changes; a slow reader is told less often. */
  async *events(gone: AbortSignal): AsyncGenerator<AgentEvent> {
    let { promise, resolve } = Promise.withResolvers<void>();
    const reader: Reader = {
      changed: new Set(this.#messages.map(({ id }) => id)),
      status: undefined,
      wake: () => resolve(),
    };
    const wake = () => resolve();
    gone.addEventListener("abort", wake, { once: true });
    this.#readers.add(reader);
    try {
      while (!gone.aborted) {
        for (const id of reader.changed) {
          reader.changed.delete(id);
          const message = this.#messages[id];
          if (message !== undefined) yield { type: "message_update", message };
          if (gone.aborted) return;
        }
        const { status } = this;
        if (reader.status !== status) {
          reader.status = status;
          yield { type: "status_change", status };
        }
        if (reader.changed.size > 0 || reader.status !== this.status) continue;
        await promise;
        ({ promise, resolve } = Promise.withResolvers<void>());
      }
    } finally {
      this.#readers.delete(reader);
      gone.removeEventListener("abort", wake);
    }
  }

  [Symbol.dispose](): void {
    this.#watch[Symbol.dispose]();
  }

  async #reopen(): Promise<void> {
    const { sessionId, end } = this.#held.state;
    const resume = end?.kind === "ended" ? sessionId : undefined;
    const held = await this.#registry.open(this.#profile, { resume });
    this.#watch[Symbol.dispose]();
    this.#held = held;
    this.#watch = held.watch((news) => this.#note(news));
  }

  #note(news: ConversationNews): void {
    const time = new Date().toISOString();
    if (news.kind === "frame") {
      const { messages, changed } = advanceMessages(this.#messages, { frame: news.frame, time });
      this.#messages = messages;
      for (const { id } of changed) for (const { changed } of this.#readers) changed.add(id);
    }
    const isTaken = news.kind === "frame" &&
      (news.frame["uuid"] === this.#waiting?.uuid || news.frame.type === "result");
    if (isTaken || this.#held.isOver) this.#waiting?.taken();
    for (const { wake } of this.#readers) wake();
  }
}
