import { assertEquals } from "@std/assert";
import { encodeShapes, measureShapes } from "../../fixtures/measure_shapes.ts";
import { knownShapes } from "../../src/drift/known_shapes.ts";
import { needed } from "../../src/drift/known.ts";

Deno.test("what is known is what the recordings have: deno task shapes", () => {
  const path = new URL("../../src/drift/known_shapes.json", import.meta.url);
  assertEquals(Deno.readTextFileSync(path), encodeShapes(measureShapes()));
});

Deno.test("a version has to have what the recorded one before it always has", () => {
  const known = knownShapes();
  const piece = { sort: "frame", name: "system/init", fields: [] } as const;
  const has = (version: string | undefined) => [...needed(known, piece, version)];
  assertEquals(has("2.1.300"), has("2.1.285"));
  assertEquals(has("2.1.999"), has("2.1.332"));
  assertEquals(has(undefined), has("2.1.332"));
  assertEquals(has("1.0.0"), has("2.1.285"));
  assertEquals(has("2.1.332").includes("original_cwd"), true);
  assertEquals(has("2.1.285").includes("original_cwd"), false);
});
