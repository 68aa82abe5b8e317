import { assertEquals } from "@std/assert";
import { runningShells } from "../../src/driver/sources/shells/running_shells.ts";

Deno.test("runningShells() names the shells of one session, and says whether none has run", () => {
  const tempDir = Deno.makeTempDirSync();
  const running = () => runningShells(tempDir, "s");
  // Nothing says that the child has its temporary files here.
  assertEquals(running(), { ids: [] });
  Deno.mkdirSync(`${tempDir}/claude-0`);
  assertEquals(running(), { ids: [], unused: true });
  const folder = `${tempDir}/claude-0/-w`;
  Deno.mkdirSync(`${folder}/other/tasks`, { recursive: true });
  Deno.writeTextFileSync(`${folder}/other/tasks/b3.output`, "");
  Deno.mkdirSync(`${folder}/s/started`, { recursive: true });
  assertEquals(running(), { ids: [], unused: true });
  Deno.mkdirSync(`${folder}/s/tasks`);
  assertEquals(running(), { ids: [] });
  for (const id of ["b1", "b2"]) Deno.writeTextFileSync(`${folder}/s/tasks/${id}.output`, "");
  assertEquals([...running().ids].sort(), ["b1", "b2"]);
  Deno.removeSync(tempDir, { recursive: true });
});
