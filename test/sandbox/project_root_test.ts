import { assertEquals } from "@std/assert";
import { projectRoot } from "../../src/sandbox/project_root.ts";

Deno.test("projectRoot() is the git root, also of a worktree whose .git is a file, else the folder itself", () => {
  const root = Deno.makeTempDirSync();
  Deno.mkdirSync(`${root}/repo/.git`, { recursive: true });
  Deno.mkdirSync(`${root}/repo/sub/x`, { recursive: true });
  Deno.mkdirSync(`${root}/tree/sub`, { recursive: true });
  Deno.writeTextFileSync(`${root}/tree/.git`, "gitdir: /elsewhere\n");
  assertEquals(projectRoot(`${root}/repo/sub/x`), `${root}/repo`);
  assertEquals(projectRoot(`${root}/repo`), `${root}/repo`);
  assertEquals(projectRoot(`${root}/tree/sub`), `${root}/tree`);
  assertEquals(projectRoot(root), root);
  Deno.removeSync(root, { recursive: true });
});
