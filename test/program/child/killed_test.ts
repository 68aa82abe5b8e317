import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Scenario } from "../../../fixtures/mock/scenario.ts";
import { CLAUDE_PRINT, CLAUDE_PRINT_SOURCES } from "../../claude_print.ts";
import { leftovers, processesOf } from "../../leftovers.ts";
import { type ProgramOutput, startProgram } from "../../start_program.ts";
import { StandIn, until } from "../stand_in.ts";

/** Runs another command of `claude-print` than a run. */
async function command(claude: StandIn, args: readonly string[]) {
  const { env, project: cwd } = claude.home;
  return await startProgram([...CLAUDE_PRINT, ...args], { env, cwd }).ended;
}

/** Starts a run, kills it at a moment, and waits until nothing of it lives. */
async function killOne(
  claude: StandIn,
  isMoment: (claude: StandIn) => Promise<void>,
): Promise<void> {
  const run = claude.start(["hello"], { killed: true });
  await isMoment(claude);
  run.kill("SIGKILL");
  await run.ended;
  await until(() => processesOf(claude.home.path).length === 0, "nothing of the run lives");
}

/** A child that ignores signals, with a tool in a session without environment. */
const STUBBORN: Partial<Scenario> = {
  ignoreSignals: ["SIGTERM", "SIGHUP", "SIGINT"],
  turns: [[{
    tools: [{ name: "Bash", input: { command: "trap '' TERM HUP; exec env -i sleep 600" } }],
  }]],
};

Deno.test("SIGKILL of claude-print ends a stubborn child and its tool", async () => {
  await using claude = await StandIn.set(STUBBORN);
  await killOne(claude, async () => {
    const isAtWork = () => processesOf(claude.home.path).some((line) => line.endsWith("sleep 600"));
    await until(isAtWork, "the tool runs");
  });
  const swept = await command(claude, ["sweep"]);
  assertEquals([swept.code, swept.stderr], [0, ""]);
  assertMatch(
    swept.stdout,
    /^removed .*: its run was killed, 1 file of its transcript rescued\n/u,
  );
  assertEquals(await leftovers(claude.home), []);
  const [transcript = ""] = claude.transcripts().values();
  assertStringIncludes(transcript, "hello");
});

Deno.test("the next run rescues the transcript after SIGKILL", async () => {
  // Only at its end does the child write anything.
  await using claude = await StandIn.set({ hang: "answer", transcriptDelayMs: 600_000 });
  await killOne(claude, () => claude.untilNoted("prompt"));
  assertEquals(claude.transcripts().size, 0);
  const next = await claude.printInProcess(["again"], { env: { MOCK_CLAUDE_SCENARIO: "{}" } });
  assertEquals([next.code, next.stdout], [0, "Hello from the stand-in.\n"]);
  const texts = [...claude.transcripts().values()].toSorted();
  assertEquals(texts.length, 2);
  assertEquals(texts.filter((text) => text.includes("hello")).length, 1);
});

Deno.test("sweep --dry-run reports, sweep removes", async () => {
  await using claude = await StandIn.set({ hang: "prompt" });
  await killOne(claude, () => claude.untilNoted("prompt"));
  const dry = await command(claude, ["sweep", "--dry-run", "--json"]);
  // The report lists folders of other runs after this one.
  const [folder] = JSON.parse(dry.stdout);
  assertEquals([dry.code, folder.verdict, folder.rescued], [0, "abandoned", 0]);
  assertEquals((await leftovers(claude.home)).includes(folder.path), true);
  const swept = await command(claude, ["sweep"]);
  assertMatch(swept.stdout, /^removed .*\n(?:.*\n)*\d+ folders?: 1 removed/u);
  const nothing = await command(claude, ["sweep"]);
  assertEquals(nothing.stdout.includes(`${claude.home.tmp}/`), false);
});

Deno.test("sweep keeps a transcript that it cannot rescue", async () => {
  await using claude = await StandIn.set({ hang: "prompt" });
  await killOne(claude, () => claude.untilNoted("prompt"));
  const projects = `${claude.home.config}/projects`;
  await Deno.writeTextFile(projects, "not a folder");
  const swept = await command(claude, ["sweep"]);
  assertEquals([swept.code, swept.stderr], [2, ""]);
  assertMatch(
    swept.stdout,
    /^kept .*: Cannot copy the transcript to .*\n(?:.*\n)*\d+ folders?: 1 kept/u,
  );
  const run = claude.start(["--no-session-persistence", "hello"], { killed: true });
  await claude.untilNoted("prompt", 2);
  run.kill("SIGTERM");
  const { code, stderr } = await run.ended;
  assertEquals(code, 143);
  assertEquals(
    stderr.split("Warning: Cannot sweep what an earlier run left in ").length,
    2,
    stderr,
  );
  await Deno.remove(projects);
  assertEquals((await command(claude, ["sweep"])).code, 0);
  assertEquals(await leftovers(claude.home), []);
});

/** Runs the program with a statement that Deno executes once the child has its prompt. */
async function runWith(claude: StandIn, statement: string): Promise<ProgramOutput> {
  const preload = `${claude.home.path}/preload.ts`;
  const journal = JSON.stringify(`${claude.home.path}/journal`);
  await Deno.writeTextFile(
    preload,
    `const timer = setInterval(() => {
      try {
        if (!Deno.readTextFileSync(${journal}).includes('"prompt"')) return;
      } catch {
        return;
      }
      clearInterval(timer);
      ${statement}
    }, 5);
    // Deno loads the program only when nothing in here is waited for.
    Deno.unrefTimer(timer);`,
  );
  const [deno = "", run = "", ...rest] = CLAUDE_PRINT[1] === "run"
    ? CLAUDE_PRINT
    : CLAUDE_PRINT_SOURCES;
  const args = ["--claude-binary", claude.binary, "--output-format", "json", "hello"];
  const { env, project: cwd } = claude.home;
  return await startProgram([deno, run, "--preload", preload, ...rest, ...args], { env, cwd })
    .ended;
}

const FAILURES = [
  ["an uncaught error", 'throw new Error("injected");'],
  ["an unhandled rejection", 'Promise.reject(new Error("injected"));'],
] as const;

for (const [name, failure] of FAILURES) {
  Deno.test(`${name} leaves nothing and prints a result`, async () => {
    await using claude = await StandIn.set(STUBBORN);
    const run = await runWith(claude, failure);
    assertEquals(run.code, 2, run.stderr);
    assertMatch(run.stderr, /^claude-print: injected\nError: injected\n/u);
    const { subtype, is_error } = JSON.parse(run.stdout);
    assertEquals([subtype, is_error], ["internal_error", true]);
    assertEquals(await leftovers(claude.home), []);
    const [transcript = ""] = claude.transcripts().values();
    assertStringIncludes(transcript, "hello");
  });
}

Deno.test("Deno.exit() leaves nothing", async () => {
  await using claude = await StandIn.set(STUBBORN);
  const run = await runWith(claude, "Deno.exit(7);");
  assertEquals(run, { code: 7, stdout: "", stderr: "" });
  assertEquals(await leftovers(claude.home), []);
  assertEquals(claude.transcripts().size, 1);
});

Deno.test("SIGQUIT leaves nothing, or warns of a kept transcript", async () => {
  await using claude = await StandIn.set({ hang: "prompt" });
  const quit = async () => {
    const run = claude.start(["hello"], { killed: true });
    await claude.untilNoted("prompt");
    run.kill("SIGQUIT");
    const { code, stderr } = await run.ended;
    assertEquals(code, 131);
    await Deno.remove(`${claude.home.path}/journal`);
    return stderr;
  };
  assertEquals(await quit(), "");
  assertEquals(await leftovers(claude.home), []);
  assertEquals(claude.transcripts().size, 1);
  const { config } = claude.home;
  await Deno.rename(`${config}/projects`, `${config}/before`);
  await Deno.writeTextFile(`${config}/projects`, "not a folder");
  assertMatch(
    await quit(),
    /^claude-print: Warning: Cannot copy the transcript .*; it is kept in .*\n$/u,
  );
  await Deno.remove(`${config}/projects`);
  await command(claude, ["sweep"]);
  assertEquals(await leftovers(claude.home), []);
  assertEquals(claude.transcripts().size, 1);
});
