import { assertEquals } from "@std/assert";
import { versionMatrix } from "../../../fixtures/version_matrix.ts";

/** The words of a table in Markdown, whatever its width. */
const words = (text: string) => text.replace(/-{3,}/gu, "---").split(/\s+/u).join(" ").trim();

Deno.test("the README lists the versions with profiles", async () => {
  const page = await Deno.readTextFile(new URL("../../../README.md", import.meta.url));
  const [, written = ""] = page.split(/<!-- (?:by deno task matrix|until here) -->/u);
  assertEquals(words(written), words(await versionMatrix()));
});
