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

/** What is known of the turn besides. */
interface OfTurn {
  /** When the child was started, in milliseconds since the epoch. */
  readonly startedAt: number;
  /** When the prompt was written down; what came before is of another turn, and so not told. */
  readonly promptAt: number;
}

/** When the request for it went out, in milliseconds since the epoch. */
export function sentAt(times: StreamTimes | undefined, of: OfTurn): number | undefined {
  return isOfTurn(times, of) ? Math.round(of.startedAt + times.askedAt) : undefined;
}

/** How long a turn's prompt waited for the first of its answer. */
export function timesToFirst(times: StreamTimes | undefined, of: OfTurn): TimesToFirst {
  if (!isOfTurn(times, of)) return {};
  const { startedAt, promptAt } = of;
  const after = (at: number) => Math.max(0, Math.round(startedAt + at - promptAt));
  const { askedAt, begunAt, contentAt, wholeAt } = times;
  return {
    ...(wholeAt === undefined ? {} : { ttft_ms: after(wholeAt) }),
    ttft_stream_ms: after(begunAt),
    time_to_request_ms: after(askedAt),
    ...(contentAt === undefined ? {} : { first_content_frame_ms: after(contentAt) }),
  };
}

function isOfTurn(
  times: StreamTimes | undefined,
  { startedAt, promptAt }: OfTurn,
): times is StreamTimes {
  return times !== undefined && startedAt + times.askedAt >= promptAt;
}
