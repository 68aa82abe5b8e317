import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { processesOf } from "../../leftovers.ts";
import { startProgram } from "../../start_program.ts";
import { filesBelow } from "../files_below.ts";
import { forNewestVersion } from "../for_each_version.ts";

const PATIENCE_MS = 20_000;

async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error("Cannot wait any longer");
    await new Promise((done) => setTimeout(done, 5));
  }
}

forNewestVersion(
  "SIGKILL of claude-print ends the child and its tool, and sweep brings the transcript home",
  async (real) => {
    const { path, config, project, env } = real.home;
    const run = real.start([
      "--allowedTools=Bash",
      "--",
      "Wait. [[bash touch begun; exec env -i tail -f /dev/null]]",
    ]);
    await until(() => [...Deno.readDirSync(project)].length > 0);
    await until(() => processesOf(path).some((line) => line.endsWith("tail -f /dev/null")));
    run.kill("SIGKILL");
    await run.ended;
    await until(() => processesOf(path).length === 0);
    const sweep = startProgram([...CLAUDE_PRINT, "sweep"], { env, cwd: project });
    const { code, stdout, stderr } = await sweep.ended;
    assertEquals([code, stderr], [0, ""]);
    assertMatch(stdout, /^removed .* 1 file of its transcript rescued\n/u);
    const [transcript = ""] = filesBelow(`${config}/projects`).values();
    assertStringIncludes(`${transcript}`, "Wait. [[bash");
  },
);
