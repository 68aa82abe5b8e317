import { assertEquals, assertThrows } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import { sandboxLackOf } from "../../../src/run/facts/sandbox_lack_of.ts";

Deno.test("commands are carried out in a sandbox where settings ask for it and it is installed", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const env = { PATH: `relative:/nowhere:${folder}` };
    const on = [{ sandbox: { enabled: false } }, { sandbox: { enabled: true } }, { sandbox: {} }];
    assertEquals(sandboxLackOf(on, env), ["bubblewrap", "socat"]);
    const required = [...on, { sandbox: { failIfUnavailable: true } }];
    assertThrows(() => sandboxLackOf(required, env), CliError, "takes bubblewrap and socat");
    for (const name of ["bwrap", "socat"]) await Deno.writeTextFile(`${folder}/${name}`, "");
    assertEquals([sandboxLackOf(on, env), sandboxLackOf(required, env)], [[], []]);
    assertEquals(sandboxLackOf(on, {}), ["bubblewrap", "socat"]);
    assertThrows(() => sandboxLackOf(required, {}), CliError);
    assertEquals(sandboxLackOf([{ sandbox: { failIfUnavailable: true } }], {}), undefined);
    assertEquals(sandboxLackOf([...on, { sandbox: { enabled: false } }], env), undefined);
    assertEquals(sandboxLackOf([{}, { sandbox: "on" }], env), undefined);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
