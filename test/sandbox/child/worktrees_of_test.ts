import { assertEquals } from "@std/assert";
import { makeFifo } from "../../../ffi/fifo.ts";
import { worktreesOf } from "../../../src/sandbox/child/worktrees_of.ts";

/** A repository with a worktree beside it, as git makes them, removed at the end of the test. */
class Ground implements Disposable {
  readonly path = Deno.realPathSync(Deno.makeTempDirSync());
  readonly main = `${this.path}/main`;
  readonly tree = `${this.path}/tree`;
  readonly own = `${this.main}/.git/worktrees/tree`;

  constructor() {
    for (const folder of [this.own, `${this.main}/sub`, this.tree]) {
      Deno.mkdirSync(folder, { recursive: true });
    }
    Deno.writeTextFileSync(`${this.tree}/.git`, `gitdir: ${this.own}\n`);
    Deno.writeTextFileSync(`${this.own}/commondir`, "../..\n");
    Deno.writeTextFileSync(`${this.own}/gitdir`, `${this.tree}/.git\n`);
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.path, { recursive: true });
  }
}

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
