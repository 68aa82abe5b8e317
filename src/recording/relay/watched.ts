import { isBroken, type RelayAnswer, type RelayedRequest } from "./relay.ts";

/** Whoever looks on while a request is answered. What is passed on does not wait for it. */
export interface ExchangeWatcher {
  readonly onHead?: (head: { readonly status: number; readonly headers: Headers }) => void;
  /** Takes bytes of the answer as they come, encoded as its head says; they are good only until it returns. */
  readonly onBytes?: (bytes: Uint8Array) => void;
  /** Nothing more comes: all has, or the answer broke off, on whichever side. */
  readonly onEnd?: (end: { readonly whole: boolean }) => void;
}

/**
 * Lets somebody look on at what is answered.
 *
 * @param watch called for every request; without an answer nobody looks on
 */
export function watched(
  answer: RelayAnswer,
  watch: (request: RelayedRequest) => ExchangeWatcher | undefined,
): RelayAnswer {
  return async (request, waiting) => {
    const watcher = watch(request);
    if (watcher === undefined) return await answer(request, waiting);
    let isOver = false;
    const end = (whole: boolean) => {
      if (!isOver) watcher.onEnd?.({ whole });
      isOver = true;
    };
    const response = await answer(request, waiting);
    if (isBroken(response)) {
      end(false);
      return response;
    }
    const { status, headers, body } = response;
    watcher.onHead?.({ status, headers });
    if (body === null) {
      end(true);
      return response;
    }
    return new Response(watchedBody(body, { watcher, end }), { status, headers });
  };
}

/** A body that passes on another one piece by piece, and its end in whichever way. */
function watchedBody(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  { watcher, end }: {
    readonly watcher: ExchangeWatcher;
    readonly end: (whole: boolean) => void;
  },
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          end(true);
          controller.close();
          return;
        }
        watcher.onBytes?.(value);
        controller.enqueue(value);
      } catch (error) {
        end(false);
        controller.error(error);
      }
    },
    async cancel(reason) {
      end(false);
      await reader.cancel(reason);
    },
  });
}
