import { assert, assertEquals } from "@std/assert";
import { codeBlocks } from "../../examples/code_blocks.ts";
import { leftovers } from "../../leftovers.ts";
import { skipIfLacking } from "../../skip_if_lacking.ts";
import { blocks } from "../../docs/blocks.ts";
import { newcomer } from "./newcomer.ts";
import { PAGES } from "../../docs/pages.ts";

/** Programs that the pages use and a machine may lack. */
const OPTIONAL = ["jq", "parallel", "git"] as const;

Deno.test("the pages have no block that no test runs", () => {
  assert(blocks("sh").length >= 12);
  const fences = PAGES.flatMap(({ text }) => [...text.matchAll(/^ *```(.*)$/gmu)]);
  const languages = new Set(fences.map(([, language]) => language));
  assertEquals([...languages].toSorted(), ["", "python", "sh", "ts", "ts recipe", "yaml"]);
});

// Each page has a newcomer of its own: it has to work for somebody who has read no other one.
for (const { path, text } of PAGES) {
  const scripts = codeBlocks(text, "sh").map(({ code }) => code);
  if (scripts.length === 0) continue;
  Deno.test(`every command of ${path} works, in its order`, async (t) => {
    await using reader = await newcomer();
    const missing = await lacking((script) => reader.type(script));
    for (const script of scripts) {
      const lack = missing.find((name) => new RegExp(`\\b${name} `, "u").test(script));
      await t.step(skipIfLacking(lack, {
        name: script.trimEnd().split("\n")[0] ?? "",
        fn: async () => {
          const { code, stdout, stderr } = await reader.type(script);
          assertEquals(code, 0, stderr + stdout);
          assertEquals(/Cannot|Warning/u.exec(stderr), null, stderr);
          assertEquals(await leftovers(reader.home), []);
        },
      }));
    }
  });
}

async function lacking(
  type: (script: string) => Promise<{ readonly code: number }>,
): Promise<readonly string[]> {
  const found = await Promise.all(
    OPTIONAL.map(async (name) => (await type(`command -v ${name} >/dev/null`)).code === 0),
  );
  return OPTIONAL.filter((_, index) => !found[index]);
}
