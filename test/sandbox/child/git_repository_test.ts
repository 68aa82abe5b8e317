import { assertEquals } from "@std/assert";
import { makeFifo } from "../../../ffi/descriptors/pipe.ts";
import { gitRoot, mainCheckout, worktreesOf } from "../../../src/sandbox/child/git_repository.ts";

/** A repository with a worktree beside it, as git makes them, removed at the end of the test. */
class Ground implements Disposable {
  readonly path = Deno.realPathSync(Deno.makeTempDirSync());
  readonly main = `${this.path}/main`;
  readonly tree = `${this.path}/tree`;
  readonly own = `${this.main}/.git/worktrees/tree`;

  constructor() {
    for (const folder of [this.own, `${this.main}/sub`, `${this.tree}/sub`]) {
      Deno.mkdirSync(folder, { recursive: true });
    }
    Deno.writeTextFileSync(`${this.tree}/.git`, `gitdir: ${this.own}\n`);
    Deno.writeTextFileSync(`${this.own}/commondir`, "../..\n");
    Deno.writeTextFileSync(`${this.own}/gitdir`, `${this.tree}/.git\n`);
  }

  of(cwd: string, home = this.path): string | undefined {
    return mainCheckout(cwd, { home });
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.path, { recursive: true });
  }
}

Deno.test("mainCheckout() is the root of the repository, for a worktree too", () => {
  using ground = new Ground();
  const { main, tree } = ground;
  assertEquals(ground.of(`${main}/sub`), main);
  assertEquals(ground.of(tree), main);
  assertEquals(ground.of(`${tree}/sub`), main);
  assertEquals(ground.of(main), undefined, "the working directory needs no second look");
  assertEquals(ground.of(`${main}/sub`, main), undefined, "the home folder is no project");
  assertEquals(ground.of(ground.path), undefined);
  assertEquals(mainCheckout(`${main}/sub`, { home: undefined }), undefined);
});

Deno.test("mainCheckout() follows a worktree only to a repository that knows it", () => {
  using ground = new Ground();
  const { own, tree } = ground;
  Deno.writeTextFileSync(`${own}/gitdir`, `${ground.path}/other/.git\n`);
  assertEquals(ground.of(`${tree}/sub`), tree);
  Deno.writeTextFileSync(`${own}/gitdir`, `${tree}/.git\n`);
  Deno.writeTextFileSync(`${own}/commondir`, "/\n");
  assertEquals(ground.of(`${tree}/sub`), tree);
  Deno.removeSync(`${own}/commondir`);
  makeFifo(`${own}/commondir`);
  assertEquals(ground.of(`${tree}/sub`), tree);
});

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

Deno.test("worktreesOf() is a repository and what is linked to it, seen from anywhere in them", () => {
  using ground = new Ground();
  const { main, tree, path } = ground;
  for (const cwd of [main, `${main}/sub`, tree]) assertEquals(worktreesOf(cwd), [main, tree], cwd);
  assertEquals(worktreesOf(path), []);
});

Deno.test("worktreesOf() leaves out what leads nowhere", () => {
  using ground = new Ground();
  const { main, tree, own } = ground;
  for (const name of ["empty", "fifo", "relative"]) Deno.mkdirSync(`${own}/../${name}`);
  makeFifo(`${own}/../fifo/gitdir`);
  Deno.writeTextFileSync(`${own}/../relative/gitdir`, "somewhere/.git\n");
  assertEquals(worktreesOf(main), [main, tree]);
});
