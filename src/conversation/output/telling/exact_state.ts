import type { ApiRetry, HeardLimits, RequestOffer, StreamedPart } from "../../control/input.ts";
import type { StreamEvent } from "../../../claude/wire/message_frames.ts";
import type { StreamTimes } from "../result/result_frame.ts";

/** What has to be remembered to say answers event by event, as the API streams them. */
export interface ExactState {
  /** What has been heard and waits for what the transcript has to tell before it, the oldest first. */
  readonly waiting: readonly HeardPart[];
  /** When the requests under way were made, in milliseconds from the start of the child. */
  readonly askedAt: ReadonlyMap<number, number>;
  /** The answer that is being told. */
  readonly open?: StreamedAnswer;
  /** What the API says of limits with answers to the last requests. */
  readonly limits: ReadonlyMap<number, HeardLimits>;
  /** By what other limits than those that were told last are known; absent where none were told. */
  readonly toldLimits?: string | undefined;
  /** The calls of the last answer that have not returned: until then the model is not asked again. */
  readonly calls: ReadonlySet<string>;
  /** Whether the model has been told something since its last answer. */
  readonly fresh: boolean;
  /** How much has been thought in the block under way, in tokens. */
  readonly thought: number;
  /** What the first request offered the model. */
  readonly offer?: RequestOffer;
  /** When the first answer since the last result came. */
  readonly times?: StreamTimes | undefined;
}

/** A part of a stream, and when it was heard. */
export interface StreamPart {
  readonly at: number;
  readonly request: number;
  readonly part: Exclude<StreamedPart, { readonly kind: "limits" }>;
}

/** The same, or that the last request is made again. */
export type HeardPart = StreamPart | { readonly retry: ApiRetry };

/** An answer whose beginning has been told. */
export interface StreamedAnswer {
  readonly request: number;
  /** The API's id. */
  readonly id: string;
  /** How many blocks have begun and ended in the stream, and how many lines of it have been told. */
  readonly begun: number;
  readonly ended: number;
  readonly shown: number;
  /** The end of the last block and what follows it: the frames of the answer come before. */
  readonly tail: readonly StreamEvent[];
  /** The call with which it gives a structured answer. */
  readonly output?: string;
  /** Set once the stream is over, in whichever way. */
  readonly over?: "whole" | "broken";
}

/** Nothing has been heard yet. */
export const NO_STREAM: ExactState = {
  waiting: [],
  askedAt: new Map(),
  limits: new Map(),
  calls: new Set(),
  fresh: true,
  thought: 0,
};
