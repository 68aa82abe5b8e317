import { assert, assertEquals } from "@std/assert";
import { runningShells } from "../../src/driver/sources/shells/running_shells.ts";

Deno.test("runningShells() names the shells of one session, and says whether none has run", () => {
  const tempDir = Deno.makeTempDirSync();
  const running = () => runningShells(tempDir, "s");
  // Nothing says that the child has its temporary files here.
  assertEquals(running(), { ids: [], startedAt: [] });
  Deno.mkdirSync(`${tempDir}/claude-0`);
  assertEquals(running(), { ids: [], startedAt: [], unused: true });
  const folder = `${tempDir}/claude-0/-w`;
  Deno.mkdirSync(`${folder}/other/tasks`, { recursive: true });
  Deno.writeTextFileSync(`${folder}/other/tasks/b3.output`, "");
  Deno.mkdirSync(`${folder}/s/started`, { recursive: true });
  assertEquals(running(), { ids: [], startedAt: [], unused: true });
  Deno.mkdirSync(`${folder}/s/tasks`);
  assertEquals(running(), { ids: [], startedAt: [] });
  for (const id of ["b1", "b2"]) Deno.writeTextFileSync(`${folder}/s/tasks/${id}.output`, "");
  const { ids, startedAt } = running();
  assertEquals([...ids].sort(), ["b1", "b2"]);
  // What is written later does not change when a shell was started; not every file system knows that.
  Deno.writeTextFileSync(`${folder}/s/tasks/b1.output`, "more");
  assertEquals(running().startedAt, startedAt);
  assert(startedAt.every((time) => time === 0 || time <= Date.now()));
  Deno.removeSync(tempDir, { recursive: true });
});
