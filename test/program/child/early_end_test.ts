import { assertEquals, assertStringIncludes } from "@std/assert";
import type { Run } from "../run.ts";
import { StandIn } from "../stand_in.ts";
import { LIMIT_S, timeOut } from "../../time_out.ts";
import { JSON_FORMAT, STREAM_FORMAT } from "../../caller_lines.ts";

Deno.test("--delivery-timeout ends a run whose prompt is not taken", async () => {
  await using claude = await StandIn.set({ hang: "ready" });
  const run = await claude.printInProcess([...JSON_FORMAT, "--delivery-timeout", "1", "hello"]);
  assertEquals([run.code, run.result["subtype"]], [2, "delivery_timeout"]);
  assertStringIncludes(run.stderr, "Claude Code did not take the prompt in 1 s\n");
  assertStringIncludes(run.stderr, "| ", "the screen is shown");
});

Deno.test("a child that ends early fails the run", async () => {
  for (const at of ["start", "prompt"] as const) {
    await using claude = await StandIn.set({
      crash: { at, code: 7, screen: "panic: the \x1b[31mreactor\x1b[0m\nhas \x07melted" },
    });
    const run = await claude.printInProcess([...JSON_FORMAT, "hello"]);
    assertEquals([run.code, run.result["subtype"]], [2, "internal_error"]);
    assertStringIncludes(run.stderr, "Claude Code ended before the turn did: exit code 7\n");
    assertStringIncludes(run.stderr, "  | panic: the reactor\n  | has melted\n");
  }
});

Deno.test("a child that refuses to start ends the run", async () => {
  const screen = "\x1b[31m--agent 'nobody' not found. Available agents: claude\x1b[39m\n";
  const outcome = async (...args: string[]) => {
    await using claude = await StandIn.set({ crash: { at: "start", code: 1, screen } });
    const { code, stdout, stderr, frames } = await claude.printInProcess([...args, "hello"]);
    assertEquals(
      stderr,
      "claude-print: --agent 'nobody' not found. Available agents: claude\n" +
        "  Claude Code ended before the prompt: correct the flag or file that it names\n",
    );
    return frames.length === 0 ? [code, stdout] : [code, ...frames.map(({ subtype }) => subtype)];
  };
  assertEquals(await outcome(), [1, ""]);
  for (const format of [JSON_FORMAT, STREAM_FORMAT]) {
    assertEquals(await outcome(...format), [1, "refused"], format.join(" "));
  }
});

Deno.test("tools of a killed child do not outlive the run", async () => {
  await using claude = await StandIn.set({
    turns: [[{ tools: [{ name: "Bash", input: { command: "kill -9 $PPID; sleep 600" } }] }]],
  });
  const run = await claude.printInProcess([...JSON_FORMAT, "hello"]);
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
    claude.printInProcess([...format, "--timeout", `${LIMIT_S}`, "hello"]),
    claude.untilNoted("sabotage"),
  );
  assertEquals(run.code, 124, hang);
  return { run, exits: (await claude.journal("exit")).map(({ code }) => code) };
}

Deno.test("--timeout prints the partial answer in every format", async () => {
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
