import { CliError } from "../../cli_error.ts";
import { createLineSplitter } from "../../claude/transcript/files/line_splitter.ts";
import { LONGEST_LINE } from "../../claude/transcript/files/longest_line.ts";

/** Text that is kept until somebody asks for it, in UTF-16 units; while it is more, nothing is read. */
const MOST_KEPT = 64 * 1024 * 1024;

/**
 * The lines of stdin, one a call, and nothing at its end; a last one without its end counts. It is read as fast as it
 * comes, so that nobody waits who writes before reading, as far as that can be kept.
 *
 * @returns what gives the next line, and throws a `CliError` for one that is too long
 */
export function linesOfStdin(
  { readable = Deno.stdin.readable, longest = LONGEST_LINE, mostKept = MOST_KEPT }: {
    readonly readable?: ReadableStream<Uint8Array>;
    readonly longest?: number;
    readonly mostKept?: number;
  } = {},
): () => Promise<string | undefined> {
  const lines = new LineQueue();
  let isOver = false;
  let failure: CliError | undefined;
  let count = 0;
  let wakeReader = () => {};
  let wakeCaller = () => {};
  const read = async () => {
    const splitter = createLineSplitter();
    for await (const bytes of readable) {
      const more = splitter.push(bytes);
      count += more.length;
      for (const line of more) lines.add(line);
      wakeCaller();
      if (splitter.pending() > longest) throw tooLong(count + 1, longest);
      while (lines.length > mostKept) await new Promise<void>((resolve) => wakeReader = resolve);
    }
    const last = splitter.remainder();
    if (last !== "") lines.add(last);
  };
  read().catch((error) => {
    // A stdin that cannot be read says nothing more.
    if (error instanceof CliError) failure = error;
  }).finally(() => {
    isOver = true;
    wakeCaller();
  });
  return async () => {
    for (;;) {
      const line = lines.take();
      if (line !== undefined) {
        wakeReader();
        return line;
      }
      if (failure !== undefined) throw failure;
      if (isOver) return undefined;
      await new Promise<void>((resolve) => wakeCaller = resolve);
    }
  };
}

function tooLong(line: number, longest: number): CliError {
  return new CliError(
    `Cannot read line ${line} of stdin: it is longer than any run writes, ${longest} bytes and more`,
    { suggestion: "End each message with a newline, and send what is larger in parts" },
  );
}

/** Lines that wait. An array's `shift()` moves all that are left each time. */
class LineQueue {
  #lines: string[] = [];
  #first = 0;
  /** How much text waits, in UTF-16 units, the ends of lines counted. */
  length = 0;

  add(line: string): void {
    this.#lines.push(line);
    this.length += line.length + 1;
  }

  take(): string | undefined {
    const line = this.#lines[this.#first];
    if (line === undefined) return undefined;
    this.length -= line.length + 1;
    this.#first++;
    if (2 * this.#first > this.#lines.length) {
      this.#lines = this.#lines.slice(this.#first);
      this.#first = 0;
    }
    return line;
  }
}
