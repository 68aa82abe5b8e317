import { assertEquals, assertStringIncludes } from "@std/assert";
import type { Scenario } from "../../../fixtures/mock/scenario.ts";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { missingTool } from "../../missing_tool.ts";
import { ignoredSignalLack } from "../../ignored_signal_lack.ts";
import { leftovers, processesOf } from "../../leftovers.ts";
import { skipIfLacking } from "../../skip_if_lacking.ts";
import { StandIn, until } from "../stand_in.ts";
import { runInTerminal } from "../terminal_run.ts";
import { PASSING_S, passTime } from "../../time_out.ts";
import { inShell } from "../../in_shell.ts";
import { JSON_FORMAT, STREAM_FORMAT } from "../../caller_lines.ts";

Deno.test(skipIfLacking(ignoredSignalLack("SIGHUP"), {
  name: "SIGHUP ends child and run with exit code 129",
  fn: async () => {
    await using claude = await StandIn.set({ hang: "prompt" });
    const run = claude.start([...JSON_FORMAT, "hello"]);
    await claude.untilNoted("prompt");
    run.kill("SIGHUP");
    const ended = await run.ended;
    assertEquals([ended.code, ended.result["subtype"]], [129, "interrupted"]);
    assertEquals(ended.stderr, "claude-print: The run was interrupted by SIGHUP\n");
    assertEquals((await claude.journal("exit")).map((each) => each.code), [143]);
  },
}));

/** Sets `$RUN` to the pid of the program. The child's end sends SIGHUP to its terminal. */
const NAME_RUN = "trap '' HUP; read -r _ _ _ RUN _ < /proc/$CLAUDE/stat";

Deno.test("a signal to the process group ends the run", async () => {
  await using claude = await StandIn.set({
    sabotage: [{ at: "prompt", run: `${NAME_RUN}; kill -s USR1 $CLAUDE $RUN` }],
  });
  const { code, result, stderr } = await claude.print([...JSON_FORMAT, "hello"]);
  assertEquals([code, result["subtype"]], [138, "interrupted"]);
  assertEquals(stderr, "claude-print: The run was interrupted by SIGUSR1\n");
});

Deno.test("a run under nohup survives SIGHUP", async () => {
  await using claude = await StandIn.set({
    sabotage: [{ at: "prompt", run: `${NAME_RUN}; kill -s HUP $RUN` }],
  });
  const { code, result } = await claude.print([...JSON_FORMAT, "hello"], {
    wrap: (command) => ["nohup", ...command],
  });
  assertEquals([code, result["result"]], [0, "Hello from the stand-in."]);
});

Deno.test(skipIfLacking(missingTool("prlimit"), {
  name: "a file size limit on stdout fails the run",
  fn: async () => {
    await using claude = await StandIn.set({
      sabotage: [{ at: "answer", run: `${NAME_RUN}; prlimit --pid $RUN --fsize=0` }],
    });
    const wrap = inShell(`exec "$@" > ${claude.home.path}/out`);
    const args = [...STREAM_FORMAT, "--no-session-persistence"];
    const { code, stderr } = await claude.print([...args, "hello"], { wrap, killed: true });
    assertEquals([code, await leftovers(claude.home)], [2, []]);
    assertStringIncludes(stderr, "claude-print: Cannot write the output: File too large");
  },
}));

Deno.test("an interrupted run keeps the partial answer", async () => {
  await using claude = await StandIn.set({
    hang: "stream",
    turns: [[{ text: "Half an answer and its end" }]],
    sabotage: [{ at: "stream", run: ":" }],
  });
  const run = claude.start([...JSON_FORMAT, "hello"]);
  await claude.untilNoted("sabotage");
  run.kill("SIGINT");
  const { code, result, stderr } = await run.ended;
  assertEquals([code, result["subtype"]], [130, "interrupted"]);
  assertEquals(stderr, "claude-print: The run was interrupted by SIGINT\n");
  assertEquals(result["result"], "Half an answe");
  assertEquals((await claude.journal("exit")).map((each) => each.code), [143]);
  assertEquals(await claude.keys(), [".\x1b"], "a person would have pressed Escape");
});

Deno.test("a child that ignores Escape is ended", async () => {
  await using claude = await StandIn.set({
    hang: "answer",
    ignoreEscape: true,
    sabotage: [{ at: "answer", run: ":" }],
  });
  const run = claude.start([...JSON_FORMAT, "hello"]);
  await claude.untilNoted("sabotage");
  run.kill("SIGTERM");
  const { code, result, stderr } = await run.ended;
  assertEquals([code, result["result"]], [143, "Hello from the stand-in."]);
  assertEquals(stderr, "claude-print: The run was interrupted by SIGTERM\n");
  assertEquals((await claude.journal("exit")).map((each) => each.code), [143]);
});

Deno.test("a second signal kills a child that ignores signals", async () => {
  await using claude = await StandIn.set({
    hang: "prompt",
    ignoreEscape: true,
    ignoreSignals: ["SIGTERM", "SIGHUP", "SIGINT"],
  });
  // The program knows of the turn once it has printed `init`.
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const onStdout = (text: string) => text.includes('"init"') && begin();
  const run = claude.start([...STREAM_FORMAT, "hello"], { onStdout });
  await begun;
  run.kill("SIGINT");
  await until(async () => (await claude.keys()).includes(".\x1b"), "Escape is pressed");
  run.kill("SIGINT");
  assertEquals((await run.ended).code, 130);
  assertEquals([await claude.journal("signal"), await claude.journal("exit")], [[], []]);
});

Deno.test("a run goes on after ^Z and fg", async () => {
  await using claude = await StandIn.set({
    sabotage: [{ at: "answer", run: `until [ -e "$HOME/stopped" ]; do sleep 0.01; done` }],
  });
  // timeout(1) makes a process group, as a shell does for a job.
  const wrap = (command: readonly string[]) => ["timeout", "600", ...command];
  const run = claude.start([...JSON_FORMAT, "hello"], { wrap });
  await claude.untilNoted("prompt");
  Deno.kill(-run.pid, "SIGTSTP");
  await until(() => isStopped(run.pid), "the run stands still");
  await Deno.writeTextFile(`${claude.home.path}/stopped`, "");
  await until(
    async () => (await claude.journal("hook")).some(({ event }) => event === "Stop"),
    "the child goes on by itself",
  );
  Deno.kill(-run.pid, "SIGCONT");
  const { code, result } = await run.ended;
  assertEquals([code, result["result"]], [0, "Hello from the stand-in."]);
});

Deno.test("the child's terminal follows the size of the user's", async () => {
  await using claude = await StandIn.set({
    // The journal holds this scenario too, but there it is quoted once more.
    sabotage: [{
      at: "answer",
      run: `until grep -q ':"resize"' ../journal; do sleep 0.05; done`,
    }],
  });
  const { home, binary } = claude;
  const command = [...CLAUDE_PRINT, "--claude-binary", binary, "--quiet", "--quiet", "hello"];
  const run = await runInTerminal(command, {
    size: { rows: 33, cols: 101 },
    cwd: home.project,
    env: home.env,
    meanwhile: async ({ resize }) => {
      await claude.untilNoted("prompt");
      resize({ rows: 40, cols: 90 });
    },
  });
  const exit = { kind: "exited", code: 0 } as const;
  assertEquals(run, { exit, output: "Hello from the stand-in.\r\n" });
  const [start] = await claude.journal("start");
  assertEquals(start?.size, { rows: 33, columns: 101 });
  const resized = (await claude.journal("resize")).map(({ rows, columns }) => [rows, columns]);
  assertEquals(resized, [[40, 90]]);
  assertEquals(await leftovers(home), []);
});

Deno.test("a child that ignores SIGTERM after its answer is killed", async () => {
  await using claude = await StandIn.set({ ignoreSignals: ["SIGTERM", "SIGHUP"] });
  const run = await passTime(
    claude.printInProcess(["--exit-timeout", `${PASSING_S}`, "hello"], { warns: true }),
    claude.untilNoted("signal"),
  );
  assertEquals([run.code, run.stdout], [0, "Hello from the stand-in.\n"]);
  const told = `did not end within ${PASSING_S} s of its answer and was killed`;
  assertStringIncludes(run.stderr, told);
  assertEquals((await claude.journal("signal")).map(({ name }) => name)[0], "SIGTERM");
  assertEquals(await claude.journal("exit"), []);
});

Deno.test("a signal after the child's end keeps the answer", async () => {
  await using claude = await StandIn.set({ transcript: "never" });
  const run = claude.start([...JSON_FORMAT, "hello"]);
  await claude.untilGone();
  run.kill("SIGTERM");
  const { code, result } = await run.ended;
  assertEquals([code, result["result"]], [0, "Hello from the stand-in."]);
});

/** The environment of a background process of the tool does not name the run. */
const TOOL_RUNNING: Partial<Scenario> = {
  turns: [[{
    tools: [bash("trap '' TERM HUP INT; sleep 600 & env -i setsid sleep 601 & wait; sleep 600")],
  }]],
};

Deno.test("an interrupt kills a running tool", async () => {
  await using claude = await StandIn.set(TOOL_RUNNING);
  const run = claude.start([...JSON_FORMAT, "hello"]);
  const isThere = () => processesOf(claude.home.path).some((line) => line.endsWith(": sleep 601"));
  await until(() => isThere(), "the tool is at work");
  run.kill("SIGTERM");
  const { code, result } = await run.ended;
  assertEquals([code, result["terminal_reason"]], [143, "aborted_tools"]);
});

/** Whether the only child of a process is stopped, proc(5). */
function isStopped(parent: number): boolean {
  const children = Deno.readTextFileSync(`/proc/${parent}/task/${parent}/children`).trim();
  return / T /.test(Deno.readTextFileSync(`/proc/${children}/stat`));
}

function bash(command: string) {
  return { name: "Bash", input: { command } };
}
