import { assert, assertEquals } from "@std/assert";
import { leftovers } from "../leftovers.ts";
import { unlessLacking } from "../unless_lacking.ts";
import { blocks } from "./blocks.ts";
import { newcomer } from "./newcomer.ts";

/** Programs that the README uses and a machine may lack. */
const OPTIONAL = ["jq", "parallel", "git"] as const;

Deno.test("every command of the README works, in its order", async (t) => {
  await using reader = await newcomer();
  const missing = await lacking((script) => reader.type(script));
  const scripts = blocks("sh");
  assert(scripts.length >= 12);
  for (const script of scripts) {
    const lack = missing.find((name) => new RegExp(`\\b${name} `, "u").test(script));
    await t.step(unlessLacking(lack, {
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

async function lacking(
  type: (script: string) => Promise<{ readonly code: number }>,
): Promise<readonly string[]> {
  const found = await Promise.all(
    OPTIONAL.map(async (name) => (await type(`command -v ${name} >/dev/null`)).code === 0),
  );
  return OPTIONAL.filter((_, index) => !found[index]);
}
