import type { Frame } from "./frame.ts";
import type { StreamEventFrame } from "./message_frames.ts";

/** How text is written that appears before it is known whether it belongs to the answer. */
export interface TextStreamOptions {
  readonly write: (text: string) => void;
  /** Called once if more has appeared than what the text format prints. */
  readonly onRemark?: () => void;
}

/** Writes answers as they are written. */
export interface TextStream {
  /** Takes a frame that is no result. */
  readonly follow: (frame: Frame) => void;
  /** Completes what has appeared to the text of a result. */
  readonly complete: (text: string) => void;
  /** Completes what has appeared to the text so far of a turn that failed, and ends its line. */
  readonly cut: (textSoFar?: string) => void;
  /** Puts something before whatever appears next. */
  readonly separate: (separator: string) => void;
}

/**
 * Follows the texts of a turn. What Claude says before it calls a tool is no part of the answer, and nobody knows
 * whether a call will follow: so the first line of a text waits until a second one has begun, and remarks of one line
 * never appear. Longer ones do, with an empty line after them.
 */
export function textStream({ write, onRemark = () => {} }: TextStreamOptions): TextStream {
  /** What of the present text has appeared, and what of it waits. */
  let shown = "";
  let waiting = "";
  /** The last remark of the turn that has appeared. */
  let left = "";
  let separator = "";
  let remarked = false;
  const show = (text: string) => {
    write(separator + text);
    separator = "";
  };
  const reportRemark = () => {
    if (!remarked) onRemark();
    remarked = true;
  };
  const leave = () => {
    if (shown !== "") {
      separator = shown.endsWith("\n") ? "\n" : "\n\n";
      left = shown;
      reportRemark();
    }
    shown = "";
    waiting = "";
  };
  const reset = () => {
    shown = "";
    waiting = "";
    left = "";
  };
  /** Returns what of a result's text has not appeared yet. */
  const restOf = (text: string): string => {
    if (text.startsWith(shown)) return text.slice(shown.length);
    // Two texts of one answer may be one block of the stream, and the result is the last of them.
    const unended = text.replace(/\n$/u, "");
    const ending = [text, unended].find((each) => each !== "" && shown.endsWith(each));
    if (ending === undefined) {
      leave();
      return text;
    }
    reportRemark();
    return text.slice(ending.length);
  };
  return {
    follow: (frame) => {
      if (frame.type !== "stream_event") return;
      const { event } = frame as StreamEventFrame;
      if (event.type === "content_block_start") leave();
      const text = event.delta?.["text"];
      if (typeof text !== "string") return;
      waiting += text;
      if (shown === "" && !/\n[^]/u.test(waiting.trimStart())) return;
      show(waiting);
      shown += waiting;
      waiting = "";
    },
    complete: (text) => {
      const rest = restOf(text);
      if (rest !== "") show(rest);
      reset();
    },
    cut: (textSoFar = "") => {
      const last = shown || left;
      const hasAppeared = last.endsWith(textSoFar);
      if (!hasAppeared) show(restOf(textSoFar));
      const end = hasAppeared ? last : textSoFar;
      if (end !== "" && !end.endsWith("\n")) write("\n");
      reset();
    },
    separate: (between) => separator = between,
  };
}
