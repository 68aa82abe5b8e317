import { type Exchange, joined } from "./exchanges/exchange.ts";
import { passedOn } from "./pass_on.ts";
import type { Waiting } from "./relay.ts";

/** How an exchange is played. */
export interface ReplayOptions {
  readonly method: string;
  /** How much faster than it came; 0 for at once. */
  readonly speed: number;
  readonly waiting: Waiting;
}

/** What is made of an answer once, however often it is given: to make it anew would be most of the work. */
interface Made {
  readonly head: { readonly status: number; readonly headers: [string, string][] };
  /** The body of one that comes at once. */
  body?: Uint8Array<ArrayBuffer>;
}

const made = new WeakMap<Exchange["response"], Made>();

/** Answers with the bytes that were recorded, at once or with their pacing, and breaks off where they do. */
export function replayedAnswer(
  response: Exchange["response"],
  { method, speed, waiting }: ReplayOptions,
): Response {
  const { chunks, whole } = response;
  const known = made.get(response) ?? { head: headOf(response) };
  made.set(response, known);
  const { head } = known;
  if (whole && (chunks.length === 0 || method === "HEAD")) return new Response(null, head);
  if (whole && speed === 0) return new Response(known.body ??= joined(chunks), head);
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
        if (speed > 0) await sleep(begun + next.ms / speed - performance.now(), waiting);
        controller.enqueue(next.bytes);
      },
    }),
    head,
  );
}

/** What was written by hand may say how long it is. */
function headOf({ status, headers }: Exchange["response"]): Made["head"] {
  const passed = passedOn(new Headers(headers.map(([...pair]) => pair)));
  return { status, headers: [...passed] };
}

/** Waits so many milliseconds, or until nobody waits any more. */
export async function sleep(ms: number, { signal: gone }: Waiting): Promise<void> {
  if (ms <= 0 || gone.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  gone.addEventListener("abort", () => resolve(), { once: true });
  await promise;
  clearTimeout(timer);
}
