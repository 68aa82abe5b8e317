import { assertEquals, assertThrows } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import { print } from "../../../src/commands/report/print.ts";

/** A stream that takes some bytes a write, or throws; when its turns are over it takes everything. */
function streamOf(turns: readonly (number | Error)[]) {
  const written: number[] = [];
  const left = [...turns];
  return {
    written,
    writeSync: (bytes: Uint8Array): number => {
      const turn = left.shift() ?? bytes.length;
      if (turn instanceof Error) throw turn;
      written.push(...bytes.subarray(0, turn));
      return Math.min(turn, bytes.length);
    },
  };
}

function textOf({ written }: { readonly written: readonly number[] }): string {
  return new TextDecoder().decode(Uint8Array.from(written));
}

Deno.test("print() goes on where a write stopped, in the middle of a character too", () => {
  const stream = streamOf([1, 2, 0, 1]);
  print(stream, "ünïcödé 👍🏽\n");
  assertEquals(textOf(stream), "ünïcödé 👍🏽\n");
});

Deno.test("print() tries again while a pipe is full", () => {
  const full = new Deno.errors.WouldBlock("full");
  const stream = streamOf([3, full, full, 2, full]);
  print(stream, "0123456789");
  assertEquals(textOf(stream), "0123456789");
});

Deno.test("print() stops without a word when the reader is gone", () => {
  const stream = streamOf([3, new Deno.errors.BrokenPipe("gone")]);
  print(stream, "0123456789");
  assertEquals(textOf(stream), "012");
});

Deno.test("print() says what else keeps it from writing", () => {
  const cause = new Error("No space left on device (os error 28)");
  const error = assertThrows(
    () => print(streamOf([cause]), "text"),
    CliError,
    "Cannot write the output: No space left on device (os error 28)",
  );
  assertEquals([error.exitCode, error.cause], [2, cause]);
});
