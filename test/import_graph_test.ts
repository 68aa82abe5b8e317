import { assert, assertEquals } from "@std/assert";
import { importsOf, loadedWith, testsReaching } from "./import_graph.ts";

Deno.test("imports are static, dynamic, or of types alone", () => {
  const kinds = (path: string) => new Map(importsOf(path).map(({ to, kind }) => [to, kind]));
  const run = kinds("src/run/perform_run.ts");
  assertEquals(run.get("src/driver/run_session.ts"), "dynamic");
  assertEquals(kinds("test/import_graph_test.ts").get("test/import_graph.ts"), "static");
  assertEquals(kinds("src/claude/wire/output_writer.ts").get("src/claude/wire/frame.ts"), "type");
});

Deno.test("direct importers of a file come before indirect ones", () => {
  const tests = testsReaching(["src/growing_set.ts"]);
  const distances = tests.map((test) => loadedWith(test).get("src/growing_set.ts") ?? Infinity);
  assertEquals(distances, distances.toSorted((one, other) => one - other));
  assertEquals([tests[0], distances[0]], ["test/growing_set_test.ts", 1]);
  assert(tests.length > 10 && distances.every((distance) => distance < Infinity));
});
