import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { forEarlierVersions, forNewestVersion } from "../for_each_version.ts";
import { parseObject } from "../print_mode_facts.ts";
import type { StartedRun } from "../real_claude.ts";

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

forNewestVersion("SIGTERM in the middle of an answer ends the run with 143", async (real) => {
  const run = real.start([...JSON_FORMAT, "--", "Talk. [[say It begins]] [[hang]]"]);
  await until(run, () => real.api.turns.length > 0);
  run.kill("SIGTERM");
  const { code, stdout, stderr } = await run.ended;
  assertEquals(code, 143);
  assertStringIncludes(stderr, "SIGTERM");
  const result = parseObject(stdout);
  assertEquals([result.type, result.subtype, result.is_error], ["result", "interrupted", true]);
  assertEquals(result.terminal_reason, "aborted_streaming");
});

forNewestVersion(
  "a turn stopped by SIGINT before its first words stays in the conversation as one that was stopped",
  async (real) => {
    const session = "33333333-3333-4333-8333-333333333333";
    const streamed = ["--output-format", "stream-json", "--verbose"];
    let heard = "";
    const run = real.start([...streamed, "--session-id", session, "--", "Talk. [[hang]]"], {
      onStdout: (text) => heard = text,
    });
    // Before that, the run may not have heard yet that there is a turn to be stopped.
    await until(run, () => real.api.turns.length > 0 && heard.includes('"init"'));
    run.kill("SIGINT");
    assertEquals((await run.ended).code, 130);
    const resumed = await real.printHere(["--resume", session, "--", "Next. [[say next]]"]);
    assertEquals([resumed.code, resumed.stdout], [0, "next\n"]);
    const asked = real.api.turns.at(-1)?.text ?? "";
    assertStringIncludes(asked, "Talk. [[hang]]");
    assertStringIncludes(asked, "[Request interrupted by user]");
  },
);

// That of a newer version is ended in the tests of what shells write.
forEarlierVersions("SIGINT ends a running tool too, and keeps the text before it", async (real) => {
  const prompt = "Wait. [[say I look]] [[bash touch begun; tail -f /dev/null]]";
  const run = real.start([
    ...[...JSON_FORMAT, "--permission-mode", "default", "--allowedTools", "Bash", "--", prompt],
  ]);
  await until(run, () => [...Deno.readDirSync(real.home.project)].length > 0);
  run.kill("SIGINT");
  const { code, stdout } = await run.ended;
  assertEquals(code, 130);
  const { subtype, terminal_reason, result } = parseObject(stdout);
  assertEquals([subtype, terminal_reason, result], ["interrupted", "aborted_tools", "I look"]);
});

forNewestVersion(
  "a prompt that a hook has blocked ends the run as claude -p does",
  async (real) => {
    const settings = JSON.stringify({
      hooks: {
        UserPromptSubmit: [{ hooks: [{ type: "command", command: "echo no >&2; exit 2" }] }],
      },
    });
    const args = [...JSON_FORMAT, "--settings", settings, "--", "Hi. [[say never]]"];
    const { code, stdout, stderr } = await real.printHere(args);
    const { subtype, result, is_error, num_turns } = parseObject(stdout);
    assertEquals([code, stderr, subtype, is_error, num_turns], [0, "", "success", false, 0]);
    assertStringIncludes(`${result}`, "operation blocked by hook:");
  },
);
