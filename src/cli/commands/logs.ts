import { CliError } from "../../cli_error.ts";
import { callerEnvironment } from "../../sandbox/environment.ts";
import {
  goneError,
  ServerClient,
  serverEvents,
  toldConversation,
} from "../../server/server_client.ts";
import { print, visibleJson } from "../report/print.ts";

const NOBODY_READS = 141;

/**
 * Prints the frames of a conversation: those that there are, or with `follows` those to come, too.
 *
 * @returns the exit code
 * @throws {CliError} when there is no such conversation, the server cannot be asked, or has lost frames
 */
export async function logs(
  { id: beginning, follows }: { readonly id: string; readonly follows: boolean },
): Promise<number> {
  const server = new ServerClient(callerEnvironment());
  const { id, last_event_id: last } = await toldConversation(server, beginning);
  if (last === 0 && !follows) return 0;
  const gone = new AbortController();
  const { body } = await server.ask(`/v1/conversations/${encodeURIComponent(id)}/events`, {
    signal: gone.signal,
  });
  try {
    if (body === null) throw new TypeError("There is no body");
    for await (const event of serverEvents(body)) {
      if (event.event === "end") return 0;
      if (event.event === "problem") throw lostError(event.data);
      if (!print(Deno.stdout, `${visibleJson(event.data)}\n`)) return NOBODY_READS;
      if (!follows && Number(event.id) >= last) return 0;
    }
  } catch (error) {
    throw error instanceof CliError ? error : goneError(error);
  } finally {
    gone.abort();
  }
  throw goneError(undefined);
}

function lostError(data: string): CliError {
  const [, detail = "the server has lost them"] = /"detail":"((?:[^"\\]|\\.)*)"/u.exec(data) ?? [];
  return new CliError(`Cannot print all frames: ${detail}`, {
    suggestion: "Make room on the disk of the server's TMPDIR",
  });
}
