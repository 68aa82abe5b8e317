import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { processesOf } from "../../leftovers.ts";
import { until } from "../../program/stand_in.ts";
import { startProgram } from "../../start_program.ts";
import { filesBelow } from "../files_below.ts";
import { forNewestVersion } from "../for_each_version.ts";
import type { StartedRun } from "../real_claude.ts";

/** Waits for something that the run does; fails if the run ends first. */
async function untilRun(run: StartedRun, condition: () => boolean): Promise<void> {
  let ended = false;
  run.ended.then(() => ended = true, () => ended = true);
  await until(() => condition() || ended, "the run comes so far");
  assert(condition(), `the run ended too early: ${JSON.stringify(ended && await run.ended)}`);
}

forNewestVersion(
  "a resumed session knows the turn that SIGINT stopped",
  async (real) => {
    const session = "33333333-3333-4333-8333-333333333333";
    const streamed = ["--output-format", "stream-json", "--verbose"];
    let heard = "";
    const run = real.start([...streamed, "--session-id", session, "--", "Talk. [[hang]]"], {
      onStdout: (text) => heard = text,
    });
    // The program knows of the turn once it has printed `init`.
    await untilRun(run, () => real.api.turns.length > 0 && heard.includes('"init"'));
    run.kill("SIGINT");
    assertEquals((await run.ended).code, 130);
    const resumed = await real.printInProcess(["--resume", session, "--", "Next. [[say next]]"]);
    assertEquals([resumed.code, resumed.stdout], [0, "next\n"]);
    const asked = real.api.turns.at(-1)?.text ?? "";
    assertStringIncludes(asked, "Talk. [[hang]]");
    assertStringIncludes(asked, "[Request interrupted by user]");
  },
);

forNewestVersion(
  "SIGKILL ends child and tool, and sweep rescues the transcript",
  async (real) => {
    const { path, config, project, env } = real.home;
    const run = real.start([
      "--allowedTools=Bash",
      "--",
      "Wait. [[bash touch begun; exec env -i tail -f /dev/null]]",
    ]);
    const isBegun = () => [...Deno.readDirSync(project)].length > 0;
    const isAtWork = () => processesOf(path).some((line) => line.endsWith("tail -f /dev/null"));
    await until(() => isBegun() && isAtWork(), "the tool runs");
    run.kill("SIGKILL");
    await run.ended;
    await until(() => processesOf(path).length === 0, "nothing lives");
    const sweep = startProgram([...CLAUDE_PRINT, "sweep"], { env, cwd: project });
    const { code, stdout, stderr } = await sweep.ended;
    assertEquals([code, stderr], [0, ""]);
    assertMatch(stdout, /^removed .* 1 file of its transcript rescued\n/u);
    const [transcript = ""] = filesBelow(`${config}/projects`).values();
    assertStringIncludes(`${transcript}`, "Wait. [[bash");
  },
);
