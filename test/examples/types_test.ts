import { assertEquals } from "@std/assert";
import { makeThrowawayHome } from "../../fixtures/throwaway_home.ts";
import { PAGES } from "../readme/pages.ts";
import { exampleBlocks } from "./example_blocks.ts";
import { LIBRARY_SOURCES } from "./library_sources.ts";
import { checkExamples } from "./run_example.ts";

// All at once: what they import is what takes the time.
Deno.test("the examples in the pages and in the library's doc comments are well-typed", async () => {
  const blocks = exampleBlocks([...PAGES.map(({ path }) => path), ...LIBRARY_SOURCES]);
  await using home = await makeThrowawayHome();
  const { code, stderr } = await checkExamples(blocks.map(({ code }) => code), {
    folder: home.project,
    env: home.env,
  });
  assertEquals([code, stderr], [0, ""]);
});
