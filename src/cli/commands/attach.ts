import { listenToSignals } from "../../../ffi/processes/own_signals.ts";
import { CliError } from "../../cli_error.ts";
import { nameUnseen } from "../../recording/redaction/name_unseen.ts";
import { callerEnvironment } from "../../sandbox/environment.ts";
import { ServerClient, toldConversation, toldConversations } from "../../server/server_client.ts";
import { print } from "../report/print.ts";

/** How often the screen is looked at, in milliseconds. */
const LOOK_MS = 150;

/** How long the server may take to say that it has the conversation back, in milliseconds. */
const HAND_BACK_MS = 2000;

/** The other screen, in which long lines are cut. */
const ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
const LEAVE = "\x1b[?7h\x1b[?25h\x1b[?1049l";

const CTRL_C = 0x03;
const CTRL_RIGHT_BRACKET = 0x1d;
const Q = "q".charCodeAt(0);

/** What leaves the screen: while one only watches, and while one types. */
const LEAVES_WATCHING = [CTRL_C, CTRL_RIGHT_BRACKET, Q];
const LEAVES_TYPING = [CTRL_RIGHT_BRACKET];

/**
 * Shows the screen of a conversation until it is left or the conversation has ended, and with `takesOver` types in it what
 * the user types. Without a terminal the screen is printed once.
 *
 * @returns the exit code
 * @throws {CliError} when there is no such conversation, it cannot be taken over, or the server cannot be asked
 */
export async function attach(
  { id: beginning, takesOver }: { readonly id: string; readonly takesOver: boolean },
): Promise<number> {
  const server = new ServerClient(callerEnvironment());
  const { id } = await toldConversation(server, beginning);
  const path = `/v1/conversations/${encodeURIComponent(id)}`;
  const isTerminal = Deno.stdin.isTerminal() && Deno.stdout.isTerminal();
  if (!isTerminal) {
    if (takesOver) {
      throw new CliError("Cannot take over the conversation: stdin and stdout are no terminal", {
        suggestion: "Run it in a terminal, or leave --take-over out",
      });
    }
    print(Deno.stdout, `${rowsOf(await screenOf(server, path)).join("\n")}\n`);
    return 0;
  }
  const over = new AbortController();
  const stopped = Promise.withResolvers<void>();
  using _signals = listenToSignals(["SIGINT", "SIGTERM", "SIGHUP"], () => stopped.resolve());
  const typed = typing(takesOver ? LEAVES_TYPING : LEAVES_WATCHING, over);
  Deno.stdin.setRaw(true);
  print(Deno.stdout, ENTER);
  let isGone = false;
  try {
    await Promise.race([
      watch(server, { id, path, takesOver, over: over.signal }).then(() => isGone = true),
      takesOver ? take(server, { path, keys: typed.keys, over: over.signal }) : typed.left,
      // A server that no longer answers holds nobody.
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

/** Draws the screen again and again, until the conversation is no longer there. */
async function watch(
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
      screen = await screenOf(server, path);
    } catch (error) {
      if ((await toldConversations(server)).some((each) => each.id === id)) throw error;
      return;
    }
    const text = draw(rowsOf(screen), takesOver);
    if (text !== drawn) print(Deno.stdout, text);
    drawn = text;
    await delay(LOOK_MS);
  }
}

/** Holds the conversation, and types in it, as long as the request lasts. */
async function take(
  server: ServerClient,
  { path, keys, over }: {
    readonly path: string;
    readonly keys: ReadableStream<Uint8Array<ArrayBuffer>>;
    readonly over: AbortSignal;
  },
): Promise<void> {
  await server.ask(`${path}/keys`, { body: keys, signal: over });
}

/** What the user types, up to the key that leaves. */
function typing(leaving: readonly number[], over: AbortController): {
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

async function screenOf(server: ServerClient, path: string): Promise<string> {
  return await (await server.ask(`${path}/screen`)).text();
}

/** The rows of a screen, in which nothing can drive a terminal; Claude Code's prompt has a no-break space. */
function rowsOf(text: string): readonly string[] {
  const plain = text.replaceAll("\u{a0}", " ");
  return plain.trimEnd().split("\n").map((row) => nameUnseen(row.trimEnd()));
}

/** The last rows, as many as there is room for, and how to leave. */
function draw(rows: readonly string[], takesOver: boolean): string {
  const { rows: height } = Deno.consoleSize();
  const hint = takesOver ? "You have taken over: Ctrl-] hands back" : "Watching: q leaves";
  const shown = rows.slice(-Math.max(1, height - 1));
  const empty = Array(Math.max(0, height - 1 - shown.length)).fill("");
  return `\x1b[H${
    [...shown, ...empty, `\x1b[7m ${hint} \x1b[0m`].map((row) => `\x1b[K${row}`).join("\r\n")
  }`;
}
