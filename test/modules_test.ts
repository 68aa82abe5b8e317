import { assert, assertEquals } from "@std/assert";
import { importsOf, loadedWith, sourcesBelow } from "./import_graph.ts";

const ROOT = new URL("..", import.meta.url);
const TABLE = Deno.readTextFileSync(new URL("src/README.md", ROOT));

/** The modules, and the row of each in the table of src/README.md: the number of the first row is 0. */
const ROWS: ReadonlyMap<string, number> = new Map(
  [...TABLE.matchAll(/^\| (`[^|]*`) +\|/gmu)].flatMap(([, cell = ""], row) =>
    [...cell.matchAll(/`([^`]+)`/gu)].map(([, module = ""]) => [module, row] as const)
  ),
);

/** The module of a file by its path from the root: the innermost folder with a row. */
function moduleOf(path: string): string {
  const inside = path.replace(/^src\//u, "");
  return [...ROWS.keys()].filter((module) => inside === module || inside.startsWith(`${module}/`))
    .toSorted((one, other) => other.length - one.length)[0] ?? inside;
}

const SOURCES: readonly string[] = [...sourcesBelow("src"), ...sourcesBelow("ffi")];

/** The files of this project that a file imports, types included. */
function filesImportedBy(path: string): readonly string[] {
  return importsOf(path).filter(({ isPackage }) => !isPackage).map(({ to }) => to);
}

Deno.test("the table of src/README.md has exactly the modules", () => {
  const found = new Set(SOURCES.map(moduleOf));
  assertEquals([...ROWS.keys()].toSorted(), [...found].toSorted());
});

Deno.test("no module exports then(), which await import() would call", () => {
  const then = /^export (?:async )?(?:function\*?|const|let|class) then\b|\bas then\b/mu;
  for (const path of SOURCES) {
    assert(!then.test(Deno.readTextFileSync(new URL(path, ROOT))), path);
  }
});

Deno.test("a file imports its own module and modules below it", () => {
  let seen = 0;
  for (const path of SOURCES) {
    for (const to of filesImportedBy(path)) {
      if (to === "deno.json") continue;
      seen++;
      const [from = -1, below = -1] = [path, to].map((file) => ROWS.get(moduleOf(file)));
      assert(from <= below, `${path} imports ${to}`);
    }
  }
  assert(seen > 300, `${seen} imports are too few to be all`);
});

Deno.test("no folder is a drawer for what has no place", () => {
  const drawers = /(?:^|\/)(?:utils?|helpers?|types|common|misc|shared)(?:\.ts|\/)/u;
  for (const path of [...SOURCES, ...sourcesBelow("test")]) {
    assert(!drawers.test(path), path);
  }
});

Deno.test("one function writes to stderr", () => {
  // The progress line and the mirror draw on a terminal, and filter what they write themselves.
  const writers = sourcesBelow("src").filter((path) =>
    /new Outlet\(|Deno\.stderr\.w/u.test(
      Deno.readTextFileSync(new URL(path, ROOT)),
    )
  );
  assertEquals(writers.toSorted(), [
    "src/cli/drift/bisect_command.ts",
    "src/cli/report/outlets.ts",
    "src/cli/watch/watch_run.ts",
  ]);
});

Deno.test("no files import each other in a circle", () => {
  const open: string[] = [];
  const done = new Set<string>();
  const visit = (path: string) => {
    assert(!open.includes(path), `A circle: ${[...open, path].join(" -> ")}`);
    if (done.has(path)) return;
    open.push(path);
    for (const to of filesImportedBy(path)) visit(to);
    open.pop();
    done.add(path);
  };
  for (const path of SOURCES) visit(path);
  assert(done.size > 100);
});

Deno.test("only src/paths.ts joins paths", () => {
  const others = SOURCES.filter((path) =>
    /"(?:node:path|@std\/path)/u.test(Deno.readTextFileSync(new URL(path, ROOT)))
  );
  assertEquals(others, []);
});

Deno.test("a run loads no module of Node and no package", () => {
  const roots = ["main.ts", "cli/run/run_command.ts", "cli/run/run_locally.ts"].map((path) =>
    `src/${path}`
  );
  const first = [...roots, "src/driver/run_session.ts", "src/driver/child_terminal.ts"];
  const loaded = new Set(
    first.flatMap((path) => [...loadedWith(path, { kinds: ["static"] }).keys()]),
  );
  for (const path of loaded) {
    for (const { to, isPackage, kind } of importsOf(path)) {
      assert(!isPackage || kind !== "static", `${path} loads ${to}`);
    }
  }
  assert(loaded.size > 150, `${loaded.size} modules are too few to be all`);
});

Deno.test("pages name files of the sources that exist", () => {
  const named = ["ARCHITECTURE.md", "CONTRIBUTING.md"].flatMap((page) =>
    [
      ...Deno.readTextFileSync(new URL(page, ROOT)).matchAll(
        /`((?:src|test|fixtures)\/[a-z_./]+)`/gu,
      ),
    ]
      .map(([, path = ""]) => `${page}: ${path}`)
  );
  assert(named.length > 30, `${named.length} paths are too few to be all`);
  const exists = (named: string) => {
    try {
      Deno.statSync(new URL(named.replace(/^[^ ]* /u, ""), ROOT));
      return true;
    } catch {
      return false;
    }
  };
  assertEquals(named.filter((each) => !exists(each)), []);
});
