import { assertEquals, assertStringIncludes } from "@std/assert";
import { claudeVerdict } from "../../src/doctor/claude_check.ts";

const verdict = (version: string | undefined) => claudeVerdict({ binary: "/bin/claude", version });

Deno.test("claudeVerdict() takes the versions that are known to work, and those between", () => {
  for (const version of ["2.1.168", "2.1.197", "2.1.250", "2.1.330"]) {
    const { ok, detail, data } = verdict(version);
    assertEquals([ok, detail], [true, `${version} in /bin/claude`]);
    assertEquals(data["version"], version);
  }
});

Deno.test("claudeVerdict() takes a newer version, and says that it is newer", () => {
  for (const version of ["2.1.331", "2.2.0", "2.10.0-beta.1", "10.0.0"]) {
    const { ok, detail } = verdict(version);
    assertEquals(ok, true, version);
    assertStringIncludes(detail, "newer than the newest known to work (2.1.330)");
  }
});

Deno.test("claudeVerdict() does not take an older version", () => {
  for (const version of ["2.1.167", "2.0.999", "1.9.999", "2.1.99-beta.1"]) {
    const { ok, detail, suggestion } = verdict(version);
    assertEquals(ok, false, version);
    assertStringIncludes(detail, `${version} is older than 2.1.168`);
    assertStringIncludes(suggestion ?? "", "claude update");
  }
});

Deno.test("claudeVerdict() does not take what is not Claude Code", () => {
  const { ok, detail, suggestion } = verdict(undefined);
  assertEquals([ok, detail], [false, 'Cannot use "/bin/claude": it is not Claude Code']);
  assertStringIncludes(suggestion ?? "", "--claude-binary");
});
