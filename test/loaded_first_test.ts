import { assert, assertEquals } from "@std/assert";
import { loadedWith } from "./import_graph.ts";

/** The files that are loaded with one: all that it imports, but for types and what is loaded late. */
function loadedFirst(path: string): readonly string[] {
  return [...loadedWith(path, { kinds: ["static"] }).keys()];
}

Deno.test("the core is loaded after the child has started", () => {
  const first = loadedFirst("src/cli/run/run_locally.ts");
  assert(first.includes("src/driver/start_child.ts"));
  const machines =
    /^src\/(?:conversation\/control\/session_machine\.ts|(?:conversation\/output|recording\/cassette|library|cli\/watch)\/)/u;
  assertEquals(first.filter((path) => machines.test(path)), []);
  assert(
    loadedFirst("src/driver/run_session.ts").includes(
      "src/conversation/control/session_machine.ts",
    ),
  );
});

Deno.test("what only some runs need is loaded by those", () => {
  const rare = [
    /^src\/conversation\/control\/prompt\/(?!prompt_text)/u,
    /^src\/driver\/inputs\/(?!hook_source)/u,
    // Settings and rules are judged only if there are some.
    /^src\/(?:claude\/settings\/(?!may_forbid)|run\/plan\/warnings\.ts)/u,
    // Transcripts are copied out once there is a child, and copied in where a session is resumed.
    /^src\/(?:sandbox\/transcripts|claude\/transcript\/(?:entry|turn|cost|cut_transcript|kept_entry)\b)/u,
    // Folders are swept where there are some.
    /^src\/sandbox\/folder\/sweep\.ts$/u,
    // A caller of the control protocol asks for more, and only a conversation has one.
    /^src\/run\/plan\/initialization\.ts$/u,
  ];
  const first = loadedFirst("src/cli/run/run_locally.ts");
  assertEquals(first.filter((path) => rare.some((each) => each.test(path))), []);
});

Deno.test("a run loads its modules after reading the command line", () => {
  const others = /^(?:ffi|src\/(?:run|driver|sandbox|conversation|cli\/run))\//u;
  assertEquals(loadedFirst("src/main.ts").filter((path) => others.test(path)), []);
});
