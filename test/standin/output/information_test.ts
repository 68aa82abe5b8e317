import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import deno from "../../../deno.json" with { type: "json" };
import { StandIn } from "../stand_in.ts";
import { NOWHERE } from "../../nowhere.ts";

Deno.test("--version prints the line of Claude Code, then its own", async () => {
  await using claude = await StandIn.set({ version: "2.1.197" });
  const run = await claude.print(["--version"]);
  assertEquals(run.code, 0);
  assertEquals(run.stdout, `2.1.197 (Claude Code)\nclaude-print ${deno.version}\n`);
});

Deno.test("-v prints what Claude Code itself prints", async () => {
  await using claude = await StandIn.set();
  const run = await claude.print(["-v"]);
  assertEquals([run.code, run.stdout], [0, "2.1.332 (Claude Code)\n"]);
});

Deno.test("without a Claude Code --version succeeds and -v fails", async () => {
  await using claude = await StandIn.set();
  const options = { namesBinary: false, env: { PATH: NOWHERE } };
  const long = await claude.print(["--version"], options);
  assertEquals([long.code, long.stdout], [
    0,
    `claude-print ${deno.version}\n`,
  ]);
  const short = await claude.print(["-v"], options);
  assertEquals([short.code, short.stdout], [2, ""]);
  assertMatch(short.stderr, /^claude-print: Cannot start claude: "claude" is not on PATH\n {2}\S/);
});

Deno.test("-v of something that is not Claude Code fails", async () => {
  await using claude = await StandIn.set({ versionText: "other 1.0" });
  const run = await claude.print(["-v"]);
  assertEquals([run.code, run.stdout], [2, ""]);
  assertMatch(run.stderr, /^claude-print: Cannot use ".*\/claude": it is not Claude Code\n {2}\S/);
});

Deno.test("--help explains the program, whatever else is wrong", async () => {
  await using claude = await StandIn.set();
  const run = await claude.print(["--help", "--nonsense"]);
  assertEquals(run.code, 0);
  for (const word of ["Usage:", "--input-file", "--timeout", "--output-format", "124"]) {
    assertStringIncludes(run.stdout, word);
  }
  assertEquals(await claude.journal("start"), []);
});
