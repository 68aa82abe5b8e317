import { assertEquals, assertStringIncludes } from "@std/assert";
import { denoDir } from "../../fixtures/programs/deno_dir.ts";

const SCRIPT = new URL("start_unwatched.ts", import.meta.url).pathname;
const CONFIG = new URL("../../deno.json", import.meta.url).pathname;

Deno.test("a child that cannot be watched is killed and reaped, and so is its guard", async () => {
  const folder = await Deno.makeTempDir();
  try {
    // A process of its own: this one has the children of other tests.
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--quiet", "--no-check", "--frozen", "--config", CONFIG, SCRIPT, folder],
      env: { DENO_DIR: await denoDir() },
      stdin: "null",
      stderr: "inherit",
    }).output();
    const { failure, children } = JSON.parse(new TextDecoder().decode(stdout));
    assertStringIncludes(failure, "pidfd_open");
    assertEquals(children, []);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
