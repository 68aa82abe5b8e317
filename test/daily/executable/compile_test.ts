import { assertEquals, assertStringIncludes } from "@std/assert";
import { compile } from "./compile.ts";

for (const args of [["--bas", "npm"], ["--base", "mine"], ["something"]]) {
  Deno.test(`the compile script does not take ${args.join(" ")}`, async () => {
    const { code, stdout, stderr } = await compile({ args });
    assertEquals([code, stdout], [2, ""]);
    assertStringIncludes(stderr, "deno task compile [--base official|npm] [--output FILE]");
  });
}
