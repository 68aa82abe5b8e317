import type { ConversationChange } from "../conversations/conversation_state.ts";
import type { ServerConversation } from "../conversations/server_conversation.ts";
import type { ConversationProfile } from "../server_profiles.ts";
import {
  type HttpProblem,
  OccupiedError,
  PROBLEM_TITLES,
  ProblemError,
  toProblem,
} from "../problems.ts";
import type { ConversationRegistry } from "../conversations/conversation_registry.ts";
import { advanceMessages, type AgentMessage } from "./agent_messages.ts";
import { z } from "zod/mini";
import { readBody } from "./request_body.ts";
import { streamPieces } from "./conversation_streams.ts";
import { formatConversation } from "./conversation_routes.ts";
import type { Route } from "./serve_http.ts";

/** `stable` when the agent accepts a message. */
type AgentStatus = "running" | "stable";

type AgentEvent =
  | { readonly type: "message_update"; readonly message: AgentMessage }
  | { readonly type: "status_change"; readonly status: AgentStatus };

/** A client that streams events. It gets the current state of changed messages, so a slow client gets fewer events. */
interface EventReader {
  /** Ids of messages that have changed since the client read them. */
  readonly changed: Set<number>;
  /** The last status that the client has read. */
  status: AgentStatus | undefined;
  wake: () => void;
}

/**
 * The single conversation of the agentapi endpoints. When it has ended, the next message opens a new one on the same
 * session, and the list of messages continues.
 */
export class AgentConversation implements Disposable {
  readonly #registry: ConversationRegistry;
  readonly #profile: ConversationProfile;
  readonly #readers = new Set<EventReader>();
  #conversation: ServerConversation;
  #watch: Disposable;
  #messages: readonly AgentMessage[] = [];
  #waiting: { readonly uuid: string; readonly resolve: () => void } | undefined;

  private constructor(
    { registry, profile, conversation }: {
      readonly registry: ConversationRegistry;
      readonly profile: ConversationProfile;
      readonly conversation: ServerConversation;
    },
  ) {
    this.#registry = registry;
    this.#profile = profile;
    this.#conversation = conversation;
    this.#watch = conversation.watch((change) => this.#observe(change));
  }

  /** @throws {CliError} when it cannot be opened */
  static async open(
    registry: ConversationRegistry,
    profile: ConversationProfile,
  ): Promise<AgentConversation> {
    const withReplay = { ...profile, replay_user_messages: true };
    return new AgentConversation({
      registry,
      profile: withReplay,
      conversation: await registry.open(withReplay),
    });
  }

  /** The currently or last open conversation. */
  get conversation(): ServerConversation {
    return this.#conversation;
  }

  get messages(): readonly AgentMessage[] {
    return this.#messages;
  }

  get status(): AgentStatus {
    const { activity } = this.#conversation.state;
    // After its end, a message is also accepted, because it opens a new conversation.
    return this.#conversation.hasEnded || activity.kind === "idle" ? "stable" : "running";
  }

  /**
   * Sends a message, and resolves when its turn has begun.
   *
   * @returns its id
   * @throws {OccupiedError} when the agent is running
   * @throws {CliError} when the message cannot be sent
   */
  async send(content: string): Promise<string> {
    if (this.status !== "stable" || this.#waiting !== undefined) {
      throw new OccupiedError(
        "Cannot send the message: the agent is running",
        'Send it once GET /status says "stable"',
      );
    }
    const uuid = crypto.randomUUID();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting = { uuid, resolve };
    try {
      if (this.#conversation.hasEnded) await this.#reopen();
      await this.#conversation.send(content, { uuid, priority: "later" });
      await promise;
    } finally {
      this.#waiting = undefined;
    }
    return uuid;
  }

  /** Yields all messages and the status, and then changes. */
  async *events(gone: AbortSignal): AsyncGenerator<AgentEvent> {
    let { promise, resolve } = Promise.withResolvers<void>();
    const reader: EventReader = {
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
    const { sessionId, end } = this.#conversation.state;
    const resume = end?.kind === "ended" ? sessionId : undefined;
    const conversation = await this.#registry.open(this.#profile, { resume });
    this.#watch[Symbol.dispose]();
    this.#conversation = conversation;
    this.#watch = conversation.watch((change) => this.#observe(change));
  }

  #observe(change: ConversationChange): void {
    const time = new Date().toISOString();
    if (change.kind === "frame") {
      const { messages, changed } = advanceMessages(this.#messages, { frame: change.frame, time });
      this.#messages = messages;
      for (const { id } of changed) for (const { changed } of this.#readers) changed.add(id);
    }
    const hasBegun = change.kind === "frame" &&
      (change.frame["uuid"] === this.#waiting?.uuid || change.frame.type === "result");
    if (hasBegun || this.#conversation.hasEnded) this.#waiting?.resolve();
    for (const { wake } of this.#readers) wake();
  }
}

const MESSAGE = z.strictObject({
  content: z.string(),
  type: z.enum(["user", "raw"]),
  $schema: z.optional(z.string()),
});

/** agentapi's name for Claude Code. */
const AGENT_TYPE = "claude";

/**
 * Creates the endpoints of agentapi, https://github.com/coder/agentapi, for one conversation. Facts for which agentapi
 * has no field are in the field `claude_print`.
 */
export function agentRoutes(agent: AgentConversation): readonly Route[] {
  const routes: readonly Route[] = [
    { method: "GET", path: "/status", handle: () => Response.json(formatStatus(agent)) },
    {
      method: "GET",
      path: "/messages",
      handle: () => Response.json({ messages: agent.messages }),
    },
    {
      method: "POST",
      path: "/message",
      handle: async (call) => {
        const { content, type } = await readBody(MESSAGE, call);
        if (type === "raw") {
          typeRaw(agent, content);
          return Response.json({ ok: true });
        }
        const uuid = await agent.send(content);
        return Response.json({ ok: true, claude_print: { uuid } });
      },
    },
    { method: "GET", path: "/events", handle: ({ gone }) => streamAgentEvents(agent, gone) },
  ];
  return routes.map((route) => ({
    ...route,
    handle: async (call) => {
      try {
        return await route.handle(call);
      } catch (error) {
        const problem = toProblem(error);
        if (problem.status === 500) throw error;
        return agentapiProblem(problem);
      }
    },
  }));
}

function formatStatus(agent: AgentConversation, status = agent.status): unknown {
  return {
    agent_type: AGENT_TYPE,
    status,
    claude_print: formatConversation(agent.conversation),
  };
}

function streamAgentEvents(agent: AgentConversation, gone: AbortSignal): Response {
  const events = agent.events(gone);
  let id = 0;
  const body = streamPieces({
    next: async () => {
      const { done, value: event } = await events.next();
      if (done === true) return undefined;
      const data = event.type === "status_change"
        ? formatStatus(agent, event.status)
        : formatMessage(event.message);
      return `id: ${++id}\nevent: ${event.type}\ndata: ${JSON.stringify(data)}\n\n`;
    },
    cancel: () => void events.return(undefined),
  });
  return new Response(body, {
    headers: { "content-type": "text/event-stream", "cache-control": "no-store" },
  });
}

/** In events, agentapi calls the content of a message `message`. */
function formatMessage({ content, ...message }: AgentMessage): unknown {
  return { ...message, message: content };
}

/** @throws {ProblemError} when there is no child, or a person types in its terminal */
function typeRaw({ conversation }: AgentConversation, keys: string): void {
  if (conversation.hasEnded || conversation.terminal === undefined || conversation.isTakenOver) {
    throw new ProblemError({
      status: 409,
      detail: conversation.isTakenOver
        ? "Cannot type in the terminal: somebody else types in it"
        : "Cannot type in the terminal: there is no Claude Code in it now",
      suggestion: 'Send a message of type "user" first',
    });
  }
  conversation.terminal.type(new TextEncoder().encode(keys));
}

/** A problem with the members that agentapi defines. */
function agentapiProblem({ status, detail, suggestion, headers = {} }: HttpProblem): Response {
  const body = {
    type: "about:blank",
    title: PROBLEM_TITLES[status],
    status,
    detail,
    ...(suggestion === undefined ? {} : { errors: [{ message: suggestion }] }),
  };
  return new Response(JSON.stringify(body), {
    status,
    headers: { ...headers, "content-type": "application/problem+json" },
  });
}
