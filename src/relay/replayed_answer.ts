import { type Exchange, joined } from "./exchanges/exchange.ts";
import { passedOn } from "./pass_on.ts";

/** How an exchange is played. */
export interface ReplayOptions {
  readonly method: string;
  /** How much faster than it came; 0 for at once. */
  readonly speed: number;
  /** Aborted once nobody waits any more. */
  readonly gone: AbortSignal;
}

/** The bodies of answers that come at once: a new copy for each request would be most of the work. */
const bodies = new WeakMap<Exchange["response"], Uint8Array<ArrayBuffer>>();

/** Answers with the bytes that were recorded, at once or with their pacing, and breaks off where they do. */
export function replayedAnswer(
  response: Exchange["response"],
  { method, speed, gone }: ReplayOptions,
): Response {
  const { status, headers, chunks, whole } = response;
  // What was written by hand may say how long it is.
  const head = { status, headers: passedOn(new Headers(headers.map(([...pair]) => pair))) };
  if (whole && (chunks.length === 0 || method === "HEAD")) return new Response(null, head);
  if (whole && speed === 0) return new Response(bodyOf(response), head);
  const begun = performance.now();
  const left = [...chunks];
  return new Response(
    new ReadableStream({
      async pull(controller) {
        const next = left.shift();
        if (next === undefined) {
          if (whole) controller.close();
          else controller.error(new Error("the recorded answer broke off here"));
          return;
        }
        if (speed > 0) await sleep(begun + next.ms / speed - performance.now(), gone);
        controller.enqueue(next.bytes);
      },
    }),
    head,
  );
}

function bodyOf(response: Exchange["response"]): Uint8Array<ArrayBuffer> {
  const known = bodies.get(response);
  if (known !== undefined) return known;
  const body = joined(response.chunks);
  bodies.set(response, body);
  return body;
}

/** Waits so many milliseconds, or until nobody waits any more. */
export async function sleep(ms: number, gone: AbortSignal): Promise<void> {
  if (ms <= 0 || gone.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  gone.addEventListener("abort", () => resolve(), { once: true });
  await promise;
  clearTimeout(timer);
}
