import { assertEquals, assertStringIncludes } from "@std/assert";
import { asRecorded } from "../as_recorded.ts";
import { forNewestVersion } from "../for_each_version.ts";
import { factsOfResult, parseObject } from "../print_mode_facts.ts";
import type { RealClaude } from "../real_claude.ts";

/** Hooks of the user's own that leave a trace; the one at the end makes the assistant go on, once. */
function hooksOf(real: RealClaude) {
  const log = `${real.home.path}/hooks.log`;
  const command = (text: string) => ({ hooks: [{ type: "command", command: text }] });
  const goOn = `if grep -q stopped ${log}; then exit 0; fi; echo stopped >> ${log}; ` +
    `echo '{"decision":"block","reason":"Go on"}'`;
  return {
    hooks: {
      UserPromptSubmit: [command(`echo asked >> ${log}`)],
      Stop: [command(goOn)],
    },
  };
}

forNewestVersion(
  "--inherit-hooks runs the user's own hooks, as claude -p does, and one that blocks Stop makes the run go on",
  async (real) => {
    const log = `${real.home.path}/hooks.log`;
    const take = async () => {
      const text = await Deno.readTextFile(log).catch(() => "");
      await Deno.writeTextFile(log, "");
      return text;
    };
    await Deno.writeTextFile(`${real.home.config}/settings.json`, JSON.stringify(hooksOf(real)));
    await Deno.writeTextFile(log, "");
    const args = ["--output-format", "json", "--", "Hi [[say done]] [[next]] [[say really done]]"];
    const facts = async (run: RealClaude["print"]) => {
      const { code, stdout, stderr } = await run(args);
      assertEquals([code, stderr], [0, ""]);
      const { claude_version: _, ...result } = factsOfResult(parseObject(stdout));
      return { result, traces: await take() };
    };
    // That none of them runs without the flag is in sandbox_test.ts.
    const ours = await facts((args) => real.printHere(["--inherit-hooks", ...args]));
    assertStringIncludes(real.api.turns.at(-1)?.text ?? "", "Go on");
    const theirs = await asRecorded(
      real,
      "inherit_hooks/run",
      () => facts((args) => real.claudeP(args)),
    );
    assertEquals(ours, theirs);
    assertEquals([ours.result["result"], ours.traces], ["really done", "asked\nstopped\n"]);
  },
);
