import type { ConversationNews } from "../conversations/conversation_state.ts";
import type { HeldConversation } from "../conversations/held_conversation.ts";
import type { Profile } from "../conversations/profile.ts";
import { BusyError } from "../conversations/refusals.ts";
import type { Registry } from "../conversations/registry.ts";
import { isJsonObject } from "../../json_object.ts";
import type { AnyFrame } from "../../claude/wire/any_frame.ts";
import type { ContentBlock } from "../../claude/wire/message_frames.ts";

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

/** A call of a tool, as it stands beside the message in which it was made. */
interface AgentTool {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  /** Whether it has come back, and how. */
  readonly status: "running" | "done" | "failed";
}

/** How the turn ended in which a message was said. */
interface AgentTurn {
  /** `success`, or how it failed. */
  readonly subtype: string;
  readonly is_error: boolean;
  readonly num_turns?: number;
  readonly duration_ms?: number;
  /** US dollars, for the whole conversation so far. */
  readonly total_cost_usd?: number;
  readonly usage?: unknown;
}

/** What agentapi has no word for; absent where there is nothing to say. */
interface AgentExtra {
  readonly session_id?: string;
  readonly tools?: readonly AgentTool[];
  /** Absent while the turn goes on. */
  readonly turn?: AgentTurn;
}

/** A message of the conversation, as agentapi tells it. */
export interface AgentMessage {
  /** Its place in the conversation, from 0. */
  readonly id: number;
  readonly role: "user" | "agent";
  readonly content: string;
  /** When it began, by RFC 3339. */
  readonly time: string;
  readonly claude_print?: AgentExtra;
}

/** A frame of the conversation, and when it came, by RFC 3339. What was sent has to be among its frames. */
export interface AgentNews {
  readonly frame: AnyFrame;
  readonly time: string;
}

/** The messages after some news, and those of them that are new or changed. */
interface AgentStep {
  readonly messages: readonly AgentMessage[];
  readonly changed: readonly AgentMessage[];
}

/**
 * What becomes of the messages of a conversation by its news: text, tools and the result of a turn are one message of the
 * agent, which grows until the turn is over.
 */
export function advanceMessages(
  messages: readonly AgentMessage[],
  { frame, time }: AgentNews,
): AgentStep {
  // What a subagent says is a tool's business.
  if (typeof frame["parent_tool_use_id"] === "string") return { messages, changed: [] };
  switch (frame.type) {
    case "assistant": {
      const blocks = blocksOf(frame);
      const text = blocks.flatMap((block) => block.type === "text" ? [block.text ?? ""] : [])
        .join("\n\n");
      const tools = blocks.flatMap(toolOf);
      if (text === "" && tools.length === 0) return { messages, changed: [] };
      return toldByAgent(messages, { frame, time, text, tools });
    }
    case "user": {
      const content = sentText(frame);
      return content === undefined
        ? withResults(messages, blocksOf(frame))
        : added(messages, { role: "user", content, time });
    }
    case "result": {
      const spoken = isUnderWay(messages.at(-1));
      const text = spoken ? "" : resultText(frame);
      return toldByAgent(messages, { frame, time, text, tools: [], turn: turnOf(frame) });
    }
    default:
      return { messages, changed: [] };
  }
}

function added(
  messages: readonly AgentMessage[],
  message: Omit<AgentMessage, "id">,
): AgentStep {
  const whole = { id: messages.length, ...message };
  return { messages: [...messages, whole], changed: [whole] };
}

/** Whether a message is the agent's, of a turn that is not over. */
function isUnderWay(message: AgentMessage | undefined): message is AgentMessage {
  return message?.role === "agent" && message.claude_print?.turn === undefined;
}

function toldByAgent(
  messages: readonly AgentMessage[],
  { frame, time, text, tools, turn }: {
    readonly frame: AnyFrame;
    readonly time: string;
    readonly text: string;
    readonly tools: readonly AgentTool[];
    readonly turn?: AgentTurn;
  },
): AgentStep {
  const last = messages.at(-1);
  const before = isUnderWay(last) ? last : undefined;
  const all = [...before?.claude_print?.tools ?? [], ...tools];
  const session = frame["session_id"];
  const extra: AgentExtra = {
    ...(typeof session === "string" ? { session_id: session } : {}),
    ...(all.length === 0 ? {} : { tools: all }),
    ...(turn === undefined ? {} : { turn }),
  };
  const content = [before?.content ?? "", text].filter((part) => part !== "").join("\n\n");
  if (before === undefined) {
    return added(messages, { role: "agent", content, time, claude_print: extra });
  }
  const changed: AgentMessage = { ...before, content, claude_print: extra };
  return { messages: messages.with(-1, changed), changed: [changed] };
}

/** Notes the results of tools. */
function withResults(
  messages: readonly AgentMessage[],
  blocks: readonly ContentBlock[],
): AgentStep {
  const results = new Map(
    blocks.flatMap((block) =>
      block.type === "tool_result" ? [[block.tool_use_id, block.is_error === true] as const] : []
    ),
  );
  // A message that was sent meanwhile may stand behind it.
  const at = messages.findLastIndex(({ role }) => role === "agent");
  const message = messages[at];
  const { tools = [], ...extra } = message?.claude_print ?? {};
  if (message === undefined || !tools.some(({ id }) => results.has(id))) {
    return { messages, changed: [] };
  }
  const noted = tools.map((tool): AgentTool => {
    const hasFailed = results.get(tool.id);
    if (hasFailed === undefined) return tool;
    return { ...tool, status: hasFailed ? "failed" : "done" };
  });
  const changed: AgentMessage = { ...message, claude_print: { ...extra, tools: noted } };
  return { messages: messages.with(at, changed), changed: [changed] };
}

function blocksOf({ message }: AnyFrame): readonly ContentBlock[] {
  const content = isJsonObject(message) ? message["content"] : undefined;
  if (!Array.isArray(content)) return [];
  return content.filter((block): block is ContentBlock => isJsonObject(block));
}

/** What somebody has sent, in a frame that repeats it. */
function sentText(frame: AnyFrame): string | undefined {
  if (frame["isReplay"] !== true) return undefined;
  const { content } = frame["message"] as { readonly content?: unknown };
  const text = typeof content === "string"
    ? content
    : blocksOf(frame).flatMap((block) => block.type === "text" ? [block.text ?? ""] : []).join(
      "\n",
    );
  // The output of a command comes in the same way.
  return text.startsWith("<local-command-") ? undefined : text;
}

function toolOf(block: ContentBlock): readonly AgentTool[] {
  const { type, id, name, input } = block;
  if (type !== "tool_use" || id === undefined || name === undefined) return [];
  return [{ id, name, input, status: "running" }];
}

function resultText(frame: AnyFrame): string {
  const { result, errors } = frame;
  if (typeof result === "string" && result !== "") return result;
  return Array.isArray(errors) ? errors.join("\n") : "";
}

function turnOf(frame: AnyFrame): AgentTurn {
  const { subtype, is_error, num_turns, duration_ms, total_cost_usd, usage } = frame;
  return {
    subtype: `${subtype}`,
    is_error: is_error === true,
    ...(typeof num_turns === "number" ? { num_turns } : {}),
    ...(typeof duration_ms === "number" ? { duration_ms } : {}),
    ...(typeof total_cost_usd === "number" ? { total_cost_usd } : {}),
    ...(usage === undefined ? {} : { usage }),
  };
}
