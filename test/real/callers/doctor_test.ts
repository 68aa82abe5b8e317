import { assertEquals, assertStringIncludes } from "@std/assert";
import type { Check } from "../../../src/doctor/check.ts";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { startProgram } from "../../start_program.ts";
import { filesBelow } from "../files_below.ts";
import { forNewestVersion } from "../for_each_version.ts";

forNewestVersion("doctor --run tells of one prompt, and the entrypoint it names", async (real) => {
  const before = filesBelow(real.home.config);
  const { ended } = startProgram(
    [...CLAUDE_PRINT, "doctor", "--run", "--json", "--claude-binary", real.binary],
    { env: real.home.env, cwd: real.home.project },
  );
  const { code, stdout, stderr } = await ended;
  assertEquals([code, stderr], [0, ""], stdout);
  const { checks }: { checks: readonly Check[] } = JSON.parse(stdout);
  const data = (name: string) => checks.find((check) => check.name === name)?.data;
  assertEquals(data("claude")?.["version"], real.version);
  assertEquals(data("run")?.["entrypoint"], "cli");
  const [turn, ...others] = real.api.turns;
  assertEquals(others, []);
  assertEquals(/cc_entrypoint=([\w-]+)/.exec(turn?.text ?? "")?.[1], "cli");
  assertStringIncludes(turn?.prompt ?? "", "ready");
  for (const step of ["first_byte_ms", "ready_ms", "stop_ms", "total_ms", "own_ms"]) {
    assertEquals(typeof data("run")?.[step], "number", step);
  }
  assertEquals(filesBelow(real.home.config), before, "no transcript came home");
});
