import { assert, assertEquals } from "@std/assert";
import { onlyWireKeys } from "../../src/wire/wire_keys.ts";
import { isVersionAtLeast } from "../../src/claude/versions/compare_versions.ts";

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

Deno.test("onlyWireKeys: the keys of a version in between are those of the measured one before", () => {
  // An object that has whatever it is asked for.
  const everything = new Proxy<Record<string, unknown>>({}, { get: () => true });
  const keysOf = (version: string) => Object.keys(onlyWireKeys("result", everything, { version }));
  assertEquals(keysOf("2.1.329"), keysOf("2.1.197"));
  assertEquals(keysOf("2.2.0"), keysOf("2.1.330"));
  assertEquals(keysOf("1.0.0"), keysOf("2.1.168"));
  assert(keysOf("2.1.330").includes("subagent_stats"));
  assert(!keysOf("2.1.197").includes("subagent_stats"));
  const told = onlyWireKeys("init", everything, { version: "2.1.197" });
  assert("plugin_errors" in told && !("mcp_server_errors" in told));
});

Deno.test("onlyWireKeys: drops what a version does not know and what is undefined", () => {
  const fields = { input_tokens: 1, speed: undefined, fallback_credit: null, brand_new: 2 };
  assertEquals(onlyWireKeys("usage", fields, { version: "2.1.197" }), { input_tokens: 1 });
  assertEquals(onlyWireKeys("usage", fields, { version: "2.1.330" }), {
    input_tokens: 1,
    fallback_credit: null,
  });
  assertEquals(onlyWireKeys("usage", fields, { version: "2.1.197", extra: true }), {
    input_tokens: 1,
    brand_new: 2,
  });
});
