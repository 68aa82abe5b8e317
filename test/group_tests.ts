import { basename } from "node:path";

/** Test files that begin together, in one thread, which loads once what several of them import. */
export interface TestGroups extends AsyncDisposable {
  /** The modules that import the files, a group each, in the order of the files. */
  readonly paths: readonly string[];
  /** A line of Deno's in which a group stands, with a name in the place of its path. */
  readonly named: (line: string) => string;
}

/** How many files are a group at most: what they import takes longer than most of them, and no group shall be the last one. */
const MOST = 40;

/** How many of those that wait. */
const MOST_WAITING = 8;

/**
 * Puts test files into groups, by the folder that they are in below `test`: Deno has a thread for each file that it is
 * told of, and loads all that the file imports anew.
 *
 * @param files their paths, from the root of all of them on
 * @param isWaiting whether a file's tests wait for other programs most of the time; groups of such ones are smaller, and first
 */
export async function groupTests(
  files: readonly string[],
  { root, isWaiting = () => false }: {
    readonly root: string;
    readonly isWaiting?: (file: string) => boolean;
  },
): Promise<TestGroups> {
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "tests-" }));
  const rooms = Map.groupBy(
    files.toSorted((one, other) => Number(isWaiting(other)) - Number(isWaiting(one))),
    (file) => file.split("/").slice(1, -1)[0] ?? "itself",
  );
  const groups = [...rooms].flatMap(([room, inRoom]) => {
    const most = inRoom.some(isWaiting) ? MOST_WAITING : MOST;
    return Array.from({ length: Math.ceil(inRoom.length / most) }, (_, index) => ({
      path: `${folder}/${room}_${index + 1}_test.ts`,
      files: inRoom.slice(index * most, (index + 1) * most),
    }));
  });
  for (const group of groups) {
    const imports = group.files.map((file) =>
      `import ${JSON.stringify(`file://${root}/${file}`)};\n`
    );
    await Deno.writeTextFile(group.path, imports.join(""));
  }
  return {
    paths: groups.map(({ path }) => path),
    // Deno says where it is as seen from the folder that the tests run in.
    named: (line) =>
      line.replace(new RegExp(`\\S*/${RegExp.escape(basename(folder))}/`, "u"), "./test/"),
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}
