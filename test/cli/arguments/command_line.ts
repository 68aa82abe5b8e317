import { assert, assertEquals, assertRejects } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import { parseArguments } from "../../../src/cli/arguments/parse_arguments.ts";
import type { RunRequest } from "../../../src/cli/arguments/run_request.ts";

/** A command line: its arguments, or a text with a space between each two of them. */
export type Line = string | readonly string[];

export const ID = "123e4567-e89b-42d3-a456-426614174000";
export const FRAMES = "--output-format=stream-json --verbose";
export const STREAMS = `--input-format=stream-json ${FRAMES}`;

export function argumentsOf(line: Line): readonly string[] {
  return typeof line === "string" ? line.split(" ").filter((word) => word !== "") : line;
}

export async function requestOf(line: Line, more?: readonly string[]): Promise<RunRequest> {
  const parsed = await parseArguments(argumentsOf(line), more === undefined ? {} : { more });
  if (parsed.kind !== "run") throw new Error(`not a run but ${parsed.kind}`);
  return parsed.request;
}

/** Registers a test that compares some fields of the request of each command line. */
export function testRequests(
  name: string,
  rows: readonly (readonly [Line, Readonly<{ [Field in keyof RunRequest]?: unknown }>])[],
): void {
  Deno.test(name, async () => {
    for (const [line, fields] of rows) {
      const request: Readonly<Record<string, unknown>> = { ...await requestOf(line) };
      const seen = Object.keys(fields).map((field) => [field, request[field]]);
      assertEquals(Object.fromEntries(seen), fields, `${line}`);
    }
  });
}

/** The error of a command line: a usage error with a suggestion. */
export async function errorOf(line: Line, more?: readonly string[]): Promise<CliError> {
  const error = await assertRejects(
    () => parseArguments(argumentsOf(line), more === undefined ? {} : { more }),
    CliError,
    undefined,
    `${line}`,
  );
  assertEquals(error.exitCode, 2);
  assert((error.suggestion ?? "").length > 3, `no suggestion: ${error.message}`);
  // `claude -p` ends some sentences with a full stop.
  assert(error.message.startsWith("Error: ") || !error.message.endsWith("."), error.message);
  return error;
}

/** Registers a test of the message of each command line. */
export function testErrors(name: string, rows: readonly (readonly [Line, string])[]): void {
  Deno.test(name, async () => {
    for (const [line, message] of rows) {
      const error = await errorOf(line);
      assertEquals(error.message, message);
    }
  });
}
