import { assertEquals } from "@std/assert";
import { constantsOfVersion, keysOfVersion } from "../../src/claude/versions/profiles.ts";
import { onlyWireKeys } from "../../src/wire/wire_keys.ts";

const version = "2.1.332";

Deno.test("onlyWireKeys keeps the keys of the version, in its order", () => {
  const fields = { output_tokens: 2, input_tokens: 1, speed: undefined, brand_new: 3 };
  const kept = onlyWireKeys("usage", fields, { version });
  assertEquals(Object.entries(kept), [["input_tokens", 1], ["output_tokens", 2]]);
});

Deno.test("onlyWireKeys passes on unknown keys of the API if asked", () => {
  const fields = { input_tokens: 1, brand_new: 2 };
  assertEquals(onlyWireKeys("usage", fields, { version, extra: true }), fields);
});

Deno.test("onlyWireKeys adds constants only for keys that are not named", () => {
  const constants = constantsOfVersion(version, "init");
  const unnamed = onlyWireKeys("init", {}, { version });
  assertEquals(unnamed, constants);
  const named = Object.fromEntries(keysOfVersion(version, "init").map((key) => [key, undefined]));
  assertEquals(onlyWireKeys("init", named, { version }), {});
});
