import { assertEquals, assertRejects } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import { linesOfStdin } from "../../../src/commands/cassette/lines_of_stdin.ts";

const encoder = new TextEncoder();

/** A stdin of some pieces, and how many of them have been read. */
function stdinOf(pieces: Iterable<string>) {
  const iterator = pieces[Symbol.iterator]();
  const seen = { read: 0 };
  const readable = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      const { done, value } = iterator.next();
      if (done) return controller.close();
      seen.read++;
      controller.enqueue(encoder.encode(value));
    },
  }, { highWaterMark: 0 });
  return { readable, seen };
}

async function allOf(next: () => Promise<string | undefined>): Promise<readonly string[]> {
  const lines: string[] = [];
  for (let line = await next(); line !== undefined; line = await next()) lines.push(line);
  return lines;
}

Deno.test("stdin is cut into lines, and a last one counts without its end", async () => {
  const { readable } = stdinOf(["one\ntw", "o\n\nthr", "ee"]);
  assertEquals(await allOf(linesOfStdin({ readable })), ["one", "two", "", "three"]);
});

Deno.test("a line of stdin that is too long is named once those before it are taken", async () => {
  const pieces = function* () {
    yield "one\ntwo\n";
    for (;;) yield "x".repeat(1000);
  };
  const { readable, seen } = stdinOf(pieces());
  const next = linesOfStdin({ readable, longest: 10_000 });
  assertEquals([await next(), await next()], ["one", "two"]);
  const { message } = await assertRejects(next, CliError);
  assertEquals(
    message,
    "Cannot read line 3 of stdin: it is longer than any run writes, 10000 bytes and more",
  );
  assertEquals(seen.read, 12);
});

Deno.test("no more of stdin is read than can be kept until its lines are taken", async () => {
  const pieces = function* () {
    for (let number = 0;; number++) yield `${number}\n`;
  };
  const { readable, seen } = stdinOf(pieces());
  const next = linesOfStdin({ readable, mostKept: 1000 });
  for (let number = 0; number < 10_000; number++) {
    assertEquals(await next(), `${number}`);
    if (seen.read > number + 1002) throw new Error(`${seen.read} lines were read`);
  }
});

Deno.test("very many lines of stdin are taken one by one", async () => {
  const { readable } = stdinOf(Array.from({ length: 30 }, () => "{}\n".repeat(10_000)));
  assertEquals((await allOf(linesOfStdin({ readable }))).length, 300_000);
});
