import { assertEquals } from "@std/assert";
import { gitRoot } from "../../../src/sandbox/child/git_root.ts";

Deno.test("gitRoot() is the nearest folder with a .git, also of a worktree whose .git is a file", () => {
  const root = Deno.makeTempDirSync();
  Deno.mkdirSync(`${root}/repo/.git`, { recursive: true });
  Deno.mkdirSync(`${root}/repo/sub/x`, { recursive: true });
  Deno.mkdirSync(`${root}/tree/sub`, { recursive: true });
  Deno.writeTextFileSync(`${root}/tree/.git`, "gitdir: /elsewhere\n");
  // What others may have put there to be taken for one.
  Deno.symlinkSync("/dev/zero", `${root}/repo/sub/.git`);
  Deno.symlinkSync("nowhere", `${root}/.git`);
  assertEquals(gitRoot(`${root}/repo/sub/x`), `${root}/repo`);
  assertEquals(gitRoot(`${root}/repo`), `${root}/repo`);
  assertEquals(gitRoot(`${root}/tree/sub`), `${root}/tree`);
  assertEquals(gitRoot(root), undefined);
  Deno.removeSync(root, { recursive: true });
});
