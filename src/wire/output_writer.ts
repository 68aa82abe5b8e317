import type { Frame, ResultFrame } from "./frame.ts";
import { isVersionAtLeast } from "./wire_keys.ts";

/** The values of `--output-format`. */
export type OutputFormat = "text" | "json" | "stream-json";

/** Prints a run on stdout in one of the formats. */
export interface OutputWriter {
  /** Takes a frame as it happens. */
  readonly frame: (frame: Frame) => void;
  /**
   * Takes the result of a turn. `more` says that the run goes on, because a background task starts
   * another turn.
   */
  readonly result: (result: ResultFrame, options?: { readonly more?: boolean }) => void;
}

/** How to print. */
export interface OutputOptions {
  /** With `json`, an array of all frames instead of the result alone. */
  readonly verbose: boolean;
  /** Writes all of a text before it returns. */
  readonly write: (text: string) => void;
}

/**
 * Creates the writer for a format.
 *
 * - `text` prints the answer, or the sentence of an API error, and a newline if it ends without. Failures of this
 *   program print nothing: they are told on stderr. Of several turns all are printed, with an empty
 *   line in between, since Claude Code 2.1.330; before, the last.
 * - `json` prints one line: the last result, or with `verbose` the array of all frames.
 * - `stream-json` prints each frame on a line of its own.
 */
export function createOutputWriter(format: OutputFormat, options: OutputOptions): OutputWriter {
  switch (format) {
    case "text":
      return textWriter(options.write);
    case "json":
      return jsonWriter(options);
    case "stream-json":
      return {
        frame: (frame) => options.write(`${jsonLine(frame)}\n`),
        result: (result) => options.write(`${jsonLine(result)}\n`),
      };
  }
}

function textWriter(write: OutputOptions["write"]): OutputWriter {
  let separator = "";
  return {
    frame: () => {},
    result: (result, { more = false } = {}) => {
      if (result.subtype !== "success") return;
      if (more && !isVersionAtLeast(result.claude_version, "2.1.330")) return;
      const text = result.result ?? "";
      write(`${separator}${text}${text.endsWith("\n") ? "" : "\n"}`);
      separator = "\n";
    },
  };
}

function jsonWriter(options: OutputOptions): OutputWriter {
  // Kept as text: frames can be large, and their strings are needed once.
  const lines: string[] = [];
  return {
    frame: (frame) => {
      if (options.verbose) lines.push(jsonLine(frame));
    },
    result: (result, { more = false } = {}) => {
      if (options.verbose) lines.push(jsonLine(result));
      if (more) return;
      options.write(options.verbose ? `[${lines.join(",")}]\n` : `${jsonLine(result)}\n`);
    },
  };
}

/** JSON without the two separators that some readers of lines take for the end of one. */
function jsonLine(frame: Frame): string {
  return JSON.stringify(frame).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}
