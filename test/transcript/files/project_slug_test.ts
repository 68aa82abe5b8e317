import { assert, assertEquals } from "@std/assert";
import * as fc from "fast-check";
import { projectSlug } from "../../../src/transcript/files/project_slug.ts";

// The folders that Claude Code 2.1.168 and 2.1.330 made when started in these directories.
const MEASURED: readonly (readonly [directory: string, slug: string])[] = [
  ["/tmp/slug/a.b_c d", "-tmp-slug-a-b-c-d"],
  ["/tmp/slug/ümläut", "-tmp-slug--ml-ut"],
  ["/tmp/slug/x\ny", "-tmp-slug-x-y"],
  ["/tmp/slug/日本語", "-tmp-slug----"],
  ["/tmp/slug/e😀e", "-tmp-slug-e--e"],
  ["/tmp/slug/nfde\u0301x", "-tmp-slug-nfde-x"],
  [`/tmp/slug/q'uo"te$`, "-tmp-slug-q-uo-te-"],
  ["/tmp/slug/-lead", "-tmp-slug--lead"],
  [
    `/tmp/slug/${"L".repeat(60)}/${"é".repeat(60)}/${"M".repeat(80)}/${"n".repeat(30)}`,
    `-tmp-slug-${"L".repeat(60)}${"-".repeat(62)}${"M".repeat(68)}-s9y6we`,
  ],
];

Deno.test("projectSlug: names the folders as Claude Code does", () => {
  for (const [directory, slug] of MEASURED) assertEquals(projectSlug(directory), slug);
});

Deno.test("projectSlug: is a short name of plain characters for any path", () => {
  fc.assert(fc.property(fc.string({ unit: "grapheme", maxLength: 400 }), (path) => {
    const slug = projectSlug(path);
    assert(/^[A-Za-z0-9-]*$/.test(slug));
    if (path.length <= 200) assertEquals(slug.length, path.length);
    else assert(slug.length > 201 && slug.length <= 208, slug);
  }));
});
