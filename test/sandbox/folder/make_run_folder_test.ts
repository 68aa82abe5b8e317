import { assertEquals } from "@std/assert";
import { openFolder } from "../../../src/sandbox/folder/make_run_folder.ts";

Deno.test("openFolder() finds the folder in which others can rename what is ours", () => {
  const root = Deno.realPathSync(Deno.makeTempDirSync());
  Deno.chmodSync(root, 0o755);
  const cases: readonly (readonly [modes: readonly number[], depth: number | undefined])[] = [
    [[0o1777], undefined],
    [[0o777], 0],
    [[0o777, 0o700], 0],
    [[0o1777, 0o777], 1],
    [[0o700, 0o777], undefined],
    [[0o775], undefined],
    [[0o755, 0o1777, 0o700], undefined],
  ];
  for (const [index, [modes, depth]] of cases.entries()) {
    const folders = modes.map((_, at) =>
      `${root}/${[index, ...modes.keys()].slice(0, at + 2).join("/")}`
    );
    Deno.mkdirSync(`${root}/${index}`);
    for (const [at, folder] of folders.entries()) {
      Deno.mkdirSync(folder);
      Deno.chmodSync(folder, modes[at] ?? 0);
    }
    const expected = depth === undefined ? undefined : folders[depth];
    const name = modes.map((mode) => mode.toString(8)).join("/");
    assertEquals(openFolder(folders.at(-1) ?? ""), expected, name);
  }
  Deno.removeSync(root, { recursive: true });
});
