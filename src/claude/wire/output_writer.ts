import type { Frame } from "./frame.ts";
import { jsonLine } from "./json_text.ts";
import type { StreamEventFrame } from "./message_frames.ts";

/** The values of `--output-format`. */
export type OutputFormat = "text" | "json" | "stream-json";

/** The output format of a run. */
export interface OutputKind {
  readonly format: OutputFormat;
  /** With `json`, an array of all frames instead of the result alone. */
  readonly verbose: boolean;
}

/** Prints a run on stdout in one of the formats. */
export interface OutputWriter {
  /** Receives each frame in order, results included. */
  readonly frame: (frame: Frame) => void;
  /** Prints the output that the format defers to the end of the run: all output of `json`. */
  readonly end: () => void;
}

/** Options of an output writer. */
export interface OutputOptions {
  /** With `json`, an array of all frames instead of the result alone. */
  readonly verbose: boolean;
  /** Writes or buffers a text. It must not drop any part of it. */
  readonly write: (text: string) => void;
  /** With `text`: prints answers while the model writes them. */
  readonly stream?: Omit<TextStreamOptions, "write">;
}

/**
 * Creates the writer for a format.
 *
 * - `text` prints the answer or the message of an API error, with a newline at its end. If a limit of the turn is reached,
 *   it prints a sentence without a newline. If a turn is cut short, it prints the text before that. Other failures of this
 *   program appear on stderr only. An empty line separates the turns of a conversation.
 * - `json` prints one line at the end: the last result, or with `verbose` the array of all frames, without those about
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
  /** The answer of the previous turn. */
  let answer: string | undefined;
  return {
    frame: (frame) => {
      if (frame.type !== "result") {
        if (stream !== undefined) live.follow(frame);
        return;
      }
      const text = frameText(frame);
      if (text === undefined) {
        const partial = partialText(frame);
        // A run that waits for background tasks is cut short with the answer that it has given.
        live.cut(partial === answer ? undefined : partial);
      } else {
        answer = `${frame["result"]}`;
        live.complete(text);
        live.separate("\n");
      }
    },
    end: () => {},
  };
}

/** Subtypes of turns that were cut short: their partial text is printed. */
const CUT_SHORT_SUBTYPES: readonly unknown[] = ["timeout", "idle_timeout", "interrupted"];

function partialText({ subtype, result }: Frame): string | undefined {
  return CUT_SHORT_SUBTYPES.includes(subtype) && typeof result === "string" ? result : undefined;
}

/** Returns the output of a result in the text format; undefined for the subtypes of this program. */
function frameText(frame: Frame): string | undefined {
  if (frame.type !== "result") return undefined;
  switch (frame.subtype) {
    case "success":
      return `${frame.result}`.replace(/\n?$/u, "\n");
    case "error_during_execution":
      // A run that found no session to resume has no `terminal_reason`, and its error is on stderr only.
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

/** Reads the number of a limit from the error of a result: `Reached maximum number of turns (2)`. */
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
      write(`${jsonLine(dropStreamJsonFields(last))}\n`);
    },
  };
}

/** Subtypes of system frames that `claude -p` prints in stream-json but omits from the array of verbose json. */
const OMITTED_SUBTYPES =
  /^(task_.*|background_tasks_changed|permission_denied|hook_.*|notification)$/u;

function arrayWriter(write: OutputOptions["write"]): OutputWriter {
  // Stored as text, because frames can be large.
  const lines: string[] = [];
  return {
    frame: (frame) => {
      if (frame.type !== "system" || !OMITTED_SUBTYPES.test(`${frame["subtype"]}`)) {
        lines.push(jsonLine(dropStreamJsonFields(frame)));
      }
    },
    end: () => write(`[${lines.join(",")}]\n`),
  };
}

/** Removes the fields that `claude -p` prints in stream-json only. */
function dropStreamJsonFields({ model_usage_since_last_result: _, ...frame }: Frame): Frame {
  return frame as Frame;
}

/** How live text is printed. */
interface TextStreamOptions {
  readonly write: (text: string) => void;
  /** Called once, when text is printed that does not belong to an answer. */
  readonly onRemark?: () => void;
}

/** Prints an answer while the model writes it. */
interface TextStream {
  /** Receives a frame that is no result. */
  readonly follow: (frame: Frame) => void;
  /** Prints the rest of a result's text. */
  readonly complete: (text: string) => void;
  /** Prints the rest of the partial text of a turn that was cut short, and ends its line. */
  readonly cut: (partial?: string) => void;
  /** Prints a separator before the next text. */
  readonly separate: (separator: string) => void;
}

/**
 * Prints the texts of a turn while they arrive. A text before a tool call is a remark and does not belong to the answer, but
 * a call can follow every text. So the first line of a text is buffered until the second line begins: remarks of one line
 * are never printed. Longer remarks are printed, with an empty line after them.
 */
function textStream({ write, onRemark = () => {} }: TextStreamOptions): TextStream {
  /** The printed and the buffered part of the current text block. */
  let printed = "";
  let buffered = "";
  /** The last printed remark of the turn. */
  let lastRemark = "";
  let separator = "";
  let hasReportedRemark = false;
  const print = (text: string) => {
    write(separator + text);
    separator = "";
  };
  const reportRemark = () => {
    if (!hasReportedRemark) onRemark();
    hasReportedRemark = true;
  };
  const endBlock = () => {
    if (printed !== "") {
      separator = printed.endsWith("\n") ? "\n" : "\n\n";
      lastRemark = printed;
      reportRemark();
    }
    printed = "";
    buffered = "";
  };
  const reset = () => {
    printed = "";
    buffered = "";
    lastRemark = "";
  };
  /** Returns the part of a result's text that is not printed yet. */
  const restOf = (text: string): string => {
    if (text.startsWith(printed)) return text.slice(printed.length);
    // One block of the stream can contain two texts of an answer. The result is the last one.
    const unended = text.replace(/\n$/u, "");
    const ending = [text, unended].find((each) => each !== "" && printed.endsWith(each));
    if (ending === undefined) {
      endBlock();
      return text;
    }
    reportRemark();
    return text.slice(ending.length);
  };
  return {
    follow: (frame) => {
      if (frame.type !== "stream_event") return;
      const { event } = frame as StreamEventFrame;
      if (event.type === "content_block_start") endBlock();
      const text = event.delta?.["text"];
      if (typeof text !== "string") return;
      buffered += text;
      if (printed === "" && !/\n[^]/u.test(buffered.trimStart())) return;
      print(buffered);
      printed += buffered;
      buffered = "";
    },
    complete: (text) => {
      const rest = restOf(text);
      if (rest !== "") print(rest);
      reset();
    },
    cut: (partial = "") => {
      const last = printed || lastRemark;
      const isPrinted = last.endsWith(partial);
      if (!isPrinted) print(restOf(partial));
      const end = isPrinted ? last : partial;
      if (end !== "" && !end.endsWith("\n")) write("\n");
      reset();
    },
    separate: (between) => separator = between,
  };
}
