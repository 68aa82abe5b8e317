import type { Frame } from "./frame.ts";
import { jsonLine } from "./json_text.ts";
import type { StreamEventFrame } from "./message_frames.ts";

/** The values of `--output-format`. */
export type OutputFormat = "text" | "json" | "stream-json";

/** How a run is printed. */
export interface OutputKind {
  readonly format: OutputFormat;
  /** With `json`, an array of all frames instead of the result alone. */
  readonly verbose: boolean;
}

/** Prints a run on stdout in one of the formats. */
export interface OutputWriter {
  /** Takes a frame as it happens, each turn's result included. */
  readonly frame: (frame: Frame) => void;
  /** Prints what the format keeps for the end: without it a run in json has no output. */
  readonly end: () => void;
}

/** How to print. */
export interface OutputOptions {
  /** With `json`, an array of all frames instead of the result alone. */
  readonly verbose: boolean;
  /** Writes all of a text before it returns. */
  readonly write: (text: string) => void;
  /** With `text`, whether answers appear as they are written, and what to do when more has appeared than the answer. */
  readonly stream?: Omit<TextStreamOptions, "write">;
}

/**
 * Creates the writer for a format.
 *
 * - `text` prints the answer, or the sentence of an API error, and a newline if it ends without; at the limit of
 *   turns a sentence without one. A turn that is cut short prints its text so far. Other failures of this program print
 *   nothing: they are reported on stderr. Of several turns all are printed as they end, with an empty line in between.
 * - `json` prints one line at the end: the last result, or with `verbose` the array of the frames, without those about
 *   tasks, denials and hooks.
 * - `stream-json` prints each frame at once, on a line of its own.
 */
export function createOutputWriter(format: OutputFormat, options: OutputOptions): OutputWriter {
  const { write } = options;
  switch (format) {
    case "text":
      return textWriter(options);
    case "json":
      return options.verbose ? arrayWriter(write) : resultWriter(write);
    case "stream-json":
      return { frame: (frame) => write(`${jsonLine(frame)}\n`), end: () => {} };
  }
}

function textWriter({ write, stream }: OutputOptions): OutputWriter {
  const live = textStream({ ...stream, write });
  return {
    frame: (frame) => {
      if (frame.type !== "result") {
        if (stream !== undefined) live.follow(frame);
        return;
      }
      const text = textOf(frame);
      if (text === undefined) {
        live.cut(textSoFar(frame));
      } else {
        live.complete(text);
        live.separate("\n");
      }
    },
    end: () => {},
  };
}

/** How a turn ends that is cut short: what the model has said by then is printed. */
const CUT_SHORT: readonly unknown[] = ["timeout", "idle_timeout", "interrupted"];

function textSoFar({ subtype, result }: Frame): string | undefined {
  return CUT_SHORT.includes(subtype) && typeof result === "string" ? result : undefined;
}

/** What a frame says in text; only results of `claude -p` itself do. */
function textOf(frame: Frame): string | undefined {
  if (frame.type !== "result") return undefined;
  switch (frame.subtype) {
    case "success":
      return `${frame.result}`.replace(/\n?$/u, "\n");
    case "error_during_execution":
      // What had nothing to go on with has no reason of an end, and is told on stderr alone.
      return frame["terminal_reason"] === undefined ? undefined : "Execution error";
    case "error_max_turns":
      return `Error: Reached max turns (${limitIn(frame)})`;
    case "error_max_budget_usd":
      return `Error: Exceeded USD budget (${limitIn(frame)})`;
    case "error_max_structured_output_retries": {
      const [error] = Array.isArray(frame["errors"]) ? frame["errors"] : [];
      return `Error: ${error}`;
    }
    default:
      return undefined;
  }
}

/** The limit that a turn was stopped at, as its result names it. */
function limitIn({ errors }: Frame): string | undefined {
  const [error] = Array.isArray(errors) ? errors : [];
  return /\(\$?(.+)\)/u.exec(`${error}`)?.[1];
}

function resultWriter(write: OutputOptions["write"]): OutputWriter {
  let last: Frame | undefined;
  return {
    frame: (frame) => {
      if (frame.type === "result") last = frame;
    },
    end: () => {
      if (last === undefined) return;
      write(`${jsonLine(alone(last))}\n`);
    },
  };
}

/** What `claude -p` tells as it happens and leaves out of the array. */
const PASSING = /^(task_.*|background_tasks_changed|permission_denied|hook_.*|notification)$/u;

function arrayWriter(write: OutputOptions["write"]): OutputWriter {
  // Kept as text: frames can be large, and their strings are needed once.
  const lines: string[] = [];
  return {
    frame: (frame) => {
      if (frame.type !== "system" || !PASSING.test(`${frame["subtype"]}`)) {
        lines.push(jsonLine(alone(frame)));
      }
    },
    end: () => write(`[${lines.join(",")}]\n`),
  };
}

/** What is new since another result is told in stream-json only. */
function alone({ model_usage_since_last_result: _, ...frame }: Frame): Frame {
  return frame as Frame;
}

/** How text is written that appears before it is known whether it belongs to the answer. */
interface TextStreamOptions {
  readonly write: (text: string) => void;
  /** Called once if more has appeared than what the text format prints. */
  readonly onRemark?: () => void;
}

/** Writes answers as they are written. */
interface TextStream {
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
function textStream({ write, onRemark = () => {} }: TextStreamOptions): TextStream {
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
