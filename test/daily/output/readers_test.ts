import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { closeFd, drainFd, writeFd } from "../../../ffi/descriptors/fd.ts";
import { makeFifo, openFifo } from "../../../ffi/descriptors/pipe.ts";
import { leftovers } from "../../leftovers.ts";
import { parseOutput } from "../../program/run.ts";
import { StandIn, type StartedRun, until } from "../../program/stand_in.ts";
import { STREAM_FORMAT } from "../../caller_lines.ts";
import { inShell } from "../../in_shell.ts";

const HELLO = "Hello from the stand-in.";

Deno.test("a reader of text may leave early", async () => {
  await using claude = await StandIn.set({ turns: [[{ text: "{prompt}" }]] });
  const note = `${claude.home.path}/code`;
  // The word "gone" stands for the output that nobody reads.
  const wrap = inShell(`{ "$@"; echo $? > ${note}; } | head -c 1 > /dev/null; echo gone`);
  const run = await claude.print([], { wrap, stdin: "0123456789\n".repeat(20_000) });
  assertEquals([run.code, run.stdout, run.stderr], [0, "gone\n", ""]);
  assertEquals(await Deno.readTextFile(note), "0\n");
  assertEquals(claude.transcripts().size, 1);
});

Deno.test("a reader that leaves early ends a stream-json run", async () => {
  const tools = [{ name: "Bash", input: { command: "sleep 0.1" } }];
  await using claude = await StandIn.set({ turns: [Array(600).fill({ tools })] });
  const note = `${claude.home.path}/code`;
  const result = '{"type":"result","subtype":"success","is_error":false}';
  const wrap = inShell(`{ "$@"; echo $? > ${note}; } | head -n 1 > /dev/null; echo '${result}'`);
  const run = await claude.print([...STREAM_FORMAT, "hello"], { wrap });
  assertEquals([run.code, run.stderr], [0, ""]);
  assertEquals(await Deno.readTextFile(note), "141\n");
  assertEquals(await claude.keys(), ["\x1b"], "Escape stops the child");
  assertEquals(claude.transcripts().size, 1);
});

Deno.test("a reader may leave with the last frame", async () => {
  await using claude = await StandIn.set();
  const note = `${claude.home.path}/code`;
  const wrap = inShell(`{ "$@"; echo $? > ${note}; } | grep -m 1 '"type":"result"'`);
  const run = await claude.print([...STREAM_FORMAT, "hello"], { wrap });
  assertEquals([run.code, run.result["result"], run.stderr], [0, HELLO, ""]);
  assertEquals(await Deno.readTextFile(note), "0\n");
});

// Deno opens /dev/null in their place; `claude -p` ends with 0 too.
Deno.test("closed standard streams are no error", async () => {
  await using claude = await StandIn.set();
  for (const closed of [">&-", "2>&-", "<&- >&- 2>&-"]) {
    const wrap = inShell(`out=$("$@" ${closed}); code=$?; echo "\${out:-gone}"; exit $code`);
    const run = await claude.print(["hello"], { wrap });
    const printed = closed === "2>&-" ? `${HELLO}\n` : "gone\n";
    assertEquals([run.code, run.stdout, run.stderr], [0, printed, ""]);
  }
  assertEquals(claude.transcripts().size, 3);
});

Deno.test("stdout on a full disk fails the run", async () => {
  const tools = [{ name: "Bash", input: { command: "sleep 0.3" } }];
  for (const format of [[], STREAM_FORMAT]) {
    await using claude = await StandIn.set({ turns: [[{ tools }, { text: "Done." }]] });
    const end = format.length === 0
      ? ":"
      : `echo '{"type":"result","subtype":"internal_error","is_error":true}'`;
    const wrap = inShell(`"$@" > /dev/full; code=$?; ${end}; exit $code`);
    const run = await claude.print([...format, "hello"], { wrap });
    assertEquals(run.code, 2);
    assertMatch(
      run.stderr,
      /^claude-print: Cannot write the output: No space left on device.*\n {2}\S.*\n$/,
    );
    assertEquals(await claude.keys(), [], "the turn is not interrupted");
    const [transcript = ""] = claude.transcripts().values();
    assertStringIncludes(transcript, "Done.");
  }
});

Deno.test("stderr on a full disk keeps the exit code", async () => {
  await using claude = await StandIn.set({ crash: { at: "prompt", code: 7 } });
  const wrap = inShell('"$@" 2> /dev/full; code=$?; echo "claude-print: Full" >&2; exit $code');
  const run = await claude.print(["hello"], { wrap });
  assertEquals([run.code, run.stdout], [2, ""]);
});

/** A full pipe: a writer waits for its reader. */
class FullPipe implements Disposable {
  readonly path: string;
  readonly #fd: number;

  constructor(path: string) {
    this.path = path;
    makeFifo(path);
    this.#fd = openFifo(path);
    while (writeFd(this.#fd, new Uint8Array(4096)) !== "again");
  }

  /** All that can be read now, after the bytes that filled the pipe. */
  read(): string {
    const decoder = new TextDecoder();
    let text = "";
    const onBytes = (bytes: Uint8Array) => text += decoder.decode(bytes, { stream: true });
    while (drainFd(this.#fd, { buffer: new Uint8Array(65536), onBytes }) === "more");
    return text.replace(/^\0+/u, "");
  }

  [Symbol.dispose](): void {
    closeFd(this.#fd);
  }
}

/** Runs the command with a redirection to a pipe. */
const to = ({ path }: FullPipe, redirection: string) =>
  inShell(`exec "$@" ${redirection.replace("PIPE", path)}`);

/** Waits until only the output of a run is outstanding. */
async function untilTornDown(claude: StandIn): Promise<void> {
  const isOver = () =>
    claude.transcripts().size === 1 && [...Deno.readDirSync(claude.home.tmp)].length === 0;
  await until(isOver, "the run is over");
}

Deno.test("--timeout and signals end a run whose output nobody reads", async () => {
  const unread =
    /\nclaude-print: Cannot deliver the output: nobody reads it, and \d+ bytes are lost\n {2}\S.*\n$/;
  const cases: readonly [string[], number, RegExp, ((run: StartedRun) => void)?][] = [
    [["--timeout", "3"], 124, /^claude-print: The run timed out after 3 s\n {2}\S.*\n/],
    [[], 143, /^claude-print: The run was interrupted by SIGTERM\n/, (run) => run.kill("SIGTERM")],
  ];
  await Promise.all(cases.map(async ([args, code, cause, stop]) => {
    await using claude = await StandIn.set({ hang: "prompt" });
    using pipe = new FullPipe(`${claude.home.path}/pipe`);
    const wrap = to(pipe, "> PIPE");
    const run = claude.start([...STREAM_FORMAT, ...args, "hello"], { wrap, killed: true });
    if (stop !== undefined) {
      await claude.untilNoted("prompt");
      stop(run);
    }
    const ended = await run.ended;
    assertEquals([ended.code, await leftovers(claude.home)], [code, []]);
    assertMatch(ended.stderr, cause);
    assertMatch(ended.stderr, unread);
  }));
});

Deno.test("a run that only waits for its reader leaves nothing", async () => {
  const ends = [["SIGTERM", 143], ["SIGKILL", 137]] as const;
  await Promise.all(ends.map(async ([signal, code]) => {
    await using claude = await StandIn.set();
    using pipe = new FullPipe(`${claude.home.path}/pipe`);
    const run = claude.start(["hello"], { wrap: to(pipe, "> PIPE"), killed: true });
    await untilTornDown(claude);
    run.kill(signal);
    assertEquals((await run.ended).code, code);
    assertEquals(await leftovers(claude.home), []);
  }));
});

Deno.test("a late reader of a pipe gets everything, in order", async () => {
  await using claude = await StandIn.set({ turns: [[{ text: "{prompt}" }]] });
  using pipe = new FullPipe(`${claude.home.path}/pipe`);
  const run = claude.start([...STREAM_FORMAT, "--trace"], {
    wrap: to(pipe, "> PIPE 2>&1"),
    stdin: "0123456789\n".repeat(30_000),
    killed: true,
  });
  await untilTornDown(claude);
  let text = "";
  let code: number | undefined;
  const ended = run.ended.then((output) => code = output.code);
  await until(() => {
    text += pipe.read();
    return code !== undefined;
  }, "all is read");
  await ended;
  text += pipe.read();
  assertEquals(code, 0);
  const lines = text.trimEnd().split("\n");
  const isTrace = (line: string) => /^\[ *\d+ ms\] /.test(line);
  assert(lines.filter(isTrace).length > 3, "the trace is among the frames");
  const frames = lines.filter((line) => !isTrace(line)).map((line) => JSON.parse(line).type);
  assertEquals([frames[0], frames.at(-1)], ["system", "result"]);
});

Deno.test("a late reader of a socket gets everything", async () => {
  await using claude = await StandIn.set({ turns: [[{ text: "{prompt}" }]] });
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const place = `/dev/tcp/127.0.0.1/${listener.addr.port}`;
  const stdin = "0123456789\n".repeat(300_000);
  const run = claude.start([], {
    wrap: (command) => ["bash", "-c", `exec "$@" > ${place}`, "bash", ...command],
    stdin,
    killed: true,
  });
  const connection = await listener.accept();
  await untilTornDown(claude);
  const text = await new Response(connection.readable).text();
  assertEquals((await run.ended).code, 0);
  assert(text === stdin, `${text.length} characters`);
});

Deno.test("a stderr that nobody reads changes nothing", async () => {
  await using claude = await StandIn.set({ crash: { at: "prompt", code: 7 } });
  using pipe = new FullPipe(`${claude.home.path}/pipe`);
  const args = ["--output-format", "json", "--trace", "hello", "ignored"];
  const run = await claude.print(args, { wrap: to(pipe, "2> PIPE"), killed: true });
  assertEquals([run.code, JSON.parse(run.stdout).subtype], [2, "internal_error"]);
  assertEquals(await leftovers(claude.home), []);
});

const CALLS = 8000;

/** The old space of V8, in MB. 24 are enough; the 20 MB of the transcript at once would need more than 32. */
const HEAP_MB = 32;

/** Limits the heap where Deno runs the program. */
function limited([program = "", verb = "", ...args]: readonly string[]): readonly string[] {
  const limit = verb === "run" ? [`--v8-flags=--max-old-space-size=${HEAP_MB}`] : [];
  return [program, verb, ...limit, ...args];
}

Deno.test("a transcript of 16,000 lines needs little memory", async () => {
  await using claude = await StandIn.set({ floodCalls: CALLS });
  // A run without memory cannot print what every run has to.
  const run = await claude.print([...STREAM_FORMAT, "hello"], { wrap: limited, killed: true });
  assertEquals(run.code, 0, run.stderr);
  assertEquals(await leftovers(claude.home), []);
  const { frames, result } = parseOutput(run, STREAM_FORMAT);
  const ids = frames.flatMap(({ type, message }) => {
    const [block] = (message as { content?: readonly Record<string, unknown>[] } | undefined)
      ?.content ?? [];
    return block?.["type"] === "text" ? [] : [[type, block?.["id"] ?? block?.["tool_use_id"]]];
  }).filter(([, id]) => id !== undefined);
  assertEquals(ids.length, 2 * CALLS);
  const wrong = ids.findIndex((each, index) =>
    `${each}` !== `${index % 2 === 0 ? "assistant" : "user"},toolu_${index >> 1}`
  );
  assertEquals(wrong, -1, `${ids[wrong]}`);
  assertEquals([result["num_turns"], result["result"]], [CALLS + 1, HELLO]);
});
