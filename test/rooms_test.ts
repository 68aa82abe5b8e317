import { assert, assertEquals } from "@std/assert";
import { importsOf, loadedWith, sourcesBelow } from "./import_graph.ts";

const ROOT = new URL("..", import.meta.url);
const TABLE = Deno.readTextFileSync(new URL("src/README.md", ROOT));

/** What every room may import: the version, and what says nothing of any room. */
const EVERYBODYS = ["chain.ts", "claude/versions", "deno.json", "growing_map.ts", "json_object.ts"];

/** A room and the rooms that it may import, by the table in src/README.md. */
const ROOMS: ReadonlyMap<string, readonly string[]> = rooms();

function rooms(): ReadonlyMap<string, readonly string[]> {
  const rows = [...TABLE.matchAll(/^\| `(?:src\/)?([\w./]+)` +\|[^|]*\| ([^|]*?) *\|$/gmu)]
    .map(([, room = "", allowed = ""]) => ({ room, allowed }));
  return new Map(rows.map(({ room, allowed }, index) => {
    const below = rows.slice(index + 1).map((row) => row.room);
    if (allowed === "everything below") return [room, below];
    return [room, allowed === "nothing" ? [] : allowed.split(", ")];
  }));
}

/** The room of a file by its path from the root: the innermost that has it. */
function roomOf(path: string): string {
  const inside = path.replace(/^src\//u, "");
  return [...ROOMS.keys()].filter((room) => inside === room || inside.startsWith(`${room}/`))
    .toSorted((one, other) => other.length - one.length)[0] ?? outerOf(inside);
}

function outerOf(room: string): string {
  return room.split("/")[0] ?? "";
}

/** Whether a room may import another one: who may import a room from outside may import its inner rooms. */
function mayImport(room: string, other: string): boolean {
  const allowed = ROOMS.get(room) ?? [];
  return allowed.includes(other) ||
    (outerOf(room) !== outerOf(other) && allowed.includes(outerOf(other)));
}

const SOURCES: readonly string[] = [...sourcesBelow("src"), ...sourcesBelow("ffi")];

/** The files of this project that a file imports, types included. */
function filesImportedBy(path: string): readonly string[] {
  return importsOf(path).filter(({ isPackage }) => !isPackage).map(({ to }) => to);
}

Deno.test("the table of src/README.md has exactly the modules", () => {
  const found = new Set(SOURCES.map(roomOf));
  assertEquals([...ROOMS.keys()].toSorted(), [...found].toSorted());
});

Deno.test("no module exports then(), which await import() would call", () => {
  const then = /^export (?:async )?(?:function\*?|const|let|class) then\b|\bas then\b/mu;
  for (const path of SOURCES) {
    assert(!then.test(Deno.readTextFileSync(new URL(path, ROOT))), path);
  }
});

Deno.test("no room imports what the table does not let it", () => {
  let seen = 0;
  for (const path of SOURCES) {
    const room = roomOf(path);
    for (const to of filesImportedBy(path)) {
      seen++;
      const other = roomOf(to);
      if (other === room || EVERYBODYS.includes(other)) continue;
      assert(mayImport(room, other), `${path} imports ${to}`);
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
  // Those who draw on a terminal filter for themselves: the live line and the mirror.
  const writers = sourcesBelow("src").filter((path) =>
    /new Outlet\(|Deno\.stderr\.w/u.test(
      Deno.readTextFileSync(new URL(path, ROOT)),
    )
  );
  assertEquals(writers.toSorted(), [
    "src/commands/report/outlets.ts",
    "src/commands/watch/show_steps.ts",
    "src/commands/watch/watch_run.ts",
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

Deno.test("only src/sandbox/paths.ts and src/whole_path.ts join paths", () => {
  const others = SOURCES.filter((path) =>
    /"(?:node:path|@std\/path)/u.test(Deno.readTextFileSync(new URL(path, ROOT)))
  );
  assertEquals(others, []);
});

Deno.test("a run loads no module of Node and no package", () => {
  const roots = ["main.ts", "commands/run/run.ts", "commands/run/run_here.ts"].map((path) =>
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
  assert(loaded.size > 300, `${loaded.size} modules are too few to be all`);
});
