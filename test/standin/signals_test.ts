import { assertEquals, assertStringIncludes } from "@std/assert";
import type { Scenario } from "../../fixtures/mock/scenario.ts";
import { StandIn } from "./stand_in.ts";

const JSON_FORMAT = ["--output-format", "json"];

const SIGNALS = [["SIGINT", 130], ["SIGTERM", 143], ["SIGHUP", 129]] as const;

for (const [signal, code] of SIGNALS) {
  Deno.test(`${signal} ends the child and the run with exit code ${code}`, async () => {
    await using claude = await StandIn.set({ hang: "prompt" });
    const run = claude.start([...JSON_FORMAT, "hello"]);
    await claude.untilNoted("prompt");
    run.kill(signal);
    const ended = await run.ended;
    assertEquals([ended.code, ended.result["subtype"]], [code, "interrupted"]);
    assertEquals(ended.stderr, `claude-print: The run was interrupted by ${signal}\n`);
    assertEquals((await claude.journal("exit")).map((each) => each.code), [143]);
  });
}

Deno.test("SIGINT before the prompt was taken ends the run too", async () => {
  await using claude = await StandIn.set({ hang: "start" });
  const run = claude.start([...JSON_FORMAT, "hello"]);
  await claude.untilNoted("start");
  run.kill("SIGINT");
  assertEquals((await run.ended).code, 130);
});

Deno.test("an interrupted run keeps what there is of the answer", async () => {
  await using claude = await StandIn.set({ hang: "answer", turns: [[{ text: "Half an answer" }]] });
  // A hook that tells of the text once it is there.
  const hooks = { MessageDisplay: [{ hooks: [{ type: "command", command: "true" }] }] };
  const run = claude.start([...JSON_FORMAT, "--settings", JSON.stringify({ hooks }), "hello"]);
  await claude.untilNoted("hook");
  run.kill("SIGINT");
  const { code, result } = await run.ended;
  assertEquals([code, result["subtype"]], [130, "interrupted"]);
  assertEquals(result["result"], "Half an answer");
});

Deno.test("a second signal kills a child that ignores signals", async () => {
  await using claude = await StandIn.set({
    hang: "prompt",
    ignoreSignals: ["SIGTERM", "SIGHUP", "SIGINT"],
  });
  const run = claude.start([...JSON_FORMAT, "hello"]);
  await claude.untilNoted("prompt");
  run.kill("SIGINT");
  await claude.untilNoted("signal");
  run.kill("SIGINT");
  assertEquals((await run.ended).code, 130);
  assertEquals(await claude.journal("exit"), []);
});

Deno.test("a child that ignores SIGTERM after its answer is killed, and the answer printed", async () => {
  await using claude = await StandIn.set({ ignoreSignals: ["SIGTERM", "SIGHUP"] });
  const run = await claude.print(["hello"]);
  assertEquals([run.code, run.stdout], [0, "Hello from the stand-in.\n"]);
  assertEquals((await claude.journal("signal")).map(({ name }) => name)[0], "SIGTERM");
  assertEquals(await claude.journal("exit"), []);
});

Deno.test("a child that takes its time to go is waited for", async () => {
  await using claude = await StandIn.set({ exitMs: 700 });
  const { code, result } = await claude.print([...JSON_FORMAT, "hello"]);
  assertEquals([code, result["num_turns"]], [0, 1]);
  assertEquals((await claude.journal("exit")).map((each) => each.code), [143]);
});

Deno.test("a signal while the answer is being read does not lose it, or anything behind", async () => {
  await using claude = await StandIn.set({ transcript: "never" });
  const run = claude.start([...JSON_FORMAT, "hello"]);
  await claude.untilGone();
  run.kill("SIGTERM");
  const { code, result } = await run.ended;
  assertEquals([code, result["result"]], [0, "Hello from the stand-in."]);
});

/** Every version leaves its tools to us in one way or another. */
const TOOL_RUNNING: Partial<Scenario> = {
  turns: [[{ tools: [bash("trap '' TERM HUP INT; sleep 600 & wait; sleep 600")] }]],
};

for (const version of ["2.1.197", "2.1.330"]) {
  Deno.test(`${version}: a tool still running is killed when the run times out`, async () => {
    await using claude = await StandIn.set({ version, ...TOOL_RUNNING });
    const { code } = await claude.print(["--timeout", "2", "hello"]);
    assertEquals(code, 124);
    assertEquals((await claude.journal("tool")).length, 1);
  });

  Deno.test(`${version}: a tool still running is killed when the run is interrupted`, async () => {
    await using claude = await StandIn.set({ version, ...TOOL_RUNNING });
    const run = claude.start([...JSON_FORMAT, "hello"]);
    await claude.untilNoted("tool");
    run.kill("SIGTERM");
    const { code, result } = await run.ended;
    assertEquals([code, result["terminal_reason"]], [143, "aborted_tools"]);
  });
}

Deno.test("a signal of the terminal's, given to the whole process group, interrupts once", async () => {
  await using claude = await StandIn.set({ hang: "prompt" });
  const run = claude.start(["hello"], { wrap: (command) => ["setsid", ...command] });
  await claude.untilNoted("prompt");
  // setsid makes the run the leader of its process group.
  Deno.kill(-run.pid, "SIGINT");
  const { code, stderr } = await run.ended;
  assertEquals(code, 130);
  assertStringIncludes(stderr, "The run was interrupted by SIGINT\n");
  assertEquals((await claude.journal("signal")).map(({ name }) => name), ["SIGTERM"]);
});

function bash(command: string) {
  return { name: "Bash", input: { command } };
}
