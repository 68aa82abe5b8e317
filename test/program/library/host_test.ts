import { signalName, SIGNALS } from "../../../ffi/processes/signals.ts";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { exampleCommand, LIBRARY_SOURCE } from "../../examples/run_example.ts";
import { ignoredSignalLack } from "../../ignored_signal_lack.ts";
import { leftovers, processesOf } from "../../leftovers.ts";
import { type Program, startProgram } from "../../start_program.ts";
import { StandIn, until } from "../stand_in.ts";
import { skipIfLacking } from "../../skip_if_lacking.ts";
import { runWithLibrary } from "./run_with_library.ts";

/** Starts a program of somebody's own that begins with a run and goes on with some code. */
async function startHost(
  claude: StandIn,
  code: string,
  { library }: { readonly library?: string } = {},
): Promise<Program> {
  const { home, binary } = claude;
  const command = await exampleCommand(
    `import { run } from "jsr:@claude-print/cli/library";
    const hello = run("hello", { args: ["--claude-binary", ${JSON.stringify(binary)}] });
    const prompts = () => {
      try {
        return Deno.readTextFileSync("../journal").split('"prompt"').length - 1;
      } catch {
        return 0;
      }
    };
    ${code}`,
    { folder: home.path, ...(library === undefined ? {} : { library }) },
  );
  return startProgram(command, { env: { ...home.env, NO_COLOR: "1" }, cwd: home.project });
}

const untilNoProcess = ({ home }: StandIn) =>
  until(() => processesOf(home.path).length === 0, "all is gone");

/** Runs another prompt, which is answered, and removes what an earlier run left. */
const runAgain = (claude: StandIn) =>
  runWithLibrary(claude, {
    prompt: "again",
    env: { ...claude.home.env, MOCK_CLAUDE_SCENARIO: "{}" },
  }).result;

Deno.test("Deno.exit() of the program leaves nothing of several runs", async () => {
  await using claude = await StandIn.set({ hang: "prompt", ignoreSignals: ["SIGTERM", "SIGHUP"] });
  const { ended } = await startHost(
    claude,
    `const other = run("other", { args: ["--claude-binary", ${JSON.stringify(claude.binary)}] });
    setInterval(() => prompts() === 2 && Deno.exit(7), 5);
    await Promise.all([hello.result, other.result]);`,
  );
  assertEquals(await ended, { code: 7, stdout: "", stderr: "" });
  assertEquals(await leftovers(claude.home), []);
  assertEquals(claude.transcripts().size, 2);
});

Deno.test("a program that ends by itself waits for its run", async () => {
  await using claude = await StandIn.set();
  const { ended } = await startHost(
    claude,
    "hello.result.then(({ text }) => console.log(text));",
  );
  assertEquals(await ended, { code: 0, stdout: "Hello from the stand-in.\n", stderr: "" });
  assertEquals(await leftovers(claude.home), []);
});

Deno.test("runs leave no open file in their program", async () => {
  await using claude = await StandIn.set();
  const { ended } = await startHost(
    claude,
    `await hello.result;
    const files = () => [...Deno.readDirSync("/proc/self/fd")].length;
    const args = ["--claude-binary", ${JSON.stringify(claude.binary)}];
    // Deno keeps two for signals, which a run that is ended early listens for while it asks for a version.
    const listener = () => {};
    Deno.addSignalListener("SIGUSR1", listener);
    Deno.removeSignalListener("SIGUSR1", listener);
    const before = files();
    await Promise.all(["a", "b", "c"].map((prompt) => run(prompt, { args }).result));
    for await (const _ of run("d", { args })) break;
    // What Deno itself closes in its own time may be gone by now.
    console.log(Math.max(0, files() - before));`,
    // The bundle leaves some: where a `using` variable is named once, minifying puts its value there, which nobody closes.
    { library: LIBRARY_SOURCE },
  );
  assertEquals(await ended, { code: 0, stdout: "0\n", stderr: "" });
  assertEquals(await leftovers(claude.home), []);
});

Deno.test("a run installs no signal handlers", async () => {
  await using claude = await StandIn.set({ hang: "prompt" });
  const { child, ended } = await startHost(claude, "await hello.result;");
  await claude.untilNoted("prompt");
  const caught = /^SigCgt:\t([\da-f]+)$/mu.exec(
    await Deno.readTextFile(`/proc/${child.pid}/status`),
  )?.[1];
  // Deno 2.9.6 takes SIGHUP, SIGINT, SIGUSR1 and SIGTERM for itself half a second after its start.
  for (const signal of [SIGNALS.SIGQUIT, SIGNALS.SIGWINCH, SIGNALS.SIGXCPU]) {
    assertEquals(BigInt(`0x${caught}`) >> BigInt(signal - 1) & 1n, 0n, signalName(signal));
  }
  child.kill("SIGKILL");
  await ended;
  await untilNoProcess(claude);
  await runAgain(claude);
});

Deno.test("a program's own listener has a signal for itself", async () => {
  await using claude = await StandIn.set({ hang: "stream" });
  const { child, ended } = await startHost(
    claude,
    `Deno.addSignalListener("SIGINT", async () => {
      await hello[Symbol.asyncDispose]();
      console.log((await hello.result).exitCode);
      Deno.exit(3);
    });`,
  );
  await claude.untilNoted("prompt");
  child.kill("SIGINT");
  assertEquals(await ended, { code: 3, stdout: "141\n", stderr: "" });
  assertEquals(await leftovers(claude.home), []);
});

// One of those that Deno takes for itself, and one that it does not.
for (const signal of ["SIGINT", "SIGQUIT"] as const) {
  Deno.test(skipIfLacking(ignoredSignalLack(signal), {
    name: `${signal} ends a program, its run and folder`,
    fn: async () => {
      await using claude = await StandIn.set({ hang: "prompt" });
      const { child, ended } = await startHost(claude, "await hello.result;");
      await claude.untilNoted("prompt");
      child.kill(signal);
      assertEquals((await ended).stderr, "");
      assertEquals((await child.status).signal, signal);
      await untilNoProcess(claude);
      assertEquals((await runAgain(claude)).exitCode, 0);
      assertEquals(await leftovers(claude.home), []);
      assertEquals(claude.transcripts().size, 2);
    },
  }));
}

Deno.test("an uncaught error of the program is the program's", async () => {
  await using claude = await StandIn.set({ hang: "prompt" });
  const { ended } = await startHost(
    claude,
    `setInterval(() => {
      if (prompts() === 1) throw new Error("mine");
    }, 5);`,
  );
  const { code, stderr } = await ended;
  assertEquals(code, 1);
  assertMatch(stderr, /^error: Uncaught Error: mine\n/u);
  await untilNoProcess(claude);
  assert((await leftovers(claude.home)).length > 0, "the folder waits for the next run");
  assertEquals((await runAgain(claude)).warnings, []);
  assertEquals(await leftovers(claude.home), []);
});
