import { assert, assertEquals, assertMatch } from "@std/assert";
import { libc, libcInventory } from "../../ffi/libc.ts";

Deno.test("libc opens its table once", () => {
  assert(libc() === libc());
});

Deno.test("libcInventory() finds every function that libc() has", () => {
  const { platform, functions, missing } = libcInventory();
  assertEquals(missing, []);
  assertEquals(functions, Object.keys(libc()).length);
  assertEquals([platform.os, platform.arch], ["linux", "x86_64"]);
  assertMatch(platform.glibc ?? "", /^2\.\d+$/);
});

Deno.test("libc without the ffi permission says how to give it", async () => {
  const module = JSON.stringify(import.meta.resolve("../../ffi/libc.ts"));
  const script = `
    import { libc, libcInventory } from ${module};
    try {
      libc();
    } catch (error) {
      console.log(JSON.stringify([error.name, error.suggestion]));
    }
  `;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-prompt", "--no-config", "-"],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const stdin = child.stdin.getWriter();
  await stdin.write(new TextEncoder().encode(script));
  await stdin.close();
  const { stdout } = await child.output();
  assertEquals(JSON.parse(new TextDecoder().decode(stdout)), [
    "LibcUnavailableError",
    "Run claude-print with deno run -A; the permission cannot be given at the prompt",
  ]);
});
