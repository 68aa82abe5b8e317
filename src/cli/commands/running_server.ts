import { formatDuration } from "../../run/doctor/check_report.ts";
import { escapeInvisible } from "../../recording/redaction/visible_text.ts";
import { callerEnvironment } from "../../sandbox/environment.ts";
import { fileAt } from "../../../ffi/files/at_path.ts";
import { serverPlaces } from "../../server/server_places.ts";
import {
  fetchStatus,
  NoServerError,
  ServerClient,
  type ServerStatus,
} from "../../server/server_client.ts";
import type { ServerRequest } from "../arguments/parsed_arguments.ts";
import { print, stringifyVisibly } from "../report/print.ts";

/**
 * Prints the status of this user's server, or ends it.
 *
 * @returns the exit code
 * @throws {CliError} when there is no server to report on, or it does not answer
 */
export async function askServer(request: ServerRequest): Promise<number> {
  if (request.action === "stop") return await stopServer(request);
  const status = await fetchStatus(new ServerClient(callerEnvironment()));
  print(
    Deno.stdout,
    `${request.json ? stringifyVisibly(status) : formatStatus(status, Date.now())}\n`,
  );
  return 0;
}

function formatStatus(status: ServerStatus, now: number): string {
  const { version, pid, socket, url, conversations, runs, limit } = status;
  const duration = formatDuration(Math.max(0, now - Date.parse(status.started_at)));
  const ready = status.warm_children.filter((child) => child.state === "ready").length;
  return [
    `Running for ${duration} (version ${version}, pid ${pid})`,
    ...(status.state === "stopping" ? ["Stopping: it waits for what is under way"] : []),
    `Socket: ${socket}`,
    ...(url === undefined ? [] : [`Page: ${url} (its token: ${status.token_file})`]),
    `Conversations: ${conversations} of ${limit}`,
    `Runs: ${runs}`,
    `Warm children: ${status.warm_children.length} (${ready} ready)`,
  ].map((line) => escapeInvisible(line)).join("\n");
}

/** The interval at which to check whether the server has ended, in milliseconds. */
const CHECK_INTERVAL_MS = 100;
/** How long to wait before the wait is explained, in milliseconds. */
const EXPLAIN_MS = 1000;
/** How long a server that no longer answers may take to end its children, in milliseconds. */
const END_MS = 60_000;

/** Ends the server and waits until it removes its lock, which happens when its children have ended. */
async function stopServer({ now }: { readonly now: boolean }): Promise<number> {
  const env = callerEnvironment();
  let server: ServerClient;
  try {
    server = new ServerClient(env);
  } catch (error) {
    if (!(error instanceof NoServerError)) throw error;
    print(Deno.stdout, "No server is running\n");
    return 0;
  }
  const { started_at: startedAt, pid } = await fetchStatus(server);
  await server.request(`/v1/server?now=${now}`, { method: "DELETE" });
  const { lock } = serverPlaces(env);
  const begunAt = performance.now();
  let [answeredAt, isExplained] = [begunAt, now];
  while (fileAt(lock) !== undefined) {
    await new Promise((done) => setTimeout(done, CHECK_INTERVAL_MS));
    try {
      const status = await fetchStatus(server);
      // Another server has the lock now.
      if (status.pid !== pid || status.started_at !== startedAt) break;
      answeredAt = performance.now();
    } catch (error) {
      if (performance.now() > answeredAt + END_MS) throw error;
      continue;
    }
    if (isExplained || performance.now() < begunAt + EXPLAIN_MS) continue;
    isExplained = true;
    print(
      Deno.stderr,
      'claude-print: Waiting for what is under way; "claude-print serve stop --now" ends it\n',
    );
  }
  print(Deno.stdout, "The server has ended\n");
  return 0;
}
