import type { IncomingMessage, ServerResponse } from "node:http";
import { once } from "node:events";

/** A request of Node's HTTP server as one of the web's; undefined where the web has no such request. */
export function webRequest(request: IncomingMessage): Request | undefined {
  const { method = "GET", url = "/", headers } = request;
  const hasBody = "content-length" in headers || "transfer-encoding" in headers;
  const fields = Object.entries(request.headersDistinct)
    .flatMap(([name, values = []]) => values.map((value): [string, string] => [name, value]));
  try {
    return new Request(url.startsWith("/") ? `http://${headers.host ?? "localhost"}${url}` : url, {
      method,
      headers: fields,
      ...(hasBody && !["GET", "HEAD"].includes(method)
        // Node would close the connection before the answer when a body is given up that has not arrived.
        ? { body: ReadableStream.from(request.iterator({ destroyOnReturn: false })) }
        : {}),
    });
  } catch {
    return undefined;
  }
}

/** Sends an answer, as fast as the client reads it, and resolves when it is sent or `gone` is aborted. */
export async function sendResponse(
  { status, headers, body }: Response,
  { to, gone }: { readonly to: ServerResponse; readonly gone: AbortSignal },
): Promise<void> {
  to.writeHead(status, Object.fromEntries(headers));
  const reader = body?.getReader();
  const cancel = () => void reader?.cancel().catch(() => {});
  gone.addEventListener("abort", cancel, { once: true });
  try {
    if (gone.aborted) return cancel();
    to.flushHeaders();
    for (;;) {
      const { done, value } = await reader?.read() ?? { done: true, value: undefined };
      if (done || gone.aborted) break;
      if (!to.write(value)) await once(to, "drain", { signal: gone });
    }
    to.end();
    if (!to.writableFinished) await once(to, "finish", { signal: gone });
  } catch (error) {
    cancel();
    to.destroy();
    if (!gone.aborted) throw error;
  } finally {
    gone.removeEventListener("abort", cancel);
  }
}
