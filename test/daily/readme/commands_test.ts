import { assert, assertEquals, assertMatch } from "@std/assert";
import { leftovers } from "../../leftovers.ts";
import { skipIfLacking } from "../../skip_if_lacking.ts";
import { blocks } from "../../docs/blocks.ts";
import { newcomer } from "./newcomer.ts";
import { PAGES } from "../../docs/pages.ts";

/** Programs that the pages use and a machine may lack. */
const OPTIONAL = ["jq", "parallel", "git"] as const;

/** A block that is typed, and its output if that follows as a block of text. */
const EXAMPLE = /^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?/gmsu;

Deno.test("the pages have no block that no test runs", () => {
  assert(blocks("sh").length >= 12);
  const fences = PAGES.flatMap(({ text }) => [...text.matchAll(/^ *```(.*)$/gmu)]);
  const languages = new Set(fences.map(([, language]) => language));
  const outputs = PAGES.flatMap(({ text }) => [...text.matchAll(EXAMPLE)])
    .filter(([, , output]) => output !== undefined);
  assertEquals(outputs.length, blocks("text").length);
  assertEquals([...languages].toSorted(), ["", "python", "sh", "text", "ts", "ts recipe", "yaml"]);
});

// Each page has a newcomer of its own: it has to work for somebody who has read no other one.
for (const { path, text } of PAGES) {
  const examples = [...text.matchAll(EXAMPLE)];
  if (examples.length === 0) continue;
  Deno.test(`every command of ${path} works, in its order`, async (t) => {
    await using reader = await newcomer();
    const missing = await lacking((script) => reader.type(script));
    for (const [, script = "", output] of examples) {
      const lack = missing.find((name) => new RegExp(`\\b${name} `, "u").test(script));
      await t.step(skipIfLacking(lack, {
        name: script.trimEnd().split("\n")[0] ?? "",
        fn: async () => {
          const { code, stdout, stderr } = await reader.type(script);
          assertEquals(code, 0, stderr + stdout);
          assertEquals(/Cannot|Warning/u.exec(stderr), null, stderr);
          if (output !== undefined) assertMatch(stdout.trimEnd(), withGaps(output.trimEnd()));
          assertEquals(await leftovers(reader.home), []);
        },
      }));
    }
  });
}

/** Matches a text, in which `…` stands for anything. */
function withGaps(text: string): RegExp {
  const parts = text.split("…").map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|/]/gu, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "su");
}

async function lacking(
  type: (script: string) => Promise<{ readonly code: number }>,
): Promise<readonly string[]> {
  const found = await Promise.all(
    OPTIONAL.map(async (name) => (await type(`command -v ${name} >/dev/null`)).code === 0),
  );
  return OPTIONAL.filter((_, index) => !found[index]);
}
