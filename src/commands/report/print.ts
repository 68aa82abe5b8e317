import { CliError } from "../../cli_error.ts";
import { visible } from "./visible.ts";

const encoder = new TextEncoder();

/**
 * Writes all of a text to stdout or stderr before it returns: to stdout as it is, to stderr, which a person reads, so
 * that no file name, error or screen in it can drive a terminal.
 *
 * @returns whether anybody reads it: false once the other end of a pipe is closed
 * @throws {CliError} when the text cannot be written to stdout; a failing stderr leaves nowhere to say so
 */
export function print(stream: { writeSync(bytes: Uint8Array): number }, text: string): boolean {
  let bytes = encoder.encode(stream === Deno.stderr ? visible(text) : text);
  while (bytes.length > 0) {
    try {
      bytes = bytes.subarray(stream.writeSync(bytes));
    } catch (error) {
      if (error instanceof Deno.errors.BrokenPipe) return false;
      if (!(error instanceof Deno.errors.WouldBlock)) {
        if (stream === Deno.stderr) return false;
        const why = error instanceof Error ? error.message : String(error);
        throw new CliError(`Cannot write the output: ${why}`, {
          suggestion: "Send stdout to a file on a disk with room, or to a program that reads it",
          cause: error,
        });
      }
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
  return true;
}
