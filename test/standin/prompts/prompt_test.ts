import { assertEquals, assertStringIncludes } from "@std/assert";
import { makeFifo } from "../../../ffi/descriptors/pipe.ts";
import { sha256 } from "../../../fixtures/mock/files/journal.ts";
import { leftovers } from "../../leftovers.ts";
import { StandIn, type StartOptions } from "../stand_in.ts";

/** Runs with a prompt and compares what the child took with what was meant. */
async function assertDelivered(
  prompt: string,
  { args = [], options = {} }: {
    readonly args?: readonly string[];
    readonly options?: StartOptions;
  },
): Promise<void> {
  await using claude = await StandIn.set();
  const run = await claude.printHere(args, options);
  assertEquals([run.code, run.stdout], [0, "Hello from the stand-in.\n"]);
  const bytes = new TextEncoder().encode(prompt);
  const facts = { bytes: bytes.length, sha256: await sha256(bytes) };
  const taken = (await claude.journal("prompt")).map((each) => ({
    bytes: each.bytes,
    sha256: each.sha256,
  }));
  assertEquals(taken, [facts]);
  const [start] = await claude.journal("start");
  const secret = prompt.slice(0, 24);
  assertEquals(start?.args.filter((each) => each.includes(secret)), [], "no prompt in argv");
}

for (const [name, bytes] of [["33 KB", 33 * 1024], ["1 MB", 1024 * 1024]] as const) {
  Deno.test(`a prompt of ${name} on stdin reaches the child byte for byte`, async () => {
    const line = "0123456789 ünïcödé, tab\t, CRLF\r\n, backslash\\\n";
    const prompt = line.repeat(bytes / line.length);
    await assertDelivered(prompt, { options: { stdin: prompt } });
  });
}

const AWKWARD: Readonly<Record<string, string>> = {
  "white space at both ends": "\n\n  one\n\ttwo\n\n  three  \n\n",
  "emoji of several code points": "heart ❤️ family 👩‍👩‍👧‍👦 flags 🇩🇪 skin 👍🏽",
  "CRLF line ends": "one\r\ntwo\r\n",
  "a leading double slash": "//x",
  "a leading exclamation mark": "!echo pressed",
  "a leading number sign": "# remember this",
  "a leading at sign": "@file",
  "a trailing backslash": "ends with a backslash\\",
  "terminal sequences": "red \x1b[31m, paste end \x1b[201~\r, bell \x07, ^C \x03",
  "a byte order mark": "\ufeffmarked",
};

/** How a text begins is lost by whoever prepares it: with a mark that a decoder takes away, here. */
const ALL = [AWKWARD["a byte order mark"], ...Object.values(AWKWARD)].join(" \n ");

Deno.test(`a prompt with ${Object.keys(AWKWARD).join(", ")} reaches the child as it is`, async () => {
  await assertDelivered(ALL, { options: { stdin: ALL } });
  await using claude = await StandIn.set();
  // One program for all of them, each of which is a child's whole prompt.
  const prompts = Object.values(AWKWARD);
  const run = await claude.print(["--jsonl"], {
    stdin: prompts.map((prompt) => JSON.stringify(prompt)).join("\n"),
    // A list has an output of its own: what every single run must print does not hold.
    killed: true,
  });
  assertEquals([run.code, run.stderr, await leftovers(claude.home)], [0, "", []]);
  const sums = await Promise.all(
    prompts.map((prompt) => sha256(new TextEncoder().encode(prompt))),
  );
  assertEquals((await claude.journal("prompt")).map((each) => each.sha256), sums);
});

Deno.test("an argument is the prompt, and joined with stdin by a line feed", async () => {
  await assertDelivered("only the argument  ", { args: ["only the argument  "] });
  await assertDelivered("argument\nand stdin\n", {
    args: ["argument"],
    options: { stdin: "and stdin\n" },
  });
});

Deno.test("a prompt that looks like a flag comes after two dashes", async () => {
  await assertDelivered("--help", { args: ["--", "--help"] });
});

Deno.test("--input-file is the prompt, and its dash is stdin", async () => {
  await using claude = await StandIn.set({ turns: [[{ text: "<{prompt}>" }]] });
  await Deno.writeTextFile(`${claude.home.project}/pröm pt.md`, "from\n\ta file\n");
  const named = await claude.printHere(["--input-file", "pröm pt.md"]);
  assertEquals([named.code, named.stdout], [0, "<from\n\ta file\n>\n"]);
  const piped = await claude.printHere(["--input-file", "-"], { stdin: "from a pipe" });
  assertEquals([piped.code, piped.stdout], [0, "<from a pipe>\n"]);
});

Deno.test("further arguments are ignored with a warning, unless it is to be quiet", async () => {
  await using claude = await StandIn.set({ turns: [[{ text: "{prompt}" }]] });
  const run = await claude.printHere(["one", "two"], { warns: true });
  assertEquals([run.code, run.stdout], [0, "one\n"]);
  assertStringIncludes(
    run.stderr,
    'claude-print: Warning: Only the first prompt counts, "two" is ignored',
  );
  const quiet = await claude.printHere(["--quiet", "one", "two"]);
  assertEquals([quiet.stdout, quiet.stderr], ["one\n", ""]);
});

Deno.test("a prompt that Claude Code changes fails the run, whatever it answers", async () => {
  await using claude = await StandIn.set();
  const wrapper = `${claude.home.path}/changing`;
  await Deno.writeTextFile(
    wrapper,
    `#!/bin/sh\nexec 3< "$HOME/changed"; exec ${claude.binary} "$@" <&3\n`,
    { mode: 0o755 },
  );
  await Deno.writeTextFile(`${claude.home.path}/changed`, "something else");
  const args = ["--claude-binary", wrapper, "--output-format", "json", "hello"];
  const run = await claude.printHere(args, { namesBinary: false });
  const { subtype, result } = run.result;
  assertEquals([run.code, subtype, result], [2, "internal_error", undefined]);
  assertStringIncludes(run.stderr, "The prompt did not reach Claude as it is");
});

Deno.test("--input-file takes a FIFO as it comes, hears a signal meanwhile, and has a limit", async () => {
  await using claude = await StandIn.set();
  const fifo = `${claude.home.path}/fifo`;
  makeFifo(fifo);
  const args = ["--input-file", fifo];
  const run = claude.start(args);
  await Deno.writeTextFile(fifo, "from a FIFO");
  const { code, stdout } = await run.ended;
  assertEquals([code, stdout], [0, "Hello from the stand-in.\n"]);
  assertEquals((await claude.journal("prompt")).map(({ bytes }) => bytes), [11]);
  for (const [signal, exitCode] of [["SIGTERM", 143], ["SIGQUIT", 131]] as const) {
    const waiting = claude.start(args, { killed: true });
    // It has a reader only when the run waits.
    const writer = await Deno.open(fifo, { write: true });
    waiting.kill(signal);
    assertEquals((await waiting.ended).code, exitCode, signal);
    writer.close();
  }
  const endless = await claude.printHere(["--input-file", "/dev/zero"]);
  assertEquals(endless.code, 2);
  assertStringIncludes(endless.stderr, "Cannot send the prompt: it is longer than");
});
