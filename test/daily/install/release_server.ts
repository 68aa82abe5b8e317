/** How a release server answers one path. */
export type Answer =
  | { readonly text: string }
  /** Answers with 404 and this reason. */
  | { readonly missing: string }
  /** Goes on at another path. */
  | { readonly redirect: string }
  /** Promises a text, sends half of it, and then nothing more. */
  | { readonly stallsIn: string }
  /** Promises a text, sends half of it, and drops the connection. */
  | { readonly breaksIn: string };

/** A web server with releases, on loopback. */
export interface ReleaseServer extends AsyncDisposable {
  /** The URL of all releases. */
  readonly url: string;
  /** Resolves once an answer stalls. */
  readonly stalled: Promise<void>;
}

/**
 * Serves answers by path, such as `/latest/download/claude-print-x86_64-linux`.
 *
 * @param identity a certificate and its key, as PEM: the server then speaks https
 */
export function serveReleases(
  answers: Readonly<Record<string, Answer>>,
  identity?: { readonly cert: string; readonly key: string },
): ReleaseServer {
  const place = { hostname: "127.0.0.1", port: 0 };
  const listener = identity === undefined
    ? Deno.listen(place)
    : Deno.listenTls({ ...place, ...identity });
  const stalled = Promise.withResolvers<void>();

  const serve = async (connection: Deno.Conn) => {
    try {
      const path = await askedPath(connection);
      const answer = answers[path] ?? { missing: "Not Found" };
      await write(connection, response(answer));
      if ("stallsIn" in answer) {
        stalled.resolve();
        // Until the other side goes.
        await connection.read(new Uint8Array(1));
      }
    } catch {
      // The other side went first, or the test is over.
    } finally {
      connection.close();
    }
  };
  const serving = (async () => {
    const served: Promise<void>[] = [];
    for await (const connection of listener) served.push(serve(connection));
    await Promise.all(served);
  })();
  return {
    url: `${identity === undefined ? "http" : "https"}://127.0.0.1:${listener.addr.port}`,
    stalled: stalled.promise,
    [Symbol.asyncDispose]: async () => {
      listener.close();
      await serving;
    },
  };
}

/** Reads the head of a request. */
async function askedPath(connection: Deno.Conn): Promise<string> {
  const buffer = new Uint8Array(4096);
  let head = "";
  while (!head.includes("\r\n\r\n")) {
    const length = await connection.read(buffer);
    if (length === null) break;
    head += new TextDecoder().decode(buffer.subarray(0, length));
  }
  return head.split(" ")[1] ?? "";
}

function response(answer: Answer): string {
  const head = (line: string, length: number) =>
    `HTTP/1.1 ${line}\r\nConnection: close\r\nContent-Length: ${length}\r\n`;
  if ("missing" in answer) return `${head(`404 ${answer.missing}`, 0)}\r\n`;
  if ("redirect" in answer) {
    return `${head("302 Found", 0)}Location: ${answer.redirect}\r\n\r\n`;
  }
  if ("text" in answer) return `${head("200 OK", answer.text.length)}\r\n${answer.text}`;
  const text = "stallsIn" in answer ? answer.stallsIn : answer.breaksIn;
  return `${head("200 OK", text.length)}\r\n${text.slice(0, text.length / 2)}`;
}

async function write(connection: Deno.Conn, text: string): Promise<void> {
  const bytes = new TextEncoder().encode(text);
  for (let sent = 0; sent < bytes.length;) sent += await connection.write(bytes.subarray(sent));
}
