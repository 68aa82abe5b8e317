import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { closeFd, writeFd } from "../../../ffi/descriptors/fd.ts";
import { makeFifo, openFifo } from "../../../ffi/descriptors/pipe.ts";
import { sha256 } from "../../../fixtures/mock/files/journal.ts";
import type { Scenario } from "../../../fixtures/mock/scenario.ts";
import { STOP_SIGNALS } from "../../../src/claude/wire/stop_signal.ts";
import { leftovers } from "../../leftovers.ts";
import { passTime } from "../../time_out.ts";
import { StandIn, until } from "../stand_in.ts";
import { inShell } from "../../in_shell.ts";
import { writeScript } from "../../write_script.ts";
import { JSON_FORMAT } from "../../caller_lines.ts";

const HELLO = "Hello from the stand-in.";
const PASTE = ["--inject", "paste"];

const AWKWARD: readonly string[] = [
  "\n\n  one\n\ttwo\n\n  three  \n\n",
  "heart ❤️ family 👩‍👩‍👧‍👦 flags 🇩🇪 skin 👍🏽",
  "one\r\ntwo\r\n",
  "//x",
  "!echo pressed",
  "# remember this",
  "@file",
  "ends with a backslash\\",
  "red \x1b[31m, paste end \x1b[201~\r, bell \x07, ^C \x03",
  "\ufeffmarked",
];

Deno.test("an awkward prompt reaches the child byte for byte", async () => {
  await using claude = await StandIn.set();
  // A decoder would take away the first character, a byte order mark.
  const prompt = [AWKWARD.at(-1), ...AWKWARD].join(" \n ");
  const run = await claude.printInProcess([], { stdin: prompt });
  assertEquals([run.code, run.stdout], [0, `${HELLO}\n`]);
  const bytes = new TextEncoder().encode(prompt);
  const taken = (await claude.journal("prompt")).map((each) => [each.bytes, each.sha256]);
  assertEquals(taken, [[bytes.length, await sha256(bytes)]]);
  const [start] = await claude.journal("start");
  assertEquals(start?.args.filter((each) => each.includes("three")), [], "no prompt in argv");
});

Deno.test("each awkward prompt alone reaches the child", async () => {
  await using claude = await StandIn.set();
  // One program for all of them.
  const run = await claude.print(["--jsonl"], {
    stdin: AWKWARD.map((prompt) => JSON.stringify(prompt)).join("\n"),
    killed: true,
  });
  assertEquals([run.code, run.stderr, await leftovers(claude.home)], [0, "", []]);
  const sums = await Promise.all(
    AWKWARD.map((prompt) => sha256(new TextEncoder().encode(prompt))),
  );
  assertEquals((await claude.journal("prompt")).map((each) => each.sha256), sums);
});

Deno.test("a prompt that Claude Code changes fails the run", async () => {
  await using claude = await StandIn.set();
  const wrapper = `${claude.home.path}/changing`;
  const script = `#!/bin/sh\nexec 3< "$HOME/changed"; exec ${claude.binary} "$@" <&3\n`;
  await writeScript(wrapper, script);
  await Deno.writeTextFile(`${claude.home.path}/changed`, "something else");
  const args = ["--claude-binary", wrapper, ...JSON_FORMAT, "hello"];
  const run = await claude.printInProcess(args, { namesBinary: false });
  const { subtype, result } = run.result;
  assertEquals([run.code, subtype, result], [2, "internal_error", undefined]);
  assertStringIncludes(run.stderr, "The prompt did not reach Claude as it is");
});

Deno.test("--input-file takes a FIFO and has a limit", async () => {
  await using claude = await StandIn.set();
  const fifo = `${claude.home.path}/fifo`;
  makeFifo(fifo);
  const args = ["--input-file", fifo];
  const run = claude.start(args);
  await Deno.writeTextFile(fifo, "from a FIFO");
  const { code, stdout } = await run.ended;
  assertEquals([code, stdout], [0, `${HELLO}\n`]);
  assertEquals((await claude.journal("prompt")).map(({ bytes }) => bytes), [11]);
  for (const [signal, exitCode] of [["SIGTERM", 143], ["SIGQUIT", 131]] as const) {
    const waiting = claude.start(args, { killed: true });
    // The FIFO has a reader once the run waits.
    const writer = await Deno.open(fifo, { write: true });
    waiting.kill(signal);
    assertEquals((await waiting.ended).code, exitCode, signal);
    writer.close();
  }
  const endless = await claude.printInProcess(["--input-file", "/dev/zero"]);
  assertEquals(endless.code, 2);
  assertStringIncludes(endless.stderr, "Cannot send the prompt: it is longer than");
});

/** A FIFO that stays open for writing, with the beginning of a prompt in it. */
function unendedFifo(claude: StandIn): { readonly path: string } & Disposable {
  const path = `${claude.home.path}/fifo`;
  makeFifo(path);
  const fd = openFifo(path);
  writeFd(fd, new TextEncoder().encode("The beginning of a prompt"));
  return { path, [Symbol.dispose]: () => closeFd(fd) };
}

/** The run itself, with the FIFO as stdin. */
const reading = (path: string) => inShell(`exec "$@" < ${path}`);

Deno.test("--timeout ends the wait for a prompt, and names it", async () => {
  await using claude = await StandIn.set();
  using fifo = unendedFifo(claude);
  const silent = `${claude.home.path}/silent`;
  makeFifo(silent);
  const cases = [
    [[], reading(fifo.path), "stdin had not ended"],
    [["--input-file", "-"], reading(fifo.path), "stdin had not ended"],
    [["--input-file", "/dev/stdin"], reading(fifo.path), '--input-file "/dev/stdin" had not ended'],
    [["--input-file", silent], undefined, `--input-file "${silent}" had not ended`],
  ] as const;
  await Promise.all(cases.map(async ([args, wrap, cause]) => {
    const run = await claude.print([...JSON_FORMAT, "--timeout", "0.5", ...args], {
      ...(wrap === undefined ? {} : { wrap }),
    });
    assertEquals([run.code, run.result["subtype"]], [124, "timeout"]);
    const [message, suggestion] = run.stderr.split("\n");
    assertEquals(message, `claude-print: The run timed out after 0.5 s: ${cause}`);
    assertMatch(suggestion ?? "", /^ {2}\S.*--timeout/u);
  }));
  assertEquals(await claude.journal("start"), []);
});

/** Whether a process catches SIGPWR, the last signal that a run handles, by `SigCgt` of proc_pid_status(5). */
function catchesSignals(pid: number): boolean {
  const [, caught = "0"] =
    /^SigCgt:\s*(\w+)$/mu.exec(Deno.readTextFileSync(`/proc/${pid}/status`)) ?? [];
  return (BigInt(`0x${caught}`) >> BigInt(STOP_SIGNALS.SIGPWR - 1) & 1n) === 1n;
}

Deno.test("a signal ends the wait for a prompt", async () => {
  await using claude = await StandIn.set();
  using fifo = unendedFifo(claude);
  const run = claude.start(JSON_FORMAT, { wrap: reading(fifo.path) });
  await until(() => catchesSignals(run.pid), "the run handles signals");
  run.kill("SIGTERM");
  const { code, result, stderr } = await run.ended;
  assertEquals([code, result["subtype"]], [143, "interrupted"]);
  assertEquals(stderr, "claude-print: The run was interrupted by SIGTERM\n");
});

Deno.test("--timeout counts from the start of the program", async () => {
  await using claude = await StandIn.set();
  const folder = `${claude.home.path}/recording`;
  const { code } = await claude.print(["--timeout", "600", "--record", folder, "hello"]);
  assertEquals(code, 0);
  const [header = ""] = (await Deno.readTextFile(`${folder}/child.cast`)).split("\n");
  const { timeoutMs } = JSON.parse(header).claude_print.conversation.session;
  assert(timeoutMs > 0 && timeoutMs < 600_000, `${timeoutMs} ms were left when the child began`);
});

/** Pasted prompts, how the input box behaves, and how often Enter is pressed at least. */
const PASTES: Readonly<
  Record<string, { readonly text: string; readonly paste?: Scenario["paste"] }>
> = {
  "one line": { text: "hello ünïcödé 👍🏽" },
  "many lines of 2 KB": { text: `one\n\n  two\n${"0123456789 ünïcödé\n".repeat(100)}❤️\n\nsix` },
  "an echo that takes its time": {
    text: "hello",
    paste: { echoMs: 100, swallowsEnter: false, enters: 1 },
  },
  "an Enter that is lost": {
    text: "hello",
    paste: { echoMs: 50, swallowsEnter: true, enters: 2 },
  },
};

Deno.test("a paste is entered once it is on the screen", async (test) => {
  for (const [name, { text, paste }] of Object.entries(PASTES)) {
    await test.step(name, async () => {
      await using claude = await StandIn.set(paste === undefined ? {} : { paste });
      const run = await claude.printInProcess(PASTE, { stdin: text });
      assertEquals([run.stderr, run.code, run.stdout], ["", 0, `${HELLO}\n`]);
      const bytes = new TextEncoder().encode(text);
      assertEquals(
        (await claude.journal("prompt")).map((each) => [each.origin, each.bytes, each.sha256]),
        [["paste", bytes.length, await sha256(bytes)]],
      );
      const [start] = await claude.journal("start");
      assertEquals(start?.terminals, [true, true, true], "only the terminal is read");
      if (text.includes("\n")) return;
      const keys = await claude.keys({ echoes: true });
      const shown = keys.indexOf("echo");
      assertEquals(keys.slice(0, shown).join(""), `\x1b[200~${text}\x1b[201~`);
      const pressed = keys.slice(shown + 1).join("");
      // On a busy machine Enter is pressed again after half a second.
      assertEquals(pressed, "\r".repeat(Math.max(pressed.length, paste?.enters ?? 1)));
    });
  }
});

Deno.test("a paste that the input box changes fails the run", async () => {
  await using claude = await StandIn.set();
  const stdin = "0123456789 ünïcödé\n".repeat(5000).trimEnd();
  const run = await claude.printInProcess([...PASTE, ...JSON_FORMAT], { stdin });
  assertEquals([run.code, run.result["subtype"]], [2, "internal_error"]);
  assertStringIncludes(run.stderr, "Claude Code wraps a text of this size in tags\n");
});

Deno.test("a paste that never shows fails the run before Enter", async () => {
  await using claude = await StandIn.set({
    paste: { echoMs: 600_000, swallowsEnter: false, enters: 1 },
  });
  const run = await passTime(
    claude.printInProcess([...PASTE, "--delivery-timeout", "4", "hello"]),
    until(async () => (await claude.keys()).length > 0, "the prompt is pasted"),
  );
  assertEquals(run.code, 2);
  assertStringIncludes(run.stderr, "the paste did not appear in Claude Code's input box");
  assertEquals(await claude.keys(), ["\x1b[200~hello\x1b[201~"]);
});
