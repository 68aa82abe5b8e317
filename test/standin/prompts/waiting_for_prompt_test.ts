import { assert, assertEquals, assertMatch } from "@std/assert";
import { closeFd, writeFd } from "../../../ffi/descriptors/fd.ts";
import { makeFifo, openFifo } from "../../../ffi/descriptors/pipe.ts";
import { STOP_SIGNALS } from "../../../src/wire/stop_signal.ts";
import { StandIn, until } from "../stand_in.ts";

const JSON_FORMAT = ["--output-format", "json"];

/** A FIFO that stays open for writing, with the beginning of a prompt in it. */
function unendedFifo(claude: StandIn): { readonly path: string } & Disposable {
  const path = `${claude.home.path}/fifo`;
  makeFifo(path);
  const fd = openFifo(path);
  writeFd(fd, new TextEncoder().encode("The beginning of a prompt"));
  return { path, [Symbol.dispose]: () => closeFd(fd) };
}

/** The run itself, reading the FIFO on stdin. */
function reading(path: string) {
  return (command: readonly string[]) => [
    ...["/bin/sh", "-c", 'exec "$@" < "$0"', path],
    ...command,
  ];
}

Deno.test("--timeout ends the wait for a prompt, and says what it waited for", async () => {
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
    const [told, suggestion] = run.stderr.split("\n");
    assertEquals(told, `claude-print: The run timed out after 0.5 s: ${cause}`);
    assertMatch(suggestion ?? "", /^ {2}\S.*--timeout/u);
  }));
  assertEquals(await claude.journal("start"), []);
});

Deno.test("a signal ends the wait for a prompt, with a result", async () => {
  await using claude = await StandIn.set();
  using fifo = unendedFifo(claude);
  for (const args of [[], ["--input-file", "/dev/stdin"]]) {
    const run = claude.start([...JSON_FORMAT, ...args], { wrap: reading(fifo.path) });
    await until(() => Promise.resolve(catchesSignals(run.pid)), "the run takes signals");
    run.kill("SIGTERM");
    const { code, result, stderr } = await run.ended;
    assertEquals([code, result["subtype"]], [143, "interrupted"]);
    assertEquals(stderr, "claude-print: The run was interrupted by SIGTERM\n");
  }
});

Deno.test("--timeout counts from the start of the program", async () => {
  await using claude = await StandIn.set();
  const folder = `${claude.home.path}/recording`;
  const { code } = await claude.print(["--timeout", "60", "--record", folder, "hello"]);
  assertEquals(code, 0);
  const [header = ""] = (await Deno.readTextFile(`${folder}/child.cast`)).split("\n");
  const { timeoutMs } = JSON.parse(header).claude_print.conversation.session;
  assert(timeoutMs > 0 && timeoutMs < 60_000, `${timeoutMs} ms were left when the child began`);
});

/** Whether a process catches SIGPWR, the last that a run listens to, as `SigCgt` says (proc_pid_status(5)). */
function catchesSignals(pid: number): boolean {
  const [, caught = "0"] =
    /^SigCgt:\s*(\w+)$/mu.exec(Deno.readTextFileSync(`/proc/${pid}/status`)) ?? [];
  return (BigInt(`0x${caught}`) >> BigInt(STOP_SIGNALS.SIGPWR - 1) & 1n) === 1n;
}
