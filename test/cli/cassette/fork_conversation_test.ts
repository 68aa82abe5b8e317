import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import {
  buildForkRequest,
  createPromptLines,
} from "../../../src/cli/cassette/fork_conversation.ts";
import { readStdinLines } from "../../../src/cli/cassette/replay_as_program.ts";

Deno.test("a fork adds its flags to those of a run", async () => {
  const { request: { record, apiCassette, model, timeoutMs, forwarded } } = await buildForkRequest({
    model: "haiku",
    apiCassette: "a",
    record: "r",
    flags: ["--timeout", "5", "--allowedTools", "Bash"],
  });
  assertEquals([record, apiCassette?.folder, model, timeoutMs], ["r", "a", "haiku", 5000]);
  assertEquals(forwarded, ["--model=haiku", "--allowedTools=Bash"]);
});

Deno.test("flags that contradict a fork are refused", async () => {
  for (
    const [flags, message] of [
      [["--resume", "x"], "Cannot honour --resume: a fork goes on in a session of its own"],
      [["-c"], "Cannot honour --continue: a fork goes on in a session of its own"],
      [["--jsonl"], "Cannot honour --jsonl: a fork says what --prompt says, or what was recorded"],
      [["Hello"], 'Cannot start a fork: "Hello" is no flag'],
      [["--help"], 'Cannot start a fork: the flags behind "--" ask for help'],
      [["doctor"], 'Cannot start a fork: the flags behind "--" ask for doctor'],
      [["--no-such-flag"], "unknown flag --no-such-flag"],
    ] as const
  ) {
    await assertRejects(() => buildForkRequest({ flags }), CliError, message);
  }
});

Deno.test("a fork takes over the recorded model's flags", async () => {
  const recorded = ["--model=haiku", "--append-system-prompt=Be kind", "--tools=Read,Grep"];
  const { request, taken, dropped } = await buildForkRequest({ flags: [] }, { flags: recorded });
  assertEquals([taken, dropped, request.forwarded], [recorded, [], recorded]);
  const other = await buildForkRequest(
    { model: "opus", flags: ["--append-system-prompt-file=x"] },
    {
      flags: recorded,
    },
  );
  assertEquals([other.taken, other.request.model], [["--tools=Read,Grep"], "opus"]);
  const blanked = await buildForkRequest({ flags: [] }, { flags: recorded, blanked: ["prompts"] });
  assertEquals([blanked.taken, blanked.dropped], [
    ["--model=haiku", "--tools=Read,Grep"],
    ["--append-system-prompt"],
  ]);
});

Deno.test("a fork takes no rights over from the cassette", async () => {
  const hostile = [
    ...["--dangerously-skip-permissions", "--permission-mode=bypassPermissions", "--settings={}"],
    ...["--allowedTools=Bash", "--mcp-config={}", "--add-dir=/", "--agents={}", "--plugin-dir=x"],
    ...["--claude-binary=/tmp/x", "--record=/tmp/y", "--api-cassette=z", "--model", "-p", "words"],
    ...["--model haiku --settings=x", "--system-prompt", "--setting-sources=user", "--no-such=1"],
    ...["--restricted=false", "--permission-mode=auto", "--append-system-prompt-file=/etc/passwd"],
  ];
  const { request, taken, dropped } = await buildForkRequest({ flags: [] }, { flags: hostile });
  assertEquals(taken, []);
  assertEquals(dropped.includes("--mcp-config") && dropped.includes("--allowedTools"), true);
  assertEquals(request, (await buildForkRequest({ flags: [] })).request);
  const narrow = await buildForkRequest({ flags: [] }, { flags: ["--permission-mode=plan"] });
  assertEquals(narrow.request.permissionMode, "plan");
  // Another flag in a value is a part of the value.
  const { request: { forwarded, dangerouslySkipPermissions } } = await buildForkRequest({
    flags: [],
  }, {
    flags: ["--append-system-prompt=x --dangerously-skip-permissions\n--settings={}"],
  });
  assertEquals([forwarded.length, dangerouslySkipPermissions], [1, false]);
});

Deno.test("recorded prompts are sent again unchanged", () => {
  const content = [{ type: "text", text: "Two" }, { type: "text", text: "parts" }];
  const lines = createPromptLines([
    "One",
    { text: "Two\nparts", content, way: "rendezvous" },
    { text: "Three", way: "stdin" },
    { text: "[MARK]\nFour", content: "Four", way: "rendezvous", synthetic: true },
  ]);
  assertEquals(lines.map(({ text, content, ticket }) => [ticket, text, content]), [
    ["0", "One", "One"],
    ["1", "Two\nparts", content],
    ["2", "Three", "Three"],
    ["3", "Four", "Four"],
  ]);
  // What was not the user's is not the user's then either.
  assertEquals(lines.map(({ synthetic }) => synthetic), [undefined, undefined, undefined, true]);
});

Deno.test("an impossible prompt is refused before any is sent", () => {
  assertThrows(() => createPromptLines(["fine", " "]), CliError, "nothing but white space");
  const content = [{ type: "document" }];
  assertThrows(
    () => createPromptLines([{ text: "", content, way: "rendezvous" }]),
    CliError,
    'Cannot send the recorded prompt: claude-print passes no "document" blocks on',
  );
});

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

Deno.test("stdin is cut into lines, the last without its end", async () => {
  const { readable } = stdinOf(["one\ntw", "o\n\nthr", "ee"]);
  assertEquals(await allOf(readStdinLines({ readable })), ["one", "two", "", "three"]);
});

Deno.test("a line that is too long is refused in turn", async () => {
  const pieces = function* () {
    yield "one\ntwo\n";
    for (;;) yield "x".repeat(1000);
  };
  const { readable, seen } = stdinOf(pieces());
  const next = readStdinLines({ readable, longest: 10_000 });
  assertEquals([await next(), await next()], ["one", "two"]);
  const { message } = await assertRejects(next, CliError);
  assertEquals(
    message,
    "Cannot read line 3 of stdin: it is longer than any run writes, 10000 bytes and more",
  );
  assertEquals(seen.read, 12);
});

Deno.test("stdin is read only as far as it fits", async () => {
  const pieces = function* () {
    for (let number = 0;; number++) yield `${number}\n`;
  };
  const { readable, seen } = stdinOf(pieces());
  const next = readStdinLines({ readable, mostKept: 1000 });
  for (let number = 0; number < 10_000; number++) {
    assertEquals(await next(), `${number}`);
    if (seen.read > number + 1002) throw new Error(`${seen.read} lines were read`);
  }
});

Deno.test("a piece of many lines is taken line by line", async () => {
  const { readable } = stdinOf(["{}\n".repeat(10_000)]);
  assertEquals((await allOf(readStdinLines({ readable }))).length, 10_000);
});
