import { assert, assertEquals } from "@std/assert";

const ROOT = new URL("..", import.meta.url);

/** The files that are loaded with one, by paths from the root: all that it imports, but for types and what is loaded late. */
function loadedWith(path: string, loaded: Set<string> = new Set()): ReadonlySet<string> {
  if (loaded.has(path)) return loaded;
  loaded.add(path);
  const text = Deno.readTextFileSync(new URL(path, ROOT));
  const imports = text.matchAll(/^(import|export) (type )?(?:([^;]*?) from )?"(\.[^"]+\.ts)"/gmu);
  for (const [, , isType, names = "", to = ""] of imports) {
    // Names that are all of types are left out by Deno.
    const isOfTypes = /^\{[^}]*\}$/u.test(names) &&
      names.slice(1, -1).split(",").every((name) => /^\s*(?:type |$)/u.test(name));
    if (isType || isOfTypes) continue;
    loadedWith(new URL(to, new URL(path, ROOT)).href.slice(ROOT.href.length), loaded);
  }
  return loaded;
}

Deno.test("what follows a child is loaded once it has been started", () => {
  const first = loadedWith("src/commands/run/run_here.ts");
  assert(first.has("src/driver/start_child.ts"));
  const machines = /^src\/(?:frames|session\/machine|cassette|library|commands\/watch)\//u;
  assertEquals([...first].filter((path) => machines.test(path)), []);
  assert(loadedWith("src/driver/run_session.ts").has("src/session/machine/machine.ts"));
});

Deno.test("what only some runs need is loaded by those", () => {
  const rare = [
    /^src\/session\/prompt\/(?!is_plain|slash_word)/u,
    /^src\/driver\/sources\/(?!hook_source)/u,
    // Of settings and rules something is judged and told only where there are some.
    /^src\/(?:settings\/(?!may_forbid)|run\/plan\/warnings\/)/u,
    // Transcripts come home once there is a child, and are copied in where a session goes on.
    /^src\/(?:sandbox|transcript)\/(?:transcripts|files\/(?!project_slug))/u,
    // Folders are swept where there are some.
    /^src\/sandbox\/folder\/(?:sweep|keep_transcripts)\.ts$/u,
    // A caller of the control protocol asks for more, and only a conversation has one.
    /^src\/run\/plan\/asked_order\.ts$/u,
  ];
  const first = loadedWith("src/commands/run/run_here.ts");
  assertEquals([...first].filter((path) => rare.some((each) => each.test(path))), []);
});

Deno.test("what a run needs is loaded once its command line has been read", () => {
  const others = /^(?:ffi|src\/(?:run|driver|sandbox|session|frames|commands\/run))\//u;
  assertEquals([...loadedWith("src/main.ts")].filter((path) => others.test(path)), []);
});
