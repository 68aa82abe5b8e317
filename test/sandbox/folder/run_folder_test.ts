import { assertEquals } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import { makeRunFolder, removeRunFolder } from "../../../src/sandbox/folder/run_folder.ts";

/** What a place for runs is refused for, if it is. */
function refusalOf(place: string): string | undefined {
  try {
    removeRunFolder(makeRunFolder({ places: [place], folders: [], writable: [] }));
    return undefined;
  } catch (error) {
    if (error instanceof CliError) return error.message;
    throw error;
  }
}

Deno.test("a run's folder is not made where others could put one of theirs in its place", () => {
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
    const place = folders.at(-1) ?? "";
    const expected = depth === undefined
      ? undefined
      : `Cannot create a private folder in ${place}: every user can rename what is in ${
        folders[depth]
      }`;
    assertEquals(refusalOf(place), expected, modes.map((mode) => mode.toString(8)).join("/"));
  }
  Deno.removeSync(root, { recursive: true });
});

Deno.test("empty folders of Claude Code go with the last run that shared them", () => {
  const tmp = Deno.realPathSync(Deno.makeTempDirSync());
  for (const litter of [`${tmp}/claude-${Deno.uid()}`, `${tmp}/cc-socks`]) {
    const options = { places: [tmp], runtimeDir: tmp, folders: [], writable: [] } as const;
    const make = () => makeRunFolder(options);
    const first = make();
    Deno.mkdirSync(litter);
    const second = make();
    removeRunFolder(first);
    Deno.mkdirSync(litter);
    removeRunFolder(second);
    assertEquals([...Deno.readDirSync(tmp)], []);
    Deno.mkdirSync(litter);
    removeRunFolder(make());
    assertEquals([...Deno.readDirSync(tmp)].length, 1, "it was there before any run");
    Deno.removeSync(litter);
  }
  Deno.removeSync(tmp, { recursive: true });
});
