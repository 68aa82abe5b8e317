import type { JsonObject, Masked } from "./mask.ts";

/** What `claude -p` made of the rows, by their names. */
export type Recording = ReadonlyMap<string, Masked>;

/** Frames and parts of requests by their numbers: most rows have some in common. */
interface Line extends Omit<Masked, "stdout" | "asked"> {
  readonly row: string;
  readonly stdout: string | readonly number[];
  readonly asked?: readonly (readonly number[])[];
}

/** Reads what is recorded of a version; nothing may be. */
export async function readRecording(version: string): Promise<Recording | undefined> {
  try {
    return parsed(await Deno.readTextFile(pathOf(version)));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Writes the recording of a version. */
export async function writeRecording(version: string, recording: Recording): Promise<void> {
  const path = pathOf(version);
  await Deno.mkdir(new URL(".", path), { recursive: true });
  await Deno.writeTextFile(path, encoded(recording));
}

function pathOf(version: string): URL {
  return new URL(`../../../fixtures/recordings/parity/${version}.jsonl`, import.meta.url);
}

/** A line a row, and ahead of it the frames and parts of requests that no row before it has. */
function parsed(text: string): Recording {
  const objects: JsonObject[] = [];
  const rows = new Map<string, Masked>();
  for (const line of text.trimEnd().split("\n")) {
    const value = JSON.parse(line);
    if (value.row === undefined) {
      objects.push(value);
      continue;
    }
    const { row, stdout, asked, ...told }: Line = value;
    const named = (numbers: readonly number[]) => numbers.map((index) => objects[index] ?? {});
    rows.set(row, {
      ...told,
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
  for (const [row, { stdout, asked, ...told }] of recording) {
    const printed = typeof stdout === "string" ? stdout : numbered(stdout);
    lines.push(JSON.stringify({ row, ...told, stdout: printed, asked: asked?.map(numbered) }));
  }
  return `${lines.join("\n")}\n`;
}
