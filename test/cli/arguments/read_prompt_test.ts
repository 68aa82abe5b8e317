import {
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import fc from "fast-check";
import {
  checkPrompt,
  decodePrompt,
  MAX_PROMPT_LENGTH,
  noPromptError,
} from "../../../src/cli/arguments/check_prompt.ts";
import {
  type PromptIo,
  readPrompt,
  STDIN_PATIENCE_MS,
} from "../../../src/cli/arguments/read_prompt.ts";
import { CliError } from "../../../src/cli_error.ts";
import { anyCharacter } from "../../any_character.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);

interface Source {
  readonly argument?: string;
  readonly ignored?: readonly string[];
  readonly inputFile?: string;
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

/** What a run was given, and what it did: its warnings, and its timers by their delays. */
function ioOf(parts: Partial<PromptIo> = {}) {
  const warnings: string[] = [];
  const timers = new Map<number, () => void>();
  const io: PromptIo = {
    stdinIsTerminal: false,
    isAttended: false,
    isFile: () => false,
    stdin: stdinOf([]),
    readFile: (path) => Promise.reject(new Deno.errors.NotFound(path)),
    inTime: (wait) => wait,
    warn: (line) => warnings.push(line),
    startTimer: (milliseconds, ring) => {
      timers.set(milliseconds, ring);
      return () => timers.delete(milliseconds);
    },
    ...parts,
  };
  return { io, warnings, timers, ring: () => timers.get(STDIN_PATIENCE_MS)?.() };
}

function read({ ignored = [], argument, inputFile }: Source, io: PromptIo): Promise<string> {
  return readPrompt({
    ignoredArguments: ignored,
    ...(argument === undefined ? {} : { promptArgument: argument }),
    ...(inputFile === undefined ? {} : { inputFile }),
  }, io);
}

/** Registers a test of prompts: where each comes from, what it is, and how many warnings there are. */
function testPrompts(
  name: string,
  rows: readonly (readonly [Source, Partial<PromptIo>, string, number?])[],
): void {
  Deno.test(name, async () => {
    for (const [source, parts, expected, warned = 0] of rows) {
      const { io, warnings, timers } = ioOf(parts);
      assertEquals(await read(source, io), expected);
      assertEquals([warnings.length, timers.size, io.stdin.locked], [warned, 0, false], expected);
    }
  });
}

function testRefusals(
  name: string,
  rows: readonly (readonly [Source, Partial<PromptIo>, string])[],
): void {
  Deno.test(name, async () => {
    for (const [source, parts, message] of rows) {
      const error = await assertRejects(() => read(source, ioOf(parts).io), CliError);
      assertEquals([error.message, error.exitCode], [message, 2]);
      assertEquals(typeof error.suggestion, "string", message);
    }
  });
}

const NOTHING = "No prompt given";
const LONG = "Cannot send the prompt: it is longer than the 10 MiB Claude Code reads";
const TWO_SOURCES = "Cannot choose a prompt: there are both --input-file and";
const file = (content: string | Uint8Array<ArrayBuffer>) => ({
  readFile: () => Promise.resolve(typeof content === "string" ? bytesOf(content) : content),
});
const TEXT = "\uFEFFline\r\n\ttab \n\n";

testPrompts("a prompt is the argument, stdin, or both joined", [
  [{ argument: "hi" }, {}, "hi"],
  [{}, { stdin: stdinOf(["piped"]) }, "piped"],
  [{ argument: "" }, { stdin: stdinOf(["piped"]) }, "piped"],
  [{ argument: "arg " }, { stdin: stdinOf(["data\n\n"]) }, "arg \ndata\n\n"],
  [{}, { stdin: stdinOf(["  data \r\n"]) }, "  data \r\n"],
  [{ argument: "x" }, { stdin: stdinOf([" \n"]) }, "x\n \n"],
  [{ argument: "a\n" }, { stdin: stdinOf(["\n"]) }, "a\n\n\n"],
  [{ argument: "a" }, { stdin: stdinOf(["\uFEFFb\tc"]) }, "a\n\uFEFFb\tc"],
  [{ argument: "hi" }, { stdin: stdinOf([], "error") }, "hi", 1],
  [{ argument: "hi" }, { stdinIsTerminal: true, stdin: stdinOf(["typed"]) }, "hi"],
  [{ argument: "hi" }, { stdinIsTerminal: true, stdinAtOnce: () => bytesOf("typed") }, "hi"],
  // What stdin has at once needs neither its stream nor a timer.
  [{ argument: "hi" }, { stdin: stdinOf([], false), stdinAtOnce: () => bytesOf("p\n") }, "hi\np\n"],
  [{}, { stdin: stdinOf([], false), stdinAtOnce: () => bytesOf("piped\n") }, "piped\n"],
]);

testPrompts("--input-file is read byte for byte", [
  [{ inputFile: "f" }, file(TEXT), TEXT],
  [{ inputFile: "f", argument: "" }, file(TEXT), TEXT],
  [{ inputFile: "f" }, { ...file(TEXT), stdin: stdinOf([], "error") }, TEXT],
  [{ inputFile: "f" }, { ...file(TEXT), stdinIsTerminal: true }, TEXT],
  [
    { inputFile: "f" },
    { ...file(TEXT), stdin: stdinOf([], false), stdinAtOnce: () => bytesOf("") },
    TEXT,
  ],
  [
    { inputFile: "-" },
    { stdin: stdinOf(["all", " of it\n"]), stdinIsTerminal: true },
    "all of it\n",
  ],
]);

testRefusals("a missing or second prompt is refused", [
  [{}, {}, NOTHING],
  [{}, { stdinIsTerminal: true }, NOTHING],
  [{ argument: "" }, { stdin: stdinOf([""]) }, NOTHING],
  [{ argument: " \n" }, {}, NOTHING],
  [{ inputFile: "-" }, {}, NOTHING],
  [{ inputFile: "f" }, file(""), NOTHING],
  [{ inputFile: "f", argument: "a" }, file("file"), `${TWO_SOURCES} an argument`],
  [{ inputFile: "-", argument: "a" }, {}, `${TWO_SOURCES} an argument`],
  [
    { inputFile: "f" },
    { ...file("file"), stdin: stdinOf(["x"], false) },
    `${TWO_SOURCES} text on stdin`,
  ],
  [
    { inputFile: "f" },
    { ...file("file"), stdinAtOnce: () => bytesOf("x") },
    `${TWO_SOURCES} text on stdin`,
  ],
]);

testRefusals("an unreadable or binary prompt is refused", [
  [
    {},
    { stdin: stdinOf([], "error") },
    "Cannot read the prompt from stdin: it is a directory",
  ],
  [
    { inputFile: "-" },
    { stdin: stdinOf([], "error") },
    "Cannot read the prompt from stdin: it is a directory",
  ],
  [
    { argument: "x" },
    { stdin: stdinOf(["a", Uint8Array.of(0xff)]) },
    "Cannot send stdin: it is not UTF-8 from byte offset 1 on",
  ],
  [
    {},
    { stdin: stdinOf(["ab\0"]) },
    "Cannot send stdin: it holds a NUL byte at byte offset 2",
  ],
  [
    {},
    { stdinAtOnce: () => Uint8Array.of(0xff) },
    "Cannot send stdin: it is not UTF-8 from byte offset 0 on",
  ],
  [{}, { stdinAtOnce: () => new Uint8Array(31 * 1024 * 1024 + 1).fill(97) }, LONG],
  [{ inputFile: "f" }, file("a\0"), 'Cannot send "f": it holds a NUL byte at byte offset 1'],
  [
    { inputFile: "f" },
    file(Uint8Array.of(0xc3, 0x28)),
    'Cannot send "f": it is not UTF-8 from byte offset 0 on',
  ],
  ...([
    [new Deno.errors.NotFound("x"), "there is no such file"],
    [new Deno.errors.PermissionDenied("x"), "permission denied"],
    [new Deno.errors.IsADirectory("x"), "it is a directory"],
    [new Error("Is a directory (os error 21)"), "it is a directory"],
    [new Deno.errors.NotADirectory("x"), "a part of the path is not a directory"],
    [new Error("Input/output error (os error 5): readfile"), "Input/output error (os error 5)"],
  ] as const).map(([cause, reason]) =>
    [
      { inputFile: "a b" },
      { readFile: () => Promise.reject(cause) },
      `Cannot read --input-file "a b": ${reason}`,
    ] as const
  ),
]);

Deno.test("stdin's chunks are joined wherever they are cut", async () => {
  const text = "é\r\n\t😀 \\ \uFEFF\n/x";
  const bytes = bytesOf(text);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 6 }), async (cuts) => {
      const points = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
      const chunks = points.slice(1).map((point, index) => bytes.slice(points[index], point));
      assertEquals(
        await read({ argument: "a" }, ioOf({ stdin: stdinOf(chunks) }).io),
        `a\n${text}`,
      );
    }),
    { numRuns: 50 },
  );
});

Deno.test("a silent stdin is ignored after three seconds", async () => {
  let cancelled = false;
  const stdin = new ReadableStream<Uint8Array>({ cancel: () => void (cancelled = true) });
  const { io, warnings, timers, ring } = ioOf({ stdin, ...file("file") });
  const prompt = read({ argument: "hi" }, io);
  assertEquals([...timers.keys()], [STDIN_PATIENCE_MS]);
  ring();
  assertEquals([await prompt, cancelled], ["hi", true]);
  assertEquals(warnings.length, 1);
  assertStringIncludes(`${warnings}`, "Nothing came in on stdin within 3 s");
  const alone = ioOf({ stdin: stdinOf([], false) });
  const failing = read({}, alone.io);
  alone.ring();
  const error = await assertRejects(() => failing, CliError);
  assertEquals([error.message, alone.warnings.length], [NOTHING, 1]);
  const beside = ioOf({ stdin: stdinOf([], false), ...file("file") });
  const ofFile = read({ inputFile: "f" }, beside.io);
  while (beside.timers.size === 0) await Promise.resolve();
  beside.ring();
  assertEquals([await ofFile, beside.warnings.length], ["file", 1]);
});

Deno.test("a stdin that has begun is read to its end", async () => {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const { io, timers } = ioOf({ stdin: readable });
  const prompt = read({ argument: "hi" }, io);
  await writer.write(bytesOf("part1"));
  await writer.write(bytesOf("part2"));
  assertEquals(timers.size, 0);
  await writer.close();
  assertEquals(await prompt, "hi\npart1part2");
});

Deno.test("an endless stdin is read only up to the limit", async () => {
  let chunks = 0;
  const stdin = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      chunks += 1;
      controller.enqueue(new Uint8Array(8 * 1024 * 1024).fill(0x61));
    },
  });
  const { message } = await assertRejects(() => read({}, ioOf({ stdin }).io), CliError);
  assertEquals([message, chunks < 10], [LONG, true]);
});

Deno.test("warnings name ignored prompts and an unreadable stdin", async () => {
  const { io, warnings } = ioOf();
  await read({ argument: "a", ignored: ["b"] }, io);
  await read({ argument: "a", ignored: ["b c", "d"] }, ioOf({ warn: io.warn }).io);
  await read({ argument: "a" }, ioOf({ warn: io.warn, stdin: stdinOf([], "error") }).io);
  assertEquals(warnings, [
    'Only the first prompt counts, "b" is ignored, as by claude -p',
    'Only the first prompt counts, "b c" and 1 more are ignored, as by claude -p',
    "Stdin cannot be read, going on with the argument alone",
  ]);
});

Deno.test("a prompt without text, bytes or measure is refused", () => {
  const awkward = ["hi", " \n x", "/help", "!ls", "# title", "@file", "exit", "\uFEFFhi", "a\\"];
  for (const prompt of [...awkward, "x".repeat(MAX_PROMPT_LENGTH)]) {
    assertEquals(checkPrompt(prompt), undefined);
  }
  const blank = "Cannot start a turn: the prompt is nothing but white space";
  const half = "Cannot send the prompt: it holds half of a surrogate pair";
  const refusals = [
    ["", "Cannot start a turn: there is no prompt"],
    ...[" ", "\n\t\r\n", "\u00a0\u3000", "\uFEFF"].map((prompt) => [prompt, blank] as const),
    ["é😀\0\0", "Cannot send the prompt: it holds a NUL character at byte offset 6"],
    ["x".repeat(MAX_PROMPT_LENGTH + 1), LONG],
    ...["\ud83d", "a\ude00b", "😀".slice(1)].map((prompt) => [prompt, half] as const),
  ] as const;
  const suggestion =
    'Type claude-print "your prompt", or pipe the prompt in; claude-print -h has examples';
  for (const [prompt, message] of refusals) {
    const error = checkPrompt(prompt);
    assertEquals([error?.message, error?.exitCode], [message, 2]);
    if (message.startsWith("Cannot start")) assertEquals(error?.suggestion, suggestion);
  }
  assertEquals(noPromptError().suggestion, suggestion);
  const text = `fix ${"🧪".repeat(50)}\nand more`;
  assertEquals(
    noPromptError({ flag: "--tools", text }).message,
    `No prompt given: --tools took "fix ${"🧪".repeat(35)}…" too`,
  );
});

Deno.test("an error names the first byte that is not text", () => {
  const rows = [
    [[0xff], "it is not UTF-8 from byte offset 0 on"],
    [[0x61, 0xc3], "it is not UTF-8 from byte offset 1 on"],
    [[0xef, 0xbb, 0xbf, 0x61, 0x80], "it is not UTF-8 from byte offset 4 on"],
    [[0xef, 0xbf, 0xbd, 0xef, 0xbf], "it is not UTF-8 from byte offset 3 on"],
    [[0xed, 0xa0, 0x80], "it is not UTF-8 from byte offset 0 on"],
    [[0xff, 0x00], "it is not UTF-8 from byte offset 0 on"],
    [[0x7f, 0x45, 0x00, 0xff], "it holds a NUL byte at byte offset 2"],
  ] as const;
  for (const [bytes, why] of rows) {
    const error = assertThrows(() => decodePrompt(Uint8Array.from(bytes), '"f"'), CliError);
    assertEquals([error.message, error.exitCode], [`Cannot send "f": ${why}`, 2]);
  }
});

Deno.test("decoded text has the same bytes", () => {
  const text = fc.string({ unit: anyCharacter, maxLength: 40 }).map(bytesOf);
  const marked = text.map((bytes) => Uint8Array.from([0xef, 0xbb, 0xbf, ...bytes]));
  const wild = fc.uint8Array({ maxLength: 40 });
  const nearly = fc.array(fc.constantFrom(0x61, 0xc3, 0xa9, 0xef, 0xbf, 0xbd, 0xf0, 0x9f), {
    maxLength: 12,
  }).map((bytes) => Uint8Array.from(bytes));
  fc.assert(
    fc.property(fc.oneof(text, marked, wild, nearly), (bytes) => {
      try {
        assertEquals(new TextEncoder().encode(decodePrompt(bytes, "stdin")), bytes);
      } catch (error) {
        assertInstanceOf(error, CliError);
        const offset = Number(/byte offset (\d+)/.exec(error.message)?.[1]);
        const strict = (end: number) =>
          new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, end));
        strict(offset);
        if (error.message.includes("NUL")) assertEquals(bytes.indexOf(0), offset);
        else assertThrows(() => strict(bytes.length), TypeError);
      }
    }),
    { numRuns: 100 },
  );
});
