import { CliError } from "../../../cli_error.ts";
import { createLineSplitter } from "../../../claude/transcript/files/line_splitter.ts";
import { LONGEST_LINE } from "../../../claude/transcript/files/longest_line.ts";
import { damagedLine, type ParsedLine, parseLine } from "./parse_lines.ts";
import { readPart } from "./read_part.ts";

/** Bytes that are read at once. */
const CHUNK = 1024 * 1024;

/** What is read, and who is told what of the lines. */
interface LineOptions {
  /** The largest file that is read, in bytes; any by default. */
  readonly limit?: number;
  readonly onBytes?: (count: number) => void;
  /** Takes what is wrong with a line, and the next one is read; without it that is the end. */
  readonly onDamage?: (error: CliError, line: number) => void;
}

/**
 * Reads a part of a cassette that holds a JSON value a line, line by line, so that it takes no more memory than its longest
 * line, however long it is.
 *
 * @param options.onBytes takes how many bytes have been read each time
 * @returns nothing where there is no such file
 * @throws {CliError} when the file cannot be read, and as `parseLines()` does, by way of what is returned
 */
export function partLines(
  path: string,
  options: LineOptions = {},
): Generator<ParsedLine, undefined> | undefined {
  const { limit = Infinity } = options;
  const first = readPart(path, { limit, most: CHUNK });
  return first && linesBehind(first, { ...options, limit, path });
}

function* linesBehind(
  first: Uint8Array<ArrayBuffer>,
  { path, limit, onBytes = () => {}, onDamage }: LineOptions & {
    readonly path: string;
    readonly limit: number;
  },
): Generator<ParsedLine, undefined> {
  const splitter = createLineSplitter();
  const read = (line: string, number: number, isLast: boolean): ParsedLine | undefined => {
    try {
      return parseLine(line, { number, path, isLast });
    } catch (error) {
      if (onDamage === undefined || !(error instanceof CliError)) throw error;
      onDamage(error, number);
      return undefined;
    }
  };
  let number = 0;
  let from = 0;
  for (let chunk = first; chunk.length > 0;) {
    onBytes(chunk.length);
    from += chunk.length;
    for (const line of splitter.push(chunk)) {
      number++;
      const parsed = read(line, number, false);
      if (parsed !== undefined) yield parsed;
    }
    if (splitter.pending() > LONGEST_LINE) {
      throw damagedLine(number + 1, { path, what: "it is longer than any run writes" });
    }
    chunk = readPart(path, { limit, from, most: CHUNK }) ?? new Uint8Array();
  }
  const last = read(splitter.remainder(), number + 1, true);
  if (last !== undefined) yield last;
  return undefined;
}
