import { assertEquals } from "@std/assert";
import { borrowFolder } from "../../../src/sandbox/folder/borrow_folder.ts";
import { sweep } from "../../../src/sandbox/folder/sweep.ts";

Deno.test("a borrowed folder is one that a sweep knows, and gone when it is given back", () => {
  const tmp = Deno.realPathSync(Deno.makeTempDirSync());
  const env = { TMPDIR: tmp, HOME: `${tmp}/home`, PATH: "/usr/bin" };
  {
    using borrowed = borrowFolder(env);
    Deno.mkdirSync(`${borrowed.path}/0/project`, { recursive: true });
    assertEquals(
      sweep({ places: [tmp], userConfigDir: `${tmp}/home/.claude` })
        .map(({ path, verdict }) => [path, verdict]),
      [[borrowed.path, "live"]],
    );
  }
  assertEquals([...Deno.readDirSync(tmp)], []);
  Deno.removeSync(tmp);
});
