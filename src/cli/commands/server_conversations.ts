import { formatDuration } from "../../run/doctor/check_report.ts";
import { escapeInvisible } from "../../recording/redaction/visible_text.ts";
import { callerEnvironment } from "../../sandbox/environment.ts";
import {
  conversationPath,
  type ConversationSummary,
  fetchConversation,
  fetchConversations,
  fetchStatus,
  readFrames,
  ServerClient,
  type ServerStatus,
} from "../../server/server_client.ts";
import { escapeJson, print, stringifyVisibly } from "../report/print.ts";
import { CliError, EXIT } from "../../cli_error.ts";
import { listenToSignals } from "../../../ffi/processes/own_signals.ts";

/** The minimum number of shown characters of an id. */
const SHORT_ID = 8;

const HEADINGS = ["ID", "STATE", "FOR", "TURNS", "COST", "FOLDER"];

/**
 * Lists the conversations and warm children of this user's server, as a table or as the server's JSON.
 *
 * @returns the exit code
 * @throws {CliError} when there is no server, or it does not answer
 */
export async function ps({ json }: { readonly json: boolean }): Promise<number> {
  const server = new ServerClient(callerEnvironment());
  const conversations = await fetchConversations(server);
  const { warm_children } = await fetchStatus(server);
  const now = Date.now();
  const length = shortestUniqueLength(conversations.map(({ id }) => id));
  const rows = [
    ...conversations.map((each) => formatConversation(each, { length, now })),
    ...warm_children.map((each) => formatWarmChild(each, now)),
  ];
  if (json) print(Deno.stdout, `${stringifyVisibly({ conversations, warm_children })}\n`);
  else if (rows.length > 0) print(Deno.stdout, `${formatTable([HEADINGS, ...rows])}\n`);
  else print(Deno.stdout, "There are no conversations and no warm children\n");
  return 0;
}

function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = HEADINGS.map((_, at) => Math.max(...rows.map((row) => (row[at] ?? "").length)));
  return rows.map((row) => row.map((text, at) => text.padEnd(widths[at] ?? 0)).join("  ").trimEnd())
    .join("\n");
}

function formatConversation(
  { id, state, since, waiting, turns, total_cost_usd: cost, cwd }: ConversationSummary,
  { length, now }: { readonly length: number; readonly now: number },
): readonly string[] {
  return [
    id.slice(0, length),
    waiting === undefined ? state : `${state}: ${waiting.for}`,
    formatDuration(Math.max(0, now - Date.parse(since))),
    `${turns}`,
    `$${cost.toFixed(4)}`,
    cwd ?? "",
  ].map((text) => escapeInvisible(text));
}

function formatWarmChild(
  { state, since, cwd }: ServerStatus["warm_children"][number],
  now: number,
): readonly string[] {
  const duration = formatDuration(Math.max(0, now - Date.parse(since)));
  return ["-", `warm: ${state}`, duration, "-", "-", cwd].map((text) => escapeInvisible(text));
}

/** Returns how many characters of each id are needed to make it unique. */
function shortestUniqueLength(ids: readonly string[]): number {
  for (let length = SHORT_ID;; length++) {
    const cut = new Set(ids.map((id) => id.slice(0, length)));
    if (cut.size === new Set(ids).size) return length;
  }
}

/**
 * Prints the frames of a conversation; with `follows` also later ones.
 *
 * @returns the exit code
 * @throws {CliError} when the conversation does not exist, the server does not answer, or has lost frames
 */
export async function logs(
  { id: beginning, follows }: { readonly id: string; readonly follows: boolean },
): Promise<number> {
  const server = new ServerClient(callerEnvironment());
  const { id, last_event_id: last } = await fetchConversation(server, beginning);
  for await (const frame of readFrames(server, id, { last: follows ? Infinity : last })) {
    if (!print(Deno.stdout, `${escapeJson(frame)}\n`)) return EXIT.abandoned;
  }
  return 0;
}

/** Milliseconds between two looks at the screen. */
const POLL_MS = 150;

/** How long the server may take to confirm that it controls the conversation again, in milliseconds. */
const HAND_BACK_MS = 2000;

/** Enters and leaves the alternate screen, in which long lines are cut. */
const ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
const LEAVE = "\x1b[?7h\x1b[?25h\x1b[?1049l";

const CTRL_C = 0x03;
const CTRL_RIGHT_BRACKET = 0x1d;
const Q = "q".charCodeAt(0);

/** The keys that leave the screen. */
const LEAVES_WATCHING = [CTRL_C, CTRL_RIGHT_BRACKET, Q];
const LEAVES_TYPING = [CTRL_RIGHT_BRACKET];

/**
 * Shows the screen of a conversation until the user leaves it or the conversation ends. With `takesOver`, the user's
 * keys go to the conversation. Without a terminal, the screen is printed once.
 *
 * @returns the exit code
 * @throws {CliError} when the conversation does not exist, it cannot be taken over, or the server does not answer
 */
export async function attach(
  { id: beginning, takesOver }: { readonly id: string; readonly takesOver: boolean },
): Promise<number> {
  const server = new ServerClient(callerEnvironment());
  const { id } = await fetchConversation(server, beginning);
  const path = conversationPath(id);
  const isTerminal = Deno.stdin.isTerminal() && Deno.stdout.isTerminal();
  if (!isTerminal) {
    if (takesOver) {
      throw new CliError("Cannot take over the conversation: stdin and stdout are no terminal", {
        suggestion: "Run it in a terminal, or leave --take-over out",
      });
    }
    print(Deno.stdout, `${screenRows(await fetchScreen(server, path)).join("\n")}\n`);
    return 0;
  }
  const over = new AbortController();
  const stopped = Promise.withResolvers<void>();
  using _signals = listenToSignals(["SIGINT", "SIGTERM", "SIGHUP"], () => stopped.resolve());
  const typed = readKeys(takesOver ? LEAVES_TYPING : LEAVES_WATCHING, over);
  Deno.stdin.setRaw(true);
  print(Deno.stdout, ENTER);
  let isGone = false;
  try {
    await Promise.race([
      showScreen(server, { id, path, takesOver, over: over.signal }).then(() => isGone = true),
      takesOver ? sendKeys(server, { path, keys: typed.keys, over: over.signal }) : typed.left,
      // The user can leave even if the server does not answer.
      typed.left.then(() => delay(HAND_BACK_MS)),
      stopped.promise,
    ]);
  } finally {
    over.abort();
    print(Deno.stdout, LEAVE);
    Deno.stdin.setRaw(false);
  }
  if (isGone) print(Deno.stdout, "The conversation is over\n");
  return 0;
}

function delay(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}

/** Draws the screen repeatedly until the conversation has ended. */
async function showScreen(
  server: ServerClient,
  { id, path, takesOver, over }: {
    readonly id: string;
    readonly path: string;
    readonly takesOver: boolean;
    readonly over: AbortSignal;
  },
): Promise<void> {
  let drawn = "";
  while (!over.aborted) {
    let screen: string;
    try {
      screen = await fetchScreen(server, path);
    } catch (error) {
      if ((await fetchConversations(server)).some((each) => each.id === id)) throw error;
      return;
    }
    const text = renderScreen(screenRows(screen), takesOver);
    if (text !== drawn) print(Deno.stdout, text);
    drawn = text;
    await delay(POLL_MS);
  }
}

/** Takes over the conversation and sends keys to it while the request lasts. */
async function sendKeys(
  server: ServerClient,
  { path, keys, over }: {
    readonly path: string;
    readonly keys: ReadableStream<Uint8Array<ArrayBuffer>>;
    readonly over: AbortSignal;
  },
): Promise<void> {
  await server.request(`${path}/keys`, { body: keys, signal: over });
}

/** Reads the user's keys up to one that leaves the screen. */
function readKeys(leaving: readonly number[], over: AbortController): {
  readonly keys: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly left: Promise<void>;
} {
  const { promise: left, resolve } = Promise.withResolvers<void>();
  const { readable: keys, writable } = new TransformStream<
    Uint8Array<ArrayBuffer>,
    Uint8Array<ArrayBuffer>
  >(undefined, { highWaterMark: 1024 }, { highWaterMark: 1024 });
  const writer = writable.getWriter();
  writer.closed.catch(() => {});
  const read = async () => {
    const buffer = new Uint8Array(4096);
    for (;;) {
      const count = await Deno.stdin.read(buffer);
      const bytes = buffer.slice(0, count ?? 0);
      const at = bytes.findIndex((byte) => leaving.includes(byte));
      if (over.signal.aborted) return;
      const kept = at === -1 ? bytes : bytes.slice(0, at);
      if (kept.length > 0) writer.write(kept).catch(() => {});
      if (count === null || at !== -1) break;
    }
    writer.close().catch(() => {});
    resolve();
  };
  read().catch(() => resolve());
  return { keys, left };
}

async function fetchScreen(server: ServerClient, path: string): Promise<string> {
  return await (await server.request(`${path}/screen`)).text();
}

/** Splits a screen into rows, without characters that control a terminal. Claude Code's prompt has a no-break space. */
function screenRows(text: string): readonly string[] {
  const plain = text.replaceAll("\u{a0}", " ");
  return plain.trimEnd().split("\n").map((row) => escapeInvisible(row.trimEnd()));
}

/** Renders as many of the last rows as fit, and a hint that explains how to leave. */
function renderScreen(rows: readonly string[], takesOver: boolean): string {
  const { rows: height } = Deno.consoleSize();
  const hint = takesOver ? "You have taken over: Ctrl-] hands back" : "Watching: q leaves";
  const shown = rows.slice(-Math.max(1, height - 1));
  const empty = Array(Math.max(0, height - 1 - shown.length)).fill("");
  return `\x1b[H${
    [...shown, ...empty, `\x1b[7m ${hint} \x1b[0m`].map((row) => `\x1b[K${row}`).join("\r\n")
  }`;
}
