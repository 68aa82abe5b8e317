import { assert, assertEquals } from "@std/assert";
import { libc } from "../../ffi/libc.ts";

Deno.test("libc opens its table once", () => {
  assert(libc() === libc());
});

Deno.test("libc without the ffi permission says how to give it", async () => {
  const module = JSON.stringify(import.meta.resolve("../../ffi/libc.ts"));
  const script = `
    import { libc } from ${module};
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
