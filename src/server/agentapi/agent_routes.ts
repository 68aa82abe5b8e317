import { z } from "zod/mini";
import { readBody } from "../http/body.ts";
import { conversationBody } from "../http/resources/conversation_body.ts";
import { type HttpProblem, PROBLEM_TITLES, ProblemError, problemOf } from "../http/problem.ts";
import type { Route } from "../http/route.ts";
import type { ServeContext } from "../http/serve_context.ts";
import type { AgentConversation, AgentEvent } from "./agent_conversation.ts";

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
