import { assertEquals } from "@std/assert";
import { runningShells } from "../../src/driver/sources/shells/running_shells.ts";

Deno.test("runningShells() names the shells of one session", () => {
  const tempDir = Deno.makeTempDirSync();
  assertEquals(runningShells(tempDir, "s"), []);
  for (const [session, id] of [["s", "b1"], ["s", "b2"], ["other", "b3"]]) {
    const folder = `${tempDir}/claude-0/-w/${session}/tasks`;
    Deno.mkdirSync(folder, { recursive: true });
    Deno.writeTextFileSync(`${folder}/${id}.output`, "");
  }
  assertEquals([...runningShells(tempDir, "s")].sort(), ["b1", "b2"]);
  Deno.removeSync(tempDir, { recursive: true });
});
