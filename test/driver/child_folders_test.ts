import { assertEquals } from "@std/assert";
import { Poller } from "../../ffi/descriptors/poll.ts";
import { ChildFolders } from "../../src/driver/sources/child_folders.ts";

Deno.test("what is written below watched folders is heard, also after a folder was made anew", async () => {
  const root = Deno.makeTempDirSync();
  const [session, subagents] = [`${root}/session`, `${root}/session/subagents`];
  using poller = new Poller();
  using folders = new ChildFolders();
  const watch = () => folders.watch([root, session, subagents]);
  const hears = async () => folders.heed(await poller.wait(folders.interests, 0));
  assertEquals([watch(), await hears()], [true, false], "what is not there is not missed");

  Deno.mkdirSync(session);
  assertEquals([await hears(), await hears(), watch()], [true, false, true]);
  Deno.mkdirSync(subagents);
  assertEquals([await hears(), watch()], [true, true]);
  Deno.writeTextFileSync(`${subagents}/agent.jsonl`, "{}\n");
  assertEquals([await hears(), await hears()], [true, false]);

  Deno.removeSync(session, { recursive: true });
  Deno.mkdirSync(session);
  assertEquals([await hears(), watch()], [true, true]);
  Deno.writeTextFileSync(`${session}/file`, "");
  assertEquals([await hears(), await hears()], [true, false]);
  Deno.removeSync(root, { recursive: true });
});

Deno.test("folders that cannot be watched are looked at", () => {
  using folders = new ChildFolders();
  assertEquals(folders.watch(["/etc/passwd"]), false);
});
