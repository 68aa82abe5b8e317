import { assertEquals, assertThrows } from "@std/assert";
import { borrowFolder } from "../../../src/sandbox/folder/borrow_folder.ts";
import { CliError } from "../../../src/cli_error.ts";
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

Deno.test("a folder borrowed in another place is gone when it is given back", () => {
  const tmp = Deno.realPathSync(Deno.makeTempDirSync());
  const env = { TMPDIR: `${tmp}/none`, HOME: `${tmp}/home`, PATH: "/usr/bin" };
  {
    using borrowed = borrowFolder(env, { place: tmp });
    assertEquals(borrowed.path.startsWith(`${tmp}/`), true);
  }
  assertEquals([...Deno.readDirSync(tmp)], []);
  Deno.removeSync(tmp);
});

Deno.test("whoever gets no folder is told so in the words of a run", () => {
  const tmp = Deno.makeTempDirSync();
  Deno.writeTextFileSync(`${tmp}/file`, "");
  const env = { TMPDIR: `${tmp}/file/none`, HOME: `${tmp}/home`, PATH: "/usr/bin" };
  const { message, suggestion } = assertThrows(() => borrowFolder(env), CliError);
  assertEquals(message.startsWith(`Cannot create a private folder in ${tmp}/file/none: `), true);
  assertEquals(suggestion, "Set TMPDIR to a folder you can write to");
  Deno.removeSync(tmp, { recursive: true });
});
