import { z } from "zod/mini";
import { CliError } from "../../cli_error.ts";
import type { ServerClient } from "./server_client.ts";

const CONVERSATION = z.looseObject({
  id: z.string(),
  state: z.string(),
  since: z.string(),
  waiting: z.optional(z.looseObject({ for: z.string(), cause: z.string() })),
  turns: z.number(),
  total_cost_usd: z.number(),
  last_event_id: z.number(),
  cwd: z.optional(z.string()),
});

const CONVERSATIONS = z.looseObject({ conversations: z.array(CONVERSATION) });

/** A conversation as the server tells of it, with whatever else it tells. */
export type ToldConversation = z.infer<typeof CONVERSATION>;

/**
 * The conversations that a server holds, the oldest first.
 *
 * @throws {CliError} when it cannot be asked, or tells something else
 */
export async function toldConversations(
  server: ServerClient,
): Promise<readonly ToldConversation[]> {
  const answer = await server.ask("/v1/conversations");
  const told = CONVERSATIONS.safeParse(await answer.json().catch(() => undefined));
  if (told.success) return told.data.conversations;
  throw new CliError("Cannot understand the server: it is of another version", {
    suggestion: "Start it again with this claude-print",
  });
}

/**
 * The one conversation whose id begins as is said.
 *
 * @throws {CliError} when there is none, or more than one
 */
export async function toldConversation(
  server: ServerClient,
  beginning: string,
): Promise<ToldConversation> {
  const all = await toldConversations(server);
  const fitting = all.filter(({ id }) => id.startsWith(beginning));
  const [one] = fitting;
  if (one !== undefined && fitting.length === 1) return one;
  throw new CliError(
    one === undefined
      ? `Cannot find the conversation "${beginning}"`
      : `Cannot tell which conversation is meant by "${beginning}": there are ${fitting.length}`,
    {
      suggestion:
        '"claude-print ps" lists the conversations; as much of an id will do as is its own',
    },
  );
}
