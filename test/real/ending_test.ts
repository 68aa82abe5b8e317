import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { forEachVersion, forNewestVersion } from "./for_each_version.ts";
import { processesOf } from "../leftovers.ts";
import { parseObject } from "./print_mode_facts.ts";
import type { RealClaude, StartedRun } from "./real_claude.ts";

const JSON_FORMAT = ["--output-format", "json"];

/** Waits for something the run does; fails if it ends first. */
async function until(run: StartedRun, condition: () => boolean): Promise<void> {
  let ended = false;
  run.ended.then(() => ended = true, () => ended = true);
  while (!condition()) {
    assert(!ended, `the run ended too early: ${JSON.stringify(ended && await run.ended)}`);
    await new Promise((done) => setTimeout(done, 10));
  }
}

function hasProcess(real: RealClaude, commandLine: string): boolean {
  return processesOf(real.home.path).some((line) => line.endsWith(commandLine));
}

const SIGNALS = [{ signal: "SIGINT", code: 130 }, { signal: "SIGTERM", code: 143 }] as const;

for (const { signal, code } of SIGNALS) {
  forEachVersion(`${signal} in the middle of an answer ends the run with ${code}`, async (real) => {
    const run = real.start([...JSON_FORMAT, "--", "Talk. [[say It begins]] [[hang]]"]);
    await until(run, () => real.api.turns.length > 0);
    run.kill(signal);
    const { code: actual, stdout, stderr } = await run.ended;
    assertEquals(actual, code);
    assertStringIncludes(stderr, signal);
    const result = parseObject(stdout);
    assertEquals([result.type, result.subtype, result.is_error], ["result", "interrupted", true]);
    assertEquals(result.terminal_reason, "aborted_streaming");
  });

  forEachVersion(`${signal} ends a running tool too`, async (real) => {
    const args = [
      ...JSON_FORMAT,
      "--allowedTools",
      "Bash",
      "--",
      "Wait. [[bash tail -f /dev/null]]",
    ];
    const run = real.start(args);
    await until(run, () => hasProcess(real, "tail -f /dev/null"));
    run.kill(signal);
    const { code: actual, stdout } = await run.ended;
    assertEquals(actual, code);
    assertEquals(parseObject(stdout).subtype, "interrupted");
    assertEquals(parseObject(stdout).terminal_reason, "aborted_tools");
  });
}

forEachVersion("--timeout ends the run, its answer and its tool with 124", async (real) => {
  const prompts = ["Talk. [[say It begins]] [[hang]]", "Wait. [[bash tail -f /dev/null]]"];
  await Promise.all(prompts.map(async (prompt) => {
    const args = [...JSON_FORMAT, "--timeout", "3", "--allowedTools", "Bash", "--", prompt];
    const { code, stdout, stderr } = await real.print(args);
    assertEquals(code, 124, stderr);
    assertStringIncludes(stderr, "timed out after 3 s");
    const result = parseObject(stdout);
    assertEquals([result.type, result.subtype, result.is_error], ["result", "timeout", true]);
  }));
});

forNewestVersion(
  "two and four runs at once in one folder do not disturb each other",
  async (real) => {
    const sessions = new Set<unknown>();
    for (const count of [2, 4]) {
      const runs = await Promise.all(
        Array.from(
          { length: count },
          (_, index) => real.print([...JSON_FORMAT, "--", `Hi [[say I am number ${index}]]`]),
        ),
      );
      for (const [index, { code, stdout, stderr }] of runs.entries()) {
        assertEquals([code, stderr], [0, ""]);
        const { result, session_id } = parseObject(stdout);
        assertEquals(result, `I am number ${index}`);
        sessions.add(session_id);
      }
    }
    assertEquals(sessions.size, 6, "each has a session of its own");
  },
);
