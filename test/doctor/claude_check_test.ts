import { assertEquals, assertStringIncludes } from "@std/assert";
import { claudeCheck } from "../../src/doctor/claude_check.ts";
import { OLDEST_VERSION } from "../../src/claude/versions/compare_versions.ts";
import { PROFILED_VERSIONS } from "../../src/claude/versions/profiles.ts";
import type { Check } from "../../src/doctor/check.ts";

const NEWEST = PROFILED_VERSIONS.at(-1) ?? "";

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

Deno.test("a version of the support window is well", async () => {
  for (const version of [OLDEST_VERSION, "2.1.299", NEWEST]) {
    const { ok, detail, suggestion, data, binary } = await verdict(version);
    assertEquals([ok, detail, suggestion], [true, `${version} in ${binary}`, undefined]);
    assertEquals(data["version"], version);
  }
});

Deno.test("a version newer than every profile can be learnt", async () => {
  for (const version of ["97.0.0", "97.1.0-beta.1"]) {
    const { ok, detail, suggestion } = await verdict(version);
    assertEquals(ok, true, version);
    assertStringIncludes(detail, `newer than the newest known version (${NEWEST})`);
    assertStringIncludes(suggestion ?? "", "claude-print learn");
  }
});

Deno.test("a version before the support window is too old", async () => {
  for (const version of ["2.1.284", "2.0.999", "1.9.999", "2.1.99-beta.1"]) {
    const { ok, detail, suggestion } = await verdict(version);
    assertEquals(ok, false, version);
    assertStringIncludes(detail, `${version} is too old: claude-print needs ${OLDEST_VERSION}`);
    assertStringIncludes(suggestion ?? "", "claude update");
  }
});

Deno.test("claudeCheck() does not take what is not Claude Code", async () => {
  const { ok, detail, suggestion, binary } = await verdictOn("2.1.330");
  assertEquals([ok, detail], [false, `Cannot use "${binary}": it is not Claude Code`]);
  assertStringIncludes(suggestion ?? "", "--claude-binary");
});
