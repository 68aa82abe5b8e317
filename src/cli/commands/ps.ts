import { durationInWords } from "../../run/doctor/check_report.ts";
import { nameUnseen } from "../../recording/redaction/name_unseen.ts";
import { callerEnvironment } from "../../sandbox/environment.ts";
import {
  ServerClient,
  type ToldConversation,
  toldConversations,
} from "../../server/server_client.ts";
import { print, reportJson } from "../report/print.ts";

/** Characters of an id that are shown. */
const SHORT_ID = 8;

const HEADINGS = ["ID", "STATE", "FOR", "TURNS", "COST", "FOLDER"];

/**
 * Lists the conversations that this user's server holds: a table, or what the server says of them as JSON.
 *
 * @returns the exit code
 * @throws {CliError} when there is no server, or it cannot be asked
 */
export async function ps({ json }: { readonly json: boolean }): Promise<number> {
  const server = new ServerClient(callerEnvironment());
  const conversations = await toldConversations(server);
  if (json) print(Deno.stdout, `${reportJson({ conversations })}\n`);
  else if (conversations.length === 0) print(Deno.stdout, "There are no conversations\n");
  else print(Deno.stdout, `${table(conversations, Date.now())}\n`);
  return 0;
}

function table(conversations: readonly ToldConversation[], now: number): string {
  const length = shortest(conversations.map(({ id }) => id));
  const rows = [HEADINGS, ...conversations.map((each) => cells(each, { length, now }))];
  const widths = HEADINGS.map((_, at) => Math.max(...rows.map((row) => (row[at] ?? "").length)));
  return rows.map((row) => row.map((text, at) => text.padEnd(widths[at] ?? 0)).join("  ").trimEnd())
    .join("\n");
}

function cells(
  { id, state, since, waiting, turns, total_cost_usd: cost, cwd }: ToldConversation,
  { length, now }: { readonly length: number; readonly now: number },
): readonly string[] {
  return [
    id.slice(0, length),
    waiting === undefined ? state : `${state}: ${waiting.for}`,
    durationInWords(Math.max(0, now - Date.parse(since))),
    `${turns}`,
    `$${cost.toFixed(4)}`,
    cwd ?? "",
  ].map((text) => nameUnseen(text));
}

/** How many characters of each id tell it from all others. */
function shortest(ids: readonly string[]): number {
  for (let length = SHORT_ID;; length++) {
    const cut = new Set(ids.map((id) => id.slice(0, length)));
    if (cut.size === new Set(ids).size) return length;
  }
}
