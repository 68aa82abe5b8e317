import { assertEquals } from "@std/assert";
import { isVersionAtLeast } from "../../../src/claude/versions/compare_versions.ts";

Deno.test("isVersionAtLeast: compares numbers, not text", () => {
  for (
    const [version, minimum, expected] of [
      ["2.1.330", "2.1.330", true],
      ["2.1.99", "2.1.330", false],
      ["2.10.0", "2.9.9", true],
      ["3.0.0", "2.1.330", true],
      ["2.1", "2.1.1", false],
      ["2.1.330-beta.1", "2.1.330", true],
      ["", "2.1.168", false],
      ["nonsense", "0.0.0", true],
    ] as const
  ) {
    assertEquals(isVersionAtLeast(version, minimum), expected, `${version} >= ${minimum}`);
  }
});
