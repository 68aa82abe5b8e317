import type { ThrowawayHome } from "../../../../fixtures/throwaway_home.ts";
import { holdConversation } from "../../../../src/library/hold_conversation.ts";
import {
  ConversationRegistry,
  type RegistryOptions,
} from "../../../../src/server/conversations/conversation_registry.ts";
import { BODY_LIMITS, type BodyLimits } from "../../../../src/server/http/request_body.ts";
import { FileReserve } from "../../../../src/server/http/http_server.ts";
import { ROUTES } from "../../../../src/server/http/routes.ts";
import { type Route, serveHttp } from "../../../../src/server/http/serve_http.ts";
import { socketClient } from "./socket_client.ts";

/** A server in the test's own process, on a socket, with a Claude Code and a home that exist for the test. */
export async function serveInProcess(
  claude: { readonly binary: string; readonly home: ThrowawayHome },
  { limits = BODY_LIMITS, routes = () => [], ...options }: Partial<RegistryOptions> & {
    readonly limits?: BodyLimits;
    /** Further rows of what it answers. */
    readonly routes?: (
      registry: ConversationRegistry,
    ) => readonly Route[] | Promise<readonly Route[]>;
  } = {},
) {
  const folder = await Deno.makeTempDir();
  const socket = `${folder}/http.sock`;
  const mistakes: unknown[] = [];
  const stops: { readonly now: boolean }[] = [];
  const registry = new ConversationRegistry({
    hold: holdConversation,
    env: claude.home.env,
    cwd: claude.home.project,
    folder,
    limit: 4,
    ...options,
  });
  const reserve = new FileReserve({ runs: () => 0 });
  const server = serveHttp({
    at: { path: socket },
    routes: [...await routes(registry), ...ROUTES],
    context: {
      version: "0.0.0",
      registry,
      limits,
      startedAt: 0,
      delegated: { total: 0, running: 0 },
      listening: () => ({ socket }),
      stop: (how) => stops.push(how),
    },
    reserve,
    onInternalError: (error) => mistakes.push(error),
  });
  const client = socketClient(socket);
  return {
    ...{ folder, socket, registry, mistakes, stops, request: client.request, ask: client.ask },
    /** Opens a conversation, and gives its path. */
    async open(profile: Readonly<Record<string, unknown>> = {}): Promise<string> {
      const { status, body, headers } = await client.ask("POST", "/v1/conversations", {
        profile: { args: ["--claude-binary", claude.binary], ...profile },
      });
      if (status !== 201) throw new Error(JSON.stringify(body));
      return headers.get("location") ?? "";
    },
    async [Symbol.asyncDispose]() {
      await registry[Symbol.asyncDispose]();
      server.abort();
      reserve[Symbol.dispose]();
      client[Symbol.dispose]();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** An event as it was sent. */
export interface SentEvent {
  readonly id: string | undefined;
  readonly event: string;
  // deno-lint-ignore no-explicit-any -- a test looks at what it expects
  readonly data: any;
}

/** Reads server-sent events as a browser does; disposed, it gives back what it has not read, be that all of it. */
export function eventsOf(answer: Response): AsyncGenerator<SentEvent> {
  const events = readEvents(answer);
  const end = events.return.bind(events);
  // One that has not begun does nothing at its end.
  events.return = async (value) => {
    const ended = await end(value);
    await answer.body?.cancel().catch(() => {});
    return ended;
  };
  return events;
}

async function* readEvents(answer: Response): AsyncGenerator<SentEvent> {
  let rest = "";
  const texts = (answer.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream());
  for await (const text of texts) {
    const parts = (rest + text).split("\n\n");
    rest = parts.pop() ?? "";
    for (const part of parts) {
      const fields = new Map(
        part.split("\n").map((line) => [line.split(": ")[0], line.replace(/^\w*: /u, "")]),
      );
      const data = fields.get("data");
      if (data === undefined) continue;
      yield {
        id: fields.get("id"),
        event: fields.get("event") ?? "message",
        data: JSON.parse(data),
      };
    }
  }
}
