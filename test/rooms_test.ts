import { assert, assertEquals } from "@std/assert";

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

function* sources(folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(new URL(folder, ROOT))) {
    if (isDirectory) yield* sources(`${folder}${name}/`);
    else if (name.endsWith(".ts")) yield `${folder}${name}`;
  }
}

/** What a file imports of this project, by paths from the root. */
function importsOf(path: string): readonly string[] {
  const text = Deno.readTextFileSync(new URL(path, ROOT));
  return [...text.matchAll(/(?:from|import\()\s*"(\.[^"]+)"/gu)]
    .map(([, to = ""]) => new URL(to, new URL(path, ROOT)).href.slice(ROOT.href.length));
}

Deno.test("every room is in the table of src/README.md, and every room there is one", () => {
  const found = new Set([...sources("src/"), ...sources("ffi/")].map(roomOf));
  assertEquals([...ROOMS.keys()].toSorted(), [...found].toSorted());
});

Deno.test("no module takes itself for a promise: await import() of it would never return", () => {
  const then = /^export (?:async )?(?:function\*?|const|let|class) then\b|\bas then\b/mu;
  for (const path of [...sources("src/"), ...sources("ffi/")]) {
    assert(!then.test(Deno.readTextFileSync(new URL(path, ROOT))), path);
  }
});

Deno.test("no room imports what the table does not let it", () => {
  let seen = 0;
  for (const path of [...sources("src/"), ...sources("ffi/")]) {
    const room = roomOf(path);
    for (const to of importsOf(path)) {
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
  for (const path of [...sources("src/"), ...sources("ffi/"), ...sources("test/")]) {
    assert(!drawers.test(path), path);
  }
});

Deno.test("what is told on stderr goes through the one function that names what nobody sees", () => {
  // Those who draw on a terminal filter for themselves: the live line and the mirror.
  const writers = [...sources("src/")].filter((path) =>
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
    for (const to of importsOf(path)) visit(to);
    open.pop();
    done.add(path);
  };
  for (const path of [...sources("src/"), ...sources("ffi/")]) visit(path);
  assert(done.size > 100);
});

Deno.test("paths are put together in one way, that of src/sandbox/paths.ts and src/whole_path.ts", () => {
  const others = [...sources("src/"), ...sources("ffi/")].filter((path) =>
    /"(?:node:path|@std\/path)/u.test(Deno.readTextFileSync(new URL(path, ROOT)))
  );
  assertEquals(others, []);
});

Deno.test("what each run loads is of this project alone: for Node's modules Deno takes 6 ms, and for packages more", () => {
  const roots = ["main.ts", "commands/run/run.ts", "commands/run/run_here.ts"].map((path) =>
    `src/${path}`
  );
  const loaded = new Set([...roots, "src/driver/run_session.ts", "src/driver/child_terminal.ts"]);
  for (const path of loaded) {
    for (const to of loadedBy(path)) {
      assert(to.startsWith("."), `${path} loads ${to}`);
      loaded.add(new URL(to, new URL(path, ROOT)).href.slice(ROOT.href.length));
    }
  }
  assert(loaded.size > 300, `${loaded.size} modules are too few to be all`);
});

/** What a file imports when it is loaded itself, types aside, as it names it. */
function loadedBy(path: string): readonly string[] {
  const text = Deno.readTextFileSync(new URL(path, ROOT));
  return [...text.matchAll(/^(?:import|export) (?!type )(?:([^;"]*?) from )?"([^"]+)";$/gmu)]
    .filter(([, names = ""]) => !/^\{(?:\s*type \w+(?: as \w+)?,?)+\s*\}$/u.test(names))
    .map(([, , to = ""]) => to);
}
