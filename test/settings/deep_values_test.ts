import { assertEquals } from "@std/assert";
import { readSettingsValue } from "../../src/settings/judged_settings.ts";

Deno.test("however deeply settings are nested, what is taken of them can be compared and written again", () => {
  const deep = JSON.parse(`${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`);
  const settings = { ...deep, permissions: { deny: ["Bash", [deep]] }, env: { A: "1" } };
  const { values, tooDeep } = readSettingsValue(settings);
  const { permissions, env } = JSON.parse(JSON.stringify(values));
  assertEquals(env, { A: "1" });
  assertEquals(permissions.deny[0], "Bash");
  assertEquals(tooDeep?.map(({ path }) => path), [
    "a.a.a.a.a.a.…",
    "permissions.deny.1.0.a.a.…",
  ]);
});
