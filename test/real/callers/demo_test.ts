import { assertEquals, assertStringIncludes } from "@std/assert";
import { startProgram } from "../../start_program.ts";

Deno.test("the demo answers, tells the entrypoint and leaves nothing", async () => {
  const demo = new URL("../../../fixtures/demo.ts", import.meta.url).pathname;
  const tmp = await Deno.makeTempDir({ prefix: "demo-" });
  const { code, stdout, stderr } = await startProgram(
    [Deno.execPath(), "run", "-A", "--quiet", "--frozen", demo],
    { env: { ...Deno.env.toObject(), TMPDIR: tmp }, cwd: tmp },
  ).ended;
  assertEquals([code, stderr], [0, ""]);
  assertStringIncludes(stdout, "The folder is empty.");
  assertStringIncludes(stdout, "entrypoint cli\n");
  assertEquals([...Deno.readDirSync(tmp)], []);
  await Deno.remove(tmp);
});
