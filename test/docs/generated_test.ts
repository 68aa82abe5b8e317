import { assertEquals } from "@std/assert";
import { withParts } from "../../fixtures/generate_docs.ts";
import { PAGES } from "./pages.ts";

/** The words of Markdown, however wide its tables are. */
const words = (text: string) => text.replace(/-{3,}/gu, "---").split(/\s+/u).join(" ");

for (const { path, text } of PAGES) {
  if (!text.includes(", by deno task docs -->")) continue;
  Deno.test(`${path} is as deno task docs writes it`, async () => {
    assertEquals(words(text), words(await withParts(text)), "Run: deno task docs");
  });
}
