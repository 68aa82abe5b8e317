/** The answer of a server. */
export interface Said {
  readonly status: number;
  readonly headers: Headers;
  // deno-lint-ignore no-explicit-any -- a test looks at what it expects
  readonly body: any;
}

/** A client of an HTTP server on a Unix socket. */
export interface SocketClient extends Disposable {
  readonly request: (method: string, path: string, init?: RequestInit) => Promise<Response>;
  /** Sends a body as JSON, if there is one, and reads the complete answer. */
  readonly ask: (method: string, path: string, body?: unknown) => Promise<Said>;
}

/** Makes a client of the server that listens on a socket. */
export function socketClient(
  socket: string,
  options: Deno.CreateHttpClientOptions = {},
): SocketClient {
  const client = Deno.createHttpClient({ proxy: { transport: "unix", path: socket }, ...options });
  const request = async (method: string, path: string, init: RequestInit = {}) =>
    await fetch(`http://localhost${path}`, { method, client, ...init });
  return {
    request,
    ask: async (method, path, body) =>
      await saidOf(
        await request(method, path, {
          ...(body === undefined ? {} : {
            body: JSON.stringify(body),
            headers: { "content-type": "application/json" },
          }),
        }),
      ),
    [Symbol.dispose]: () => client.close(),
  };
}

/** Reads a complete answer. */
export async function saidOf(answer: Response): Promise<Said> {
  const text = await answer.text();
  const isJson = answer.headers.get("content-type")?.includes("json") ?? false;
  const body = isJson && text !== "" ? JSON.parse(text) : text;
  return { status: answer.status, headers: answer.headers, body };
}
