import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { CliError } from "../../src/cli_error.ts";
import { type PromptIo, readPrompt, STDIN_PATIENCE_MS } from "../../src/cli/prompt_source.ts";

type Source = {
  readonly argument?: string;
  readonly ignored?: readonly string[];
  readonly inputFile?: string;
};

/** What a test sees of a run: its warnings, and the delays of the timers it left ringing. */
type Seen = { readonly warnings: string[]; readonly timers: Map<number, () => void> };

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

/** A stdin of these chunks; `end: false` leaves it open, `end: "error"` breaks it. */
function stdinOf(
  chunks: readonly (string | Uint8Array<ArrayBuffer>)[],
  end: boolean | "error" = true,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) {
        controller.enqueue(typeof chunk === "string" ? bytesOf(chunk) : chunk);
      }
      if (end === true) controller.close();
      if (end === "error") controller.error(new Error("Is a directory (os error 21)"));
    },
  });
}

/** Io with an empty stdin, no files, and a clock that rings only when the test lets it. */
function ioOf(parts: Partial<PromptIo> = {}): { readonly io: PromptIo; readonly seen: Seen } {
  const seen: Seen = { warnings: [], timers: new Map() };
  const io: PromptIo = {
    stdinIsTerminal: false,
    stdin: stdinOf([]),
    readFile: (path) => Promise.reject(new Deno.errors.NotFound(path)),
    inTime: (wait) => wait,
    warn: (line) => seen.warnings.push(line),
    startTimer: (milliseconds, ring) => {
      seen.timers.set(milliseconds, ring);
      return () => seen.timers.delete(milliseconds);
    },
    ...parts,
  };
  return { io, seen };
}

function read(source: Source, io: PromptIo): Promise<string> {
  return readPrompt({
    ignoredArguments: source.ignored ?? [],
    ...(source.argument === undefined ? {} : { promptArgument: source.argument }),
    ...(source.inputFile === undefined ? {} : { inputFile: source.inputFile }),
  }, io);
}

async function errorOf(source: Source, parts: Partial<PromptIo> = {}): Promise<CliError> {
  const error = await assertRejects(() => read(source, ioOf(parts).io), CliError);
  assertEquals(error.exitCode, 2);
  assertEquals(typeof error.suggestion, "string");
  return error;
}

const NOTHING =
  "Error: Input must be provided either through stdin or as a prompt argument when using --print";

Deno.test("readPrompt takes the argument, stdin, or both joined by a line feed", async () => {
  const cases: readonly (readonly [string | undefined, string, string])[] = [
    ["hi", "", "hi"],
    [undefined, "piped", "piped"],
    ["", "piped", "piped"],
    ["arg ", "data\n\n", "arg \ndata\n\n"],
    [undefined, "  data \r\n", "  data \r\n"],
    ["x", " \n", "x\n \n"],
    ["a\n", "\n", "a\n\n\n"],
    ["a", "\uFEFFb\tc", "a\n\uFEFFb\tc"],
  ];
  for (const [argument, piped, expected] of cases) {
    const { io, seen } = ioOf({ stdin: stdinOf([piped]) });
    assertEquals(await read(argument === undefined ? {} : { argument }, io), expected);
    assertEquals([seen.warnings, [...seen.timers]], [[], []]);
  }
});

Deno.test("readPrompt joins stdin's chunks exactly wherever they are cut", async () => {
  const text = "é\r\n\t😀 \\ \uFEFF\n/x";
  const bytes = bytesOf(text);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 6 }), async (cuts) => {
      const points = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
      const chunks = points.slice(1).map((point, index) => bytes.slice(points[index], point));
      const { io } = ioOf({ stdin: stdinOf(chunks) });
      assertEquals(await read({ argument: "a" }, io), `a\n${text}`);
    }),
  );
});

Deno.test("readPrompt does not touch stdin when it is a terminal", async () => {
  const { io, seen } = ioOf({ stdinIsTerminal: true, stdin: stdinOf(["typed"]) });
  assertEquals(await read({ argument: "hi" }, io), "hi");
  assertEquals([io.stdin.locked, seen.timers.size], [false, 0]);
  const error = await errorOf({}, { stdinIsTerminal: true });
  assertEquals(error.message, NOTHING);
});

Deno.test("readPrompt goes on without a stdin that says nothing for 3 seconds", async () => {
  let cancelled = false;
  const stdin = new ReadableStream<Uint8Array>({ cancel: () => void (cancelled = true) });
  const { io, seen } = ioOf({ stdin });
  const prompt = read({ argument: "hi" }, io);
  assertEquals([...seen.timers.keys()], [STDIN_PATIENCE_MS]);
  seen.timers.get(STDIN_PATIENCE_MS)?.();
  assertEquals(await prompt, "hi");
  assertEquals(seen.warnings.length, 1);
  assertStringIncludes(seen.warnings[0] ?? "", "Nothing came in on stdin within 3 s");
  assertEquals(cancelled, true);
});

Deno.test("readPrompt fails when a silent stdin was all there could be", async () => {
  const { io, seen } = ioOf({ stdin: stdinOf([], false) });
  const prompt = read({}, io);
  seen.timers.get(STDIN_PATIENCE_MS)?.();
  const error = await assertRejects(() => prompt, CliError);
  assertEquals([error.message, seen.warnings.length], [NOTHING, 1]);
});

Deno.test("readPrompt waits for all of a stdin that has begun to speak", async () => {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const { io, seen } = ioOf({ stdin: readable });
  const prompt = read({ argument: "hi" }, io);
  await writer.write(bytesOf("part1"));
  await writer.write(bytesOf("part2"));
  assertEquals(seen.timers.size, 0);
  await writer.close();
  assertEquals(await prompt, "hi\npart1part2");
});

Deno.test("readPrompt warns of an unreadable stdin beside an argument, and fails without", async () => {
  const { io, seen } = ioOf({ stdin: stdinOf([], "error") });
  assertEquals(await read({ argument: "hi" }, io), "hi");
  assertEquals(seen.warnings, ["Stdin cannot be read, going on with the argument alone"]);
  assertEquals(
    (await errorOf({}, { stdin: stdinOf([], "error") })).message,
    "Cannot read the prompt from stdin: it is a directory",
  );
});

Deno.test("readPrompt refuses stdin that is not text", async () => {
  assertEquals(
    (await errorOf({ argument: "x" }, { stdin: stdinOf(["a", new Uint8Array([0xff])]) })).message,
    "Cannot send stdin: it is not UTF-8 from byte offset 1 on",
  );
  assertEquals(
    (await errorOf({}, { stdin: stdinOf(["ab\0"]) })).message,
    "Cannot send stdin: it holds a NUL byte at byte offset 2",
  );
});

Deno.test("readPrompt stops reading a stdin that never stops", async () => {
  let chunks = 0;
  const stdin = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      chunks += 1;
      controller.enqueue(new Uint8Array(8 * 1024 * 1024).fill(0x61));
    },
  });
  const error = await errorOf({}, { stdin });
  assertStringIncludes(error.message, "longer than the 10 MiB");
  assertEquals(chunks < 10, true);
});

Deno.test("readPrompt refuses prompts without text", async () => {
  assertEquals((await errorOf({})).message, NOTHING);
  assertEquals((await errorOf({ argument: "" }, { stdin: stdinOf([""]) })).message, NOTHING);
  assertEquals((await errorOf({ argument: " \n" })).message, NOTHING);
});

Deno.test("readPrompt warns of arguments behind the first", async () => {
  const { io, seen } = ioOf();
  assertEquals(await read({ argument: "a", ignored: ["b"] }, io), "a");
  assertEquals(
    await read({ argument: "a", ignored: ["b c", "d"] }, ioOf({ warn: io.warn }).io),
    "a",
  );
  assertEquals(seen.warnings, [
    'Only the first prompt counts, "b" is ignored, as by claude -p',
    'Only the first prompt counts, "b c" and 1 more are ignored, as by claude -p',
  ]);
});

Deno.test("readPrompt reads --input-file byte for byte", async () => {
  const text = "\uFEFFline\r\n\ttab \n\n";
  const { io } = ioOf({
    readFile: (path) => Promise.resolve(bytesOf(path === "in.md" ? text : "wrong")),
  });
  assertEquals(await read({ inputFile: "in.md" }, io), text);
  assertEquals(
    await read({ argument: "", inputFile: "in.md" }, ioOf({ readFile: io.readFile }).io),
    text,
  );
});

Deno.test("readPrompt refuses --input-file together with another source", async () => {
  const readFile = () => Promise.resolve(bytesOf("file"));
  assertEquals(
    (await errorOf({ inputFile: "f", argument: "a" }, { readFile })).message,
    "Cannot choose a prompt: there are both --input-file and an argument",
  );
  assertEquals(
    (await errorOf({ inputFile: "f" }, { readFile, stdin: stdinOf(["x"], false) })).message,
    "Cannot choose a prompt: there are both --input-file and text on stdin",
  );
  assertEquals(
    (await errorOf({ inputFile: "-", argument: "a" })).message,
    "Cannot choose a prompt: there are both --input-file and an argument",
  );
});

Deno.test("readPrompt takes --input-file beside a silent, unreadable or terminal stdin", async () => {
  const readFile = () => Promise.resolve(bytesOf("file"));
  const silent = ioOf({ readFile, stdin: stdinOf([], false) });
  const prompt = read({ inputFile: "f" }, silent.io);
  while (silent.seen.timers.size === 0) await Promise.resolve();
  silent.seen.timers.get(STDIN_PATIENCE_MS)?.();
  assertEquals([await prompt, silent.seen.warnings.length], ["file", 1]);
  const broken = ioOf({ readFile, stdin: stdinOf([], "error") });
  assertEquals(await read({ inputFile: "f" }, broken.io), "file");
  const terminal = ioOf({ readFile, stdinIsTerminal: true });
  assertEquals(await read({ inputFile: "f" }, terminal.io), "file");
});

Deno.test("readPrompt waits for stdin without limit under --input-file -", async () => {
  const { io, seen } = ioOf({ stdin: stdinOf(["all", " of it\n"]), stdinIsTerminal: true });
  assertEquals(await read({ inputFile: "-" }, io), "all of it\n");
  assertEquals(seen.timers.size, 0);
  assertEquals((await errorOf({ inputFile: "-" })).message, NOTHING);
  assertStringIncludes(
    (await errorOf({ inputFile: "-" }, { stdin: stdinOf([], "error") })).message,
    "Cannot read the prompt from stdin",
  );
});

Deno.test("readPrompt says why an input file cannot be read", async () => {
  const cases: readonly (readonly [Error, string])[] = [
    [new Deno.errors.NotFound("x"), "there is no such file"],
    [new Deno.errors.PermissionDenied("x"), "permission denied"],
    [new Deno.errors.IsADirectory("x"), "it is a directory"],
    [new Error("Is a directory (os error 21)"), "it is a directory"],
    [new Deno.errors.NotADirectory("x"), "a part of the path is not a directory"],
    [new Error("Input/output error (os error 5): readfile"), "Input/output error (os error 5)"],
  ];
  for (const [cause, reason] of cases) {
    const error = await errorOf({ inputFile: "a b" }, { readFile: () => Promise.reject(cause) });
    assertEquals([error.message, error.cause], [
      `Cannot read --input-file "a b": ${reason}`,
      cause,
    ]);
  }
});

Deno.test("readPrompt refuses an input file that is empty or not text", async () => {
  const file = (bytes: readonly number[]) => ({
    readFile: () => Promise.resolve(new Uint8Array(bytes)),
  });
  assertEquals((await errorOf({ inputFile: "f" }, file([]))).message, NOTHING);
  assertEquals(
    (await errorOf({ inputFile: "f" }, file([0x61, 0]))).message,
    'Cannot send "f": it holds a NUL byte at byte offset 1',
  );
  assertEquals(
    (await errorOf({ inputFile: "f" }, file([0xc3, 0x28]))).message,
    'Cannot send "f": it is not UTF-8 from byte offset 0 on',
  );
});

Deno.test("readPrompt takes what stdin holds at once, without touching its stream or the clock", async () => {
  const silent = stdinOf([], false);
  const { io, seen } = ioOf({ stdin: silent, stdinAtOnce: () => bytesOf("piped\n") });
  assertEquals(await read({ argument: "hi" }, io), "hi\npiped\n");
  assertEquals(await read({}, io), "piped\n");
  assertEquals([silent.locked, seen.timers.size, seen.warnings], [false, 0, []]);
});

Deno.test("readPrompt holds what stdin has at once against an input file", async () => {
  const readFile = () => Promise.resolve(bytesOf("text of the file"));
  const full = await errorOf({ inputFile: "a" }, { readFile, stdinAtOnce: () => bytesOf("x") });
  assertStringIncludes(full.message, "there are both --input-file and text on stdin");
  const { io } = ioOf({ readFile, stdin: stdinOf([], false), stdinAtOnce: () => bytesOf("") });
  assertEquals(await read({ inputFile: "a" }, io), "text of the file");
});

Deno.test("readPrompt refuses text on stdin that is too long or no text, at once too", async () => {
  const long = await errorOf({}, {
    stdinAtOnce: () => new Uint8Array(31 * 1024 * 1024 + 1).fill(97),
  });
  assertStringIncludes(long.message, "longer than the 10 MiB");
  const binary = await errorOf({}, { stdinAtOnce: () => Uint8Array.of(0xff) });
  assertStringIncludes(binary.message, "not UTF-8");
});
