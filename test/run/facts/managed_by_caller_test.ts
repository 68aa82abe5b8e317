import { assertEquals, assertThrows } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import { managedByCaller } from "../../../src/run/facts/managed_by_caller.ts";

const valuesOf = (settings: unknown) =>
  managedByCaller(["--managed-settings={}", `--managed-settings=${JSON.stringify(settings)}`])
    .map(({ source, values }) => [source, values]);

Deno.test("of a caller's managed settings what they forbid counts, and nothing that they would allow", () => {
  const sandbox = { network: { allowManagedDomainsOnly: true } };
  const settings = {
    permissions: { deny: ["Bash"], allow: ["Write"], defaultMode: "bypassPermissions" },
    sandbox,
    model: "m",
    env: { A: "b" },
    disableAllHooks: false,
  };
  assertEquals(valuesOf(settings), [["managed", { permissions: { deny: ["Bash"] }, sandbox }]]);
  assertEquals(valuesOf([]), [["managed", { permissions: {} }]]);
  assertEquals(managedByCaller(["--managed-settings={"])[0]?.values, { permissions: {} });
  assertEquals(managedByCaller(["--model=x"]), []);
});

Deno.test("a caller's managed settings that silence hooks are refused", () => {
  for (
    const settings of [
      { disableAllHooks: true },
      { disableAllHooks: "yes" },
      { allowManagedHooksOnly: true },
      { strictPluginOnlyCustomization: true },
      { strictPluginOnlyCustomization: ["skills", "hooks"] },
    ]
  ) {
    const [name = ""] = Object.keys(settings);
    assertThrows(() => valuesOf(settings), CliError, `Cannot honour "${name}"`);
  }
  const other = { disableAllHooks: "false", strictPluginOnlyCustomization: ["skills"] };
  assertEquals(valuesOf(other).length, 1);
});
