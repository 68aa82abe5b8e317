import { assertEquals } from "@std/assert";
import { encodeShapes, measureShapes } from "../../fixtures/measure_shapes.ts";
import { knownShapes } from "../../src/drift/known_shapes.ts";
import { needed } from "../../src/drift/known.ts";

Deno.test("what is known is what the recordings have: deno task shapes", () => {
  const path = new URL("../../src/drift/known_shapes.json", import.meta.url);
  assertEquals(Deno.readTextFileSync(path), encodeShapes(measureShapes()));
});

Deno.test("the newest version has to have what it always has, an older one what all have", () => {
  const known = knownShapes();
  const piece = { sort: "frame", name: "system/init", fields: [] } as const;
  const newest = needed(known, piece, known.version);
  const old = needed(known, piece, "2.1.285");
  for (const version of ["99.0.0", undefined]) assertEquals(needed(known, piece, version), newest);
  assertEquals(needed(known, piece, "2.1.330"), old);
  assertEquals([newest.has("original_cwd"), old.has("original_cwd")], [true, false]);
  assertEquals([newest.has("cwd"), old.has("cwd")], [true, true]);
});
