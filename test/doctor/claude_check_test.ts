import { assertEquals, assertStringIncludes } from "@std/assert";
import { claudeCheck } from "../../src/doctor/claude_check.ts";
import type { Check } from "../../src/doctor/check.ts";

/** What is said of a program that answers `--version` like this. */
async function verdictOn(answer: string): Promise<Check & { readonly binary: string }> {
  const cwd = await Deno.makeTempDir();
  try {
    const binary = `${cwd}/claude`;
    await Deno.writeTextFile(binary, `#!/bin/sh\necho "${answer}"\n`, { mode: 0o755 });
    return { ...await claudeCheck({ named: binary, env: {}, cwd }), binary };
  } finally {
    await Deno.remove(cwd, { recursive: true });
  }
}

const verdict = async (version: string) => await verdictOn(`${version} (Claude Code)`);

Deno.test("claudeCheck() takes the versions that are known to work, and those between", async () => {
  for (const version of ["2.1.168", "2.1.197", "2.1.250", "2.1.330"]) {
    const { ok, detail, data, binary } = await verdict(version);
    assertEquals([ok, detail], [true, `${version} in ${binary}`]);
    assertEquals(data["version"], version);
  }
});

Deno.test("claudeCheck() takes a newer version, and says that it is newer", async () => {
  for (const version of ["2.1.331", "2.2.0", "2.10.0-beta.1", "10.0.0"]) {
    const { ok, detail } = await verdict(version);
    assertEquals(ok, true, version);
    assertStringIncludes(detail, "newer than the newest known to work (2.1.330)");
  }
});

Deno.test("claudeCheck() does not take an older version", async () => {
  for (const version of ["2.1.167", "2.0.999", "1.9.999", "2.1.99-beta.1"]) {
    const { ok, detail, suggestion } = await verdict(version);
    assertEquals(ok, false, version);
    assertStringIncludes(detail, `${version} is older than 2.1.168`);
    assertStringIncludes(suggestion ?? "", "claude update");
  }
});

Deno.test("claudeCheck() does not take what is not Claude Code", async () => {
  const { ok, detail, suggestion, binary } = await verdictOn("2.1.330");
  assertEquals([ok, detail], [false, `Cannot use "${binary}": it is not Claude Code`]);
  assertStringIncludes(suggestion ?? "", "--claude-binary");
});
