import { assertEquals } from "@std/assert";
import { asRecorded } from "../as_recorded.ts";
import { forNewestVersion } from "../for_each_version.ts";
import type { RealClaude } from "../real_claude.ts";

/** Hooks of the user's own that leave a trace; the one at the end makes the assistant go on, once. */
function hooksOf(real: RealClaude) {
  const log = `${real.home.path}/hooks.log`;
  const command = (text: string) => ({ hooks: [{ type: "command", command: text }] });
  const goOn = `if grep -q stopped ${log}; then exit 0; fi; echo stopped >> ${log}; ` +
    `echo '{"decision":"block","reason":"Go on. [[say really done]]"}'`;
  return {
    hooks: {
      UserPromptSubmit: [command(`echo asked >> ${log}`)],
      Stop: [command(goOn)],
    },
  };
}

forNewestVersion("--inherit-hooks runs the user's own hooks, as claude -p does", async (real) => {
  const log = `${real.home.path}/hooks.log`;
  const take = async () => {
    const text = await Deno.readTextFile(log).catch(() => "");
    await Deno.writeTextFile(log, "");
    return text;
  };
  await Deno.writeTextFile(`${real.home.config}/settings.json`, JSON.stringify(hooksOf(real)));
  await Deno.writeTextFile(log, "");
  const args = ["--", "Hi [[say done]]"];
  const without = await real.print(args);
  assertEquals([without.code, without.stdout, await take()], [0, "done\n", ""]);
  const ours = await real.print(["--inherit-hooks", ...args]);
  const traces = await take();
  const theirs = await asRecorded(real, "inherit_hooks/run", async () => {
    const { code, stdout } = await real.claudeP(args);
    return { code, stdout, traces: await take() };
  });
  assertEquals({ code: ours.code, stdout: ours.stdout, traces }, theirs, ours.stderr);
  assertEquals(traces, "asked\nstopped\n");
});
