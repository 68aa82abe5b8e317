import type { Input, RequestOffer } from "../../control/input.ts";
import type { StreamTimes } from "../result/result_frame.ts";

/** What is remembered of the API's stream where answers are not told by it. */
export interface HeardFirsts {
  /** What the first request offered the model. */
  readonly offer?: RequestOffer;
  /** When requests were made, and when the first of their answers came, in milliseconds from the start of the child. */
  readonly requests: ReadonlyMap<number, HeardRequest>;
}

/** A request, and what has come of it. */
type HeardRequest = Pick<StreamTimes, "askedAt"> & Partial<StreamTimes>;

/** Nothing has been heard yet. */
export const NOTHING_HEARD: HeardFirsts = { requests: new Map() };

/** Takes a part of the API's stream; most change nothing. */
export function hearFirsts(
  heard: HeardFirsts,
  { at, request, part }: Extract<Input, { readonly type: "stream" }>,
): HeardFirsts {
  if (part.kind === "request") {
    const { offer = heard.offer } = part;
    return {
      ...(offer === undefined ? {} : { offer }),
      requests: new Map(heard.requests).set(request, { askedAt: at }),
    };
  }
  const before = heard.requests.get(request);
  if (part.kind !== "event" || before === undefined) return heard;
  const key = MOMENTS.get(part.event["type"]);
  if (key === undefined || before[key] !== undefined) return heard;
  const requests = new Map(heard.requests).set(request, { ...before, [key]: at });
  return { ...heard, requests };
}

const MOMENTS: ReadonlyMap<unknown, Exclude<keyof StreamTimes, "askedAt">> = new Map(
  [
    ["message_start", "begunAt"],
    ["content_block_start", "contentAt"],
    ["content_block_stop", "wholeAt"],
  ],
);

/** The times of the first answer to what was asked since a moment. */
export function firstTimes({ requests }: HeardFirsts, since: number): StreamTimes | undefined {
  for (const { begunAt, ...times } of requests.values()) {
    if (times.askedAt >= since && begunAt !== undefined) return { ...times, begunAt };
  }
  return undefined;
}

/** Forgets what was asked before a moment. */
export function forgetFirsts(heard: HeardFirsts, before: number): HeardFirsts {
  const requests = [...heard.requests].filter(([, { askedAt }]) => askedAt >= before);
  return { ...heard, requests: new Map(requests) };
}
