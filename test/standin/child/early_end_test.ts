import { assertEquals, assertStringIncludes } from "@std/assert";
import type { Moment } from "../../../fixtures/mock/scenario.ts";
import type { Run } from "../run.ts";
import { StandIn } from "../stand_in.ts";
import { LIMIT_S, PASSING_S, passTime, timeOut } from "../../time_out.ts";

const JSON_FORMAT = ["--output-format", "json"];
const STREAM_FORMAT = ["--output-format", "stream-json", "--verbose"];

Deno.test("a child that writes nothing ends the run after --start-timeout", async () => {
  await using claude = await StandIn.set({ hang: "start" });
  const limits = ["--start-timeout", `${PASSING_S}`, "--exit-timeout", "600"];
  const run = await passTime(
    claude.printHere([...STREAM_FORMAT, ...limits, "hello"]),
    claude.untilNoted("start"),
  );
  assertEquals([run.code, run.result["subtype"]], [2, "start_timeout"]);
  const told = `Claude Code wrote nothing to its terminal in ${PASSING_S} s\n`;
  assertStringIncludes(run.stderr, told);
  assertStringIncludes(run.stderr, "--start-timeout");
  assertEquals((await claude.journal("exit")).map(({ code }) => code), [143]);
});

Deno.test("a child that never takes the prompt ends the run after --delivery-timeout", async () => {
  await using claude = await StandIn.set({ hang: "ready" });
  const run = await claude.printHere([...JSON_FORMAT, "--delivery-timeout", "1", "hello"]);
  assertEquals([run.code, run.result["subtype"]], [2, "delivery_timeout"]);
  assertStringIncludes(run.stderr, "Claude Code did not take the prompt in 1 s\n");
  assertStringIncludes(run.stderr, "| ", "the screen is shown");
});

for (const at of ["start", "ready", "prompt", "answer"] as const satisfies readonly Moment[]) {
  Deno.test(`a child that ends by itself (${at}) ends the run with its last screen`, async () => {
    await using claude = await StandIn.set({
      crash: { at, code: 7, screen: "panic: the \x1b[31mreactor\x1b[0m\nhas \x07melted" },
    });
    const run = await claude.printHere([...JSON_FORMAT, "hello"]);
    assertEquals([run.code, run.result["subtype"]], [2, "internal_error"]);
    assertStringIncludes(run.stderr, "Claude Code ended before the turn did: exit code 7\n");
    assertStringIncludes(run.stderr, "  | panic: the reactor\n  | has melted\n");
  });
}

Deno.test("a child that refuses to begin ends the run as claude -p ends, with its words and exit code 1, and a result that says so", async () => {
  const screen = "\x1b[31m--agent 'nobody' not found. Available agents: claude\x1b[39m\n";
  const told = async (...args: string[]) => {
    await using claude = await StandIn.set({ crash: { at: "start", code: 1, screen } });
    const { code, stdout, stderr, frames } = await claude.printHere([...args, "hello"]);
    assertEquals(stderr, "claude-print: --agent 'nobody' not found. Available agents: claude\n");
    return frames.length === 0 ? [code, stdout] : [code, ...frames.map(({ subtype }) => subtype)];
  };
  assertEquals(await told(), [1, ""]);
  for (const format of [JSON_FORMAT, STREAM_FORMAT]) {
    assertEquals(await told(...format), [1, "refused"], format.join(" "));
  }
});

Deno.test("a child that ends by itself without a word ends the run too", async () => {
  await using claude = await StandIn.set({ crash: { at: "start", code: 0 } });
  const run = await claude.printHere(["hello"]);
  assertEquals([run.code, run.stdout], [2, ""]);
  assertStringIncludes(run.stderr, "Claude Code ended before the turn did: exit code 0\n");
});

Deno.test("the tools of a child that was killed do not outlive the run", async () => {
  await using claude = await StandIn.set({
    turns: [[{ tools: [{ name: "Bash", input: { command: "kill -9 $PPID; sleep 600" } }] }]],
  });
  const run = await claude.printHere([...JSON_FORMAT, "hello"]);
  assertEquals([run.code, run.result["subtype"]], [2, "internal_error"]);
  assertStringIncludes(run.stderr, "Claude Code ended before the turn did: SIGKILL\n");
});

/** Lets a turn time out that hangs at a moment. */
async function timeOutAt(
  hang: "prompt" | "answer",
  format: readonly string[],
): Promise<{ readonly run: Run; readonly exits: readonly number[] }> {
  await using claude = await StandIn.set({
    hang,
    sabotage: [{ at: hang, run: ":" }],
    transcriptDelayMs: 10,
  });
  const run = await timeOut(
    claude.printHere([...format, "--timeout", `${LIMIT_S}`, "hello"]),
    claude.untilNoted("sabotage"),
  );
  assertEquals(run.code, 124, hang);
  return { run, exits: (await claude.journal("exit")).map(({ code }) => code) };
}

Deno.test("--timeout ends a turn with the text so far in every format", async () => {
  for (const hang of ["prompt", "answer"] as const) {
    const { run, exits } = await timeOutAt(hang, JSON_FORMAT);
    assertEquals(run.result["subtype"], "timeout", hang);
    assertEquals(run.result["errors"], [`The run timed out after ${LIMIT_S} s`], hang);
    assertStringIncludes(run.stderr, `The run timed out after ${LIMIT_S} s\n`, hang);
    assertStringIncludes(run.stderr, "--timeout", hang);
    const partial = hang === "answer" ? "Hello from the stand-in." : undefined;
    assertEquals(run.result["result"], partial, "what there is of the answer");
    assertEquals(exits, [143], hang);
  }
  assertEquals((await timeOutAt("answer", [])).run.stdout, "Hello from the stand-in.\n");
  const { run } = await timeOutAt("answer", STREAM_FORMAT);
  const names = run.frames.map(({ type, subtype }) => subtype ?? type);
  assertEquals(names, ["init", "assistant", "user", "timeout"]);
});

Deno.test("a child that hangs after its Stop hook has answered all the same", async () => {
  await using claude = await StandIn.set({ hang: "stop" });
  const run = await claude.printHere(["hello"]);
  assertEquals([run.code, run.stdout], [0, "Hello from the stand-in.\n"]);
});
