/** When a turn's first answer was asked for and came, in milliseconds from the start of the child. */
export interface StreamTimes {
  readonly askedAt: number;
  readonly begunAt: number;
  /** When its first block began. */
  readonly contentAt?: number;
  /** When its first block was whole. */
  readonly wholeAt?: number;
}

/** Fields of a result, in milliseconds from the prompt. */
export interface TimesToFirst {
  readonly ttft_ms?: number;
  readonly ttft_stream_ms?: number;
  readonly time_to_request_ms?: number;
  readonly first_content_frame_ms?: number;
}

/**
 * How long a turn's prompt waited for the first of its answer.
 *
 * @param options.promptAt when the prompt was written down; what came before is of another turn, and so not told
 */
export function timesToFirst(
  times: StreamTimes | undefined,
  { startedAt, promptAt }: { readonly startedAt: number; readonly promptAt: number },
): TimesToFirst {
  if (times === undefined || !(startedAt + times.askedAt >= promptAt)) return {};
  const after = (at: number) => Math.max(0, Math.round(startedAt + at - promptAt));
  const { askedAt, begunAt, contentAt, wholeAt } = times;
  return {
    ...(wholeAt === undefined ? {} : { ttft_ms: after(wholeAt) }),
    ttft_stream_ms: after(begunAt),
    time_to_request_ms: after(askedAt),
    ...(contentAt === undefined ? {} : { first_content_frame_ms: after(contentAt) }),
  };
}
