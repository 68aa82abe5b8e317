import { assert, assertEquals, assertMatch } from "@std/assert";
import { isObject, type JsonObject } from "../../fixtures/mock/files/json_object.ts";
import { STOP_SIGNALS } from "../../src/claude/wire/stop_signal.ts";
import type { ProgramOutput } from "../start_program.ts";

/** The parsed stdout of a run. */
export interface ParsedOutput {
  readonly format: "text" | "json" | "stream-json";
  /** The frames on stdout; none in text format. */
  readonly frames: readonly JsonObject[];
  /** The last frame, except the one that reports a completed message; empty in text format. */
  readonly result: JsonObject;
}

/** A run of `claude-print` that has ended. */
export interface Run extends ParsedOutput, ProgramOutput {}

/**
 * Parses stdout in the format that the arguments ask for.
 *
 * @throws {Error} when stdout has another format
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

/** Exit codes of the subtypes other than `success`. */
const CODES: Readonly<Record<string, readonly number[]>> = {
  assistant_error: [1],
  error_max_turns: [1],
  refused: [1],
  internal_error: [2],
  start_timeout: [2],
  delivery_timeout: [2],
  drain_timeout: [2],
  exit_timeout: [2],
  timeout: [124],
  idle_timeout: [124],
  interrupted: Object.values(STOP_SIGNALS).map((number) => 128 + number),
};

/** Checks the rules that the output of every run follows. */
export function checkOutput(
  { code, stdout, stderr, format, frames, result }: Run,
  { warns, wakes }: { readonly warns: boolean; readonly wakes: boolean },
): void {
  const isSuccess = code === 0;
  if (isSuccess && !warns) assertEquals(stderr, "", "a success prints nothing on stderr");
  if (!isSuccess) {
    assertMatch(
      stderr,
      /^claude-print: (?:line \d+: )?[A-Za-z"-].*\n/,
      "stderr names a cause",
    );
  }
  assert(!/^ +at .+:\d+/m.test(stderr), `a stack trace: ${stderr}`);
  assert(!/(?!\n)\p{Cc}/u.test(stderr), `control characters: ${JSON.stringify(stderr)}`);
  if (format === "text") {
    // `claude -p` prints the limit of turns without a line feed.
    const isOpen = /^Error: Reached max turns \(\d+\)$/.test(stdout);
    assert(stdout === "" || isOpen || stdout.endsWith("\n"), "text ends with a line feed");
    if (code === 2) assertEquals(stdout, "", "a failure of the program prints nothing");
    assert(!isSuccess || stdout !== "", "an answer is printed");
    return;
  }
  const results = frames.filter(({ type }) => type === "result").length;
  assert(results === 1 || (wakes && results > 1), `${results} results`);
  assertEquals(result["type"], "result", "the result comes last");
  assertEquals(result["is_error"], !isSuccess);
  const subtype = String(result["subtype"]);
  assert((CODES[subtype] ?? [0, 1, 75]).includes(code), `${subtype} with exit code ${code}`);
}
