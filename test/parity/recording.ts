import type { Cast } from "../../src/recording/cassette/cassette_format.ts";
import { parseCast } from "../../src/recording/cassette/read/read_cast.ts";
import { encodeCast } from "../../fixtures/encode_whole.ts";
import type { JsonObject, MaskedOutput } from "./mask.ts";

/** What is compared of a row. */
export interface RowResult extends MaskedOutput {
  readonly failed: boolean;
  /** Whether stderr says something although the run did not fail. */
  readonly warns: boolean;
  /** How many requests of the conversation were made. */
  readonly requests: number;
  /** The files in the project after the run. */
  readonly files: readonly string[];
  /** What the API was asked, request by request, in parts of which many rows have the same. */
  readonly asked?: readonly (readonly JsonObject[])[];
}

/** What `claude -p` made of the rows, by their names. */
export type Recording = ReadonlyMap<string, RowResult>;

/** Frames and parts of requests by their numbers: most rows have some in common. */
interface Line extends Omit<RowResult, "stdout" | "asked"> {
  readonly row: string;
  readonly stdout: string | readonly number[];
  readonly asked?: readonly (readonly number[])[];
}

const FOLDER = new URL("../../fixtures/recordings/parity", import.meta.url).pathname;

/** Reads what `claude -p` of a version made of the rows; empty if nothing is recorded. */
export function readRecording(version: string): Recording {
  return parsed(textOf(`${FOLDER}/${version}.jsonl`) ?? "");
}

/** Writes what `claude -p` of a version made of the rows. */
export function writeRecording(version: string, recording: Recording): void {
  Deno.writeTextFileSync(`${FOLDER}/${version}.jsonl`, encoded(recording));
}

/** Reads the inputs of a row's run of `claude-print`, a cast for each child; empty if there was none. */
export function readCasts(version: string, row: string): readonly Cast[] {
  const casts: Cast[] = [];
  for (;;) {
    const path = castPath(version, row, casts.length);
    const text = textOf(path);
    if (text === undefined) return casts;
    casts.push(parseCast(text, { path }));
  }
}

/** Writes the inputs of a row's run in the place of those that were recorded before. */
export function writeCasts(version: string, row: string, casts: readonly Cast[]): void {
  for (const index of readCasts(version, row).keys()) {
    Deno.removeSync(castPath(version, row, index));
  }
  Deno.mkdirSync(`${FOLDER}/${version}/rows`, { recursive: true });
  for (const [index, cast] of casts.entries()) {
    Deno.writeTextFileSync(castPath(version, row, index), encodeCast(cast));
  }
}

function castPath(version: string, row: string, index: number): string {
  return `${FOLDER}/${version}/rows/${row}${index === 0 ? "" : `.${index + 1}`}.cast`;
}

function textOf(path: string): string | undefined {
  try {
    return Deno.readTextFileSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Reads a line for each row, before which stand the frames and parts of requests that no earlier row has. */
function parsed(text: string): Recording {
  const objects: JsonObject[] = [];
  const rows = new Map<string, RowResult>();
  for (const line of text.split("\n").slice(0, -1)) {
    const value = JSON.parse(line);
    if (value.row === undefined) {
      objects.push(value);
      continue;
    }
    const { row, stdout, asked, ...rest }: Line = value;
    const named = (numbers: readonly number[]) => numbers.map((index) => objects[index] ?? {});
    rows.set(row, {
      ...rest,
      stdout: typeof stdout === "string" ? stdout : named(stdout),
      ...(asked === undefined ? {} : { asked: asked.map(named) }),
    });
  }
  return rows;
}

function encoded(recording: Recording): string {
  const lines: string[] = [];
  const numbers = new Map<string, number>();
  const numbered = (objects: readonly JsonObject[]) =>
    objects.map((object) => {
      const text = JSON.stringify(object);
      const known = numbers.get(text);
      if (known !== undefined) return known;
      lines.push(text);
      numbers.set(text, numbers.size);
      return numbers.size - 1;
    });
  for (const [row, { stdout, asked, ...rest }] of recording) {
    const printed = typeof stdout === "string" ? stdout : numbered(stdout);
    lines.push(JSON.stringify({ row, ...rest, stdout: printed, asked: asked?.map(numbered) }));
  }
  return `${lines.join("\n")}\n`;
}
