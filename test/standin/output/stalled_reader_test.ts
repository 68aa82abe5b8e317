import { assert, assertEquals, assertMatch } from "@std/assert";
import { closeFd, drainFd, writeFd } from "../../../ffi/descriptors/fd.ts";
import { makeFifo, openFifo } from "../../../ffi/descriptors/pipe.ts";
import { leftovers } from "../../leftovers.ts";
import type { Run } from "../run.ts";
import { StandIn, type StartedRun, until } from "../stand_in.ts";

/** A pipe that is full, so that whoever writes to it waits for its reader. */
class FullPipe implements Disposable {
  readonly path: string;
  readonly #fd: number;

  constructor(path: string) {
    this.path = path;
    makeFifo(path);
    this.#fd = openFifo(path);
    while (writeFd(this.#fd, new Uint8Array(4096)) !== "again");
  }

  /** All that there is to read now, behind what filled the pipe. */
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

/** The run itself, with a redirection to a pipe. */
function to(pipe: FullPipe, redirection: string) {
  return (command: readonly string[]) => [
    ...["/bin/sh", "-c", `exec "$@" ${redirection.replace("PIPE", '"$0"')}`, pipe.path],
    ...command,
  ];
}

/** Waits until a run is over but for its output. */
async function untilTornDown(claude: StandIn): Promise<void> {
  const isOver = () =>
    claude.transcripts().size === 1 && [...Deno.readDirSync(claude.home.tmp)].length === 0;
  await until(() => Promise.resolve(isOver()), "the run is over");
}

const STREAM = ["--output-format", "stream-json", "--verbose"];

/** Runs with a stdout that nobody reads, until it is stopped. */
async function stopUnread(
  args: readonly string[],
  stop?: (run: StartedRun) => void,
): Promise<Pick<Run, "code" | "stderr">> {
  await using claude = await StandIn.set({ hang: "prompt" });
  using pipe = new FullPipe(`${claude.home.path}/pipe`);
  const run = claude.start([...STREAM, ...args, "hello"], {
    wrap: to(pipe, "> PIPE"),
    killed: true,
  });
  if (stop !== undefined) {
    await claude.untilNoted("prompt");
    stop(run);
  }
  const { code, stderr } = await run.ended;
  assertEquals(await leftovers(claude.home), []);
  return { code, stderr };
}

Deno.test("--timeout and signals end a run whose output nobody reads, which is told", async () => {
  const [late, terminated] = await Promise.all([
    stopUnread(["--timeout", "3"]),
    stopUnread([], (run) => run.kill("SIGTERM")),
  ]);
  const unread =
    /\nclaude-print: Cannot deliver the output: nobody reads it, and \d+ bytes are lost\n {2}\S.*\n$/;
  assertEquals([late.code, terminated.code], [124, 143]);
  assertMatch(late.stderr, /^claude-print: The run timed out after 3 s\n {2}\S.*\n/);
  assertMatch(terminated.stderr, /^claude-print: The run was interrupted by SIGTERM\n/);
  for (const { stderr } of [late, terminated]) assertMatch(stderr, unread);
});

Deno.test("a run that is over but for its reader has nothing left to lose", async () => {
  const ends = [["SIGTERM", 143], ["SIGKILL", 137]] as const;
  await Promise.all(ends.map(async ([signal, code]) => {
    await using claude = await StandIn.set();
    using pipe = new FullPipe(`${claude.home.path}/pipe`);
    const run = claude.start(["hello"], { wrap: to(pipe, "> PIPE"), killed: true });
    await untilTornDown(claude);
    run.kill(signal);
    assertEquals((await run.ended).code, code);
    assertEquals(await leftovers(claude.home), []);
    assertEquals(claude.transcripts().size, 1);
  }));
});

Deno.test("a reader that comes late gets everything, in order", async () => {
  await using claude = await StandIn.set({ turns: [[{ text: "{prompt}" }]] });
  using pipe = new FullPipe(`${claude.home.path}/pipe`);
  const run = claude.start([...STREAM, "--trace"], {
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
    return Promise.resolve(code !== undefined);
  }, "all is read");
  await ended;
  text += pipe.read();
  assertEquals(code, 0);
  const lines = text.trimEnd().split("\n");
  const isTrace = (line: string) => /^\[ *\d+ ms\] /.test(line);
  assert(lines.filter(isTrace).length > 3, "what happened when is in between");
  const frames = lines.filter((line) => !isTrace(line)).map((line) => JSON.parse(line).type);
  assertEquals([frames[0], frames.at(-1)], ["system", "result"]);
});

Deno.test("a stderr that nobody reads changes nothing", async () => {
  await using claude = await StandIn.set({ crash: { at: "prompt", code: 7 } });
  using pipe = new FullPipe(`${claude.home.path}/pipe`);
  const args = ["--output-format", "json", "--trace", "hello", "ignored"];
  const run = await claude.print(args, { wrap: to(pipe, "2> PIPE"), killed: true });
  assertEquals([run.code, JSON.parse(run.stdout).subtype], [2, "internal_error"]);
  assertEquals(await leftovers(claude.home), []);
});

Deno.test("a socket is waited for like a pipe", async () => {
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
