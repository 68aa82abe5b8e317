import { assertEquals, assertThrows } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import { isSandboxed } from "../../../src/run/facts/is_sandboxed.ts";

Deno.test("commands are carried out in a sandbox where settings ask for it and it is installed", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const env = { PATH: `relative:/nowhere:${folder}` };
    const on = [{ sandbox: { enabled: false } }, { sandbox: { enabled: true } }, { sandbox: {} }];
    assertEquals(isSandboxed(on, env), false);
    const required = [...on, { sandbox: { failIfUnavailable: true } }];
    assertThrows(() => isSandboxed(required, env), CliError, "takes bubblewrap and socat");
    for (const name of ["bwrap", "socat"]) await Deno.writeTextFile(`${folder}/${name}`, "");
    assertEquals([isSandboxed(on, env), isSandboxed(required, env)], [true, true]);
    assertEquals(isSandboxed(on, {}), false);
    assertThrows(() => isSandboxed(required, {}), CliError);
    assertEquals(isSandboxed([{ sandbox: { failIfUnavailable: true } }], {}), false);
    assertEquals(isSandboxed([...on, { sandbox: { enabled: false } }], env), false);
    assertEquals(isSandboxed([{}, { sandbox: "on" }], env), false);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
