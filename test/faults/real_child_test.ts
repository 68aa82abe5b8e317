import { assertEquals, assertStringIncludes } from "@std/assert";
import { processesOf } from "../leftovers.ts";
import { forNewestVersion } from "../real/for_each_version.ts";
import { parseObject } from "../real/print_mode_facts.ts";
import type { RealClaude } from "../real/real_claude.ts";

forNewestVersion(
  "Claude Code killed in a tool ends the run, its tool and its wait",
  async (real) => {
    const args = ["--output-format", "json", "--allowedTools", "Bash"];
    const run = real.start([...args, "--", "Wait. [[bash touch begun; tail -f /dev/null]]"]);
    let isOver = false;
    run.ended.finally(() => isOver = true);
    while (!isOver && !isAtWork(real)) await new Promise((done) => setTimeout(done, 20));
    Deno.kill(claudeOf(real), "SIGKILL");
    const { code, stdout, stderr } = await run.ended;
    assertEquals([code, parseObject(stdout).subtype], [2, "internal_error"], stderr);
    assertStringIncludes(stderr, "Claude Code ended before the turn did: SIGKILL\n");
  },
);

/** Whether the tool runs. */
function isAtWork(real: RealClaude): boolean {
  return [...Deno.readDirSync(real.home.project)].length > 0;
}

/** The pid of the Claude Code that runs. */
function claudeOf(real: RealClaude): number {
  const [line = ""] = processesOf(real.home.path).filter((each) =>
    new RegExp(`^process \\d+: ${RegExp.escape(real.binary)} `).test(each)
  );
  return Number(/\d+/.exec(line)?.[0]);
}
