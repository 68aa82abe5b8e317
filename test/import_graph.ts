import { relative, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname ?? ".", "..");

/** An import of a file. */
export interface Import {
  /** The imported file as a path from the root, or the package as the file names it. */
  readonly to: string;
  readonly isPackage: boolean;
  /** `type` for imports that Deno does not load. */
  readonly kind: "static" | "dynamic" | "type";
}

/** `import` and `export … from`, as `deno fmt` writes them. */
const STATIC = /^(?:import|export) (type )?(?:([^;"]*?) from )?"([^"]+)"/gmu;

/** `import("…")`, and a worker or a program named by `new URL("….ts", import.meta.url)`. */
const DYNAMIC = /\bimport\(\s*"([^"]+)"|\bnew URL\(\s*"(\.[^"]+\.ts)",\s*import\.meta\.url/gu;

/** Names of which all are types. */
const TYPES = /^\{(?:\s*type \w+(?: as \w+)?,?)+\s*\}$/u;

const known = new Map<string, readonly Import[]>();

/**
 * Returns the imports of a file, or none if the file does not exist.
 *
 * @param path the file, as a path from the root
 */
export function importsOf(path: string): readonly Import[] {
  const imports = known.get(path) ?? readImports(path);
  known.set(path, imports);
  return imports;
}

function readImports(path: string): readonly Import[] {
  const text = path.endsWith(".ts") ? textOf(path) : "";
  const imported = (to: string, kind: Import["kind"]): Import => {
    const isPackage = !to.startsWith(".");
    return { to: isPackage ? to : relative(ROOT, resolve(ROOT, path, "..", to)), isPackage, kind };
  };
  return [
    ...[...text.matchAll(STATIC)].map(([, type, names = "", to = ""]) =>
      imported(to, type !== undefined || TYPES.test(names) ? "type" : "static")
    ),
    ...[...text.matchAll(DYNAMIC)].map(([, module, url = ""]) =>
      imported(module ?? url, "dynamic")
    ),
  ];
}

function textOf(path: string): string {
  try {
    return Deno.readTextFileSync(`${ROOT}/${path}`);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}

/**
 * Returns the files that a file loads, directly or not, with the number of imports on the shortest way to each.
 *
 * @param path the file, as a path from the root; its own distance is 0
 * @param options.kinds the kinds of imports to follow: by default all but types
 */
export function loadedWith(
  path: string,
  { kinds = ["static", "dynamic"] }: { readonly kinds?: readonly Import["kind"][] } = {},
): ReadonlyMap<string, number> {
  const distances = new Map([[path, 0]]);
  for (const [from, distance] of distances) {
    for (const { to, kind } of importsOf(from)) {
      if (kinds.includes(kind) && !distances.has(to)) distances.set(to, distance + 1);
    }
  }
  return distances;
}

/** Returns all `.ts` files of the project below a folder such as `src`, sorted, as paths from the root. */
export function sourcesBelow(folder: string): readonly string[] {
  return [...Deno.readDirSync(`${ROOT}/${folder}`)].flatMap(({ name, isDirectory }) => {
    const path = `${folder}/${name}`;
    if (isDirectory) return sourcesBelow(path);
    return name.endsWith(".ts") ? [path] : [];
  }).toSorted();
}

/**
 * Returns the test files that load one of some files, directly or not, those with the fewest imports between them first.
 *
 * @param paths files of the project, as paths from the root
 */
export function testsReaching(paths: Iterable<string>): readonly string[] {
  const changed = [...paths];
  return sourcesBelow("test").filter((file) => file.endsWith("_test.ts"))
    .map((test) => {
      const loaded = loadedWith(test);
      return { test, distance: Math.min(...changed.map((path) => loaded.get(path) ?? Infinity)) };
    })
    .filter(({ distance }) => distance < Infinity)
    .toSorted((one, other) => one.distance - other.distance)
    .map(({ test }) => test);
}
