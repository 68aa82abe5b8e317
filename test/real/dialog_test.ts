import { assertEquals } from "@std/assert";
import { forEachVersion } from "./for_each_version.ts";
import { performHere } from "./perform_here.ts";

forEachVersion("the trust dialog is answered if it comes all the same", async (real) => {
  const { report, trace } = await performHere(real, {
    prompt: "Hi [[say trusted]]",
    before: ({ sandbox }) => {
      const path = `${sandbox.configDir}/.claude.json`;
      const seeded = JSON.parse(Deno.readTextFileSync(path));
      Deno.writeTextFileSync(path, JSON.stringify({ ...seeded, projects: {} }));
    },
  });
  assertEquals(report.result.result, "trusted");
  assertEquals(report.exitCode, 0);
  const dialogs = trace.flatMap((line) => /^dialog "([^"]+)"/.exec(line)?.[1] ?? []);
  assertEquals([...new Set(dialogs)], ["workspace trust"]);
});

forEachVersion("a broken settings file of the project is skipped as by claude -p", async (real) => {
  await Deno.mkdir(`${real.home.project}/.claude`);
  await Deno.writeTextFile(`${real.home.project}/.claude/settings.json`, "{ broken");
  const args = ["--", "Hi [[say all the same]]"];
  const { code, stdout } = await real.claudeP(args);
  assertEquals([code, stdout], [0, "all the same\n"]);
  assertEquals(await real.print(args), { code, stdout, stderr: "" });
});

forEachVersion("skipping permissions needs no answer to its warning", async (real) => {
  const args = ["--dangerously-skip-permissions", "--", "Hi [[bash echo $((6*7))]] [[say done]]"];
  const run = await real.print(args, { env: { IS_SANDBOX: "1" } });
  assertEquals(run, { code: 0, stdout: "done\n", stderr: "" });
  assertEquals(real.api.turns[1]?.text.includes('"42"'), true, "the tool ran");
});
