import type { ConversationNews } from "../conversations/conversation_state.ts";
import type { HeldConversation } from "../conversations/held_conversation.ts";
import type { Profile } from "../profiles.ts";
import {
  BusyError,
  type HttpProblem,
  PROBLEM_TITLES,
  ProblemError,
  problemOf,
} from "../problems.ts";
import type { Registry } from "../conversations/registry.ts";
import { advanceMessages, type AgentMessage } from "./agent_messages.ts";
import { z } from "zod/mini";
import { readBody } from "./request_body.ts";
import { conversationBody } from "./conversation_routes.ts";
import type { Route, ServeContext } from "./serve_http.ts";

/** Whether the agent takes a message. */
type AgentStatus = "running" | "stable";

/** Something that has changed, as it is now. */
type AgentEvent =
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

const MESSAGE = z.strictObject({
  content: z.string(),
  type: z.enum(["user", "raw"]),
  $schema: z.optional(z.string()),
});

/** How agentapi calls Claude Code. */
const AGENT_TYPE = "claude";

/**
 * The endpoints of agentapi, about one conversation. Whatever they say more than those is in a field of its own,
 * `claude_print`.
 */
export function agentRoutes(agent: AgentConversation): readonly Route<ServeContext>[] {
  const status = () => ({
    agent_type: AGENT_TYPE,
    status: agent.status,
    claude_print: conversationBody(agent.held),
  });
  const routes: readonly Route<ServeContext>[] = [
    { method: "GET", path: "/status", handle: () => Response.json(status()) },
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
    { method: "GET", path: "/events", handle: ({ gone }) => eventStream(agent, gone) },
  ];
  return routes.map((route) => ({
    ...route,
    handle: async (call) => {
      try {
        return await route.handle(call);
      } catch (error) {
        const problem = problemOf(error);
        if (problem.status === 500) throw error;
        return problemAsTold(problem);
      }
    },
  }));

  function eventStream(agent: AgentConversation, gone: AbortSignal): Response {
    const events = agent.events(gone);
    const encoder = new TextEncoder();
    let id = 0;
    const body = new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        const { done, value } = await events.next();
        if (done === true) return controller.close();
        const data = JSON.stringify(dataOf(value));
        controller.enqueue(
          encoder.encode(`id: ${++id}\nevent: ${value.type}\ndata: ${data}\n\n`),
        );
      },
      cancel: () => void events.return(undefined),
    }, { highWaterMark: 0 });
    return new Response(body, {
      headers: { "content-type": "text/event-stream", "cache-control": "no-store" },
    });
  }

  function dataOf(event: AgentEvent): unknown {
    if (event.type === "status_change") return { ...status(), status: event.status };
    const { content, ...message } = event.message;
    return { ...message, message: content };
  }
}

/** @throws {ProblemError} when nothing can be typed */
function typeRaw({ held }: AgentConversation, keys: string): void {
  if (held.isOver || held.terminal === undefined || held.isTakenOver) {
    throw new ProblemError({
      status: 409,
      detail: held.isTakenOver
        ? "Cannot type in the terminal: somebody else types in it"
        : "Cannot type in the terminal: there is no Claude Code in it now",
      suggestion: 'Send a message of type "user" first',
    });
  }
  held.terminal.type(new TextEncoder().encode(keys));
}

/** A problem in the members that agentapi has for one. */
function problemAsTold({ status, detail, suggestion, headers = {} }: HttpProblem): Response {
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
