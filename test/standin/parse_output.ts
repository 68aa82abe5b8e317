import { isObject, type JsonObject } from "../../fixtures/mock/files/json_object.ts";

/** What a run printed, understood. */
export interface ParsedOutput {
  readonly format: "text" | "json" | "stream-json";
  /** The frames on stdout, of which there is none in text format. */
  readonly frames: readonly JsonObject[];
  /** The last of them, but for what tells that a turn is over; empty in text format. */
  readonly result: JsonObject;
}

/**
 * Reads stdout as the format that was asked for promises it.
 *
 * @throws {Error} when it is something else
 */
export function parseOutput(
  { stdout }: { readonly stdout: string },
  args: readonly string[],
): ParsedOutput {
  const format = formatOf(args);
  const frames = framesOf(stdout, format);
  const result = frames.findLast(({ state }) => state !== "completed");
  return { format, frames, result: result ?? {} };
}

function formatOf(args: readonly string[]): ParsedOutput["format"] {
  const [, format] = /(?:^|\0)--output-format[=\0](json|stream-json)(?:\0|$)/
    .exec(args.join("\0")) ?? [];
  return format === "json" || format === "stream-json" ? format : "text";
}

function framesOf(stdout: string, format: ParsedOutput["format"]): readonly JsonObject[] {
  if (format === "text") return [];
  if (!stdout.endsWith("\n")) throw new Error(`stdout does not end with a line: ${stdout}`);
  const lines = stdout.slice(0, -1).split("\n");
  if (format === "json" && lines.length !== 1) throw new Error(`not one line: ${stdout}`);
  return lines.flatMap((line) => {
    const value: unknown = JSON.parse(line);
    const values: readonly unknown[] = Array.isArray(value) && format === "json" ? value : [value];
    return values.map((frame) => {
      if (!isObject(frame)) throw new Error(`not an object: ${line}`);
      return frame;
    });
  });
}
