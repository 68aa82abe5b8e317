import { assertEquals } from "@std/assert";
import { makeFifo } from "../../../ffi/fifo.ts";
import { mainCheckout } from "../../../src/sandbox/child/main_checkout.ts";

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
