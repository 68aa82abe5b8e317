import { assertEquals } from "@std/assert";
import { codeBlocks } from "./code_blocks.ts";

const FENCE = "```";

Deno.test("blocks of a language are found with their lines", () => {
  const markdown = [
    ...["# Title", `${FENCE}ts`, "const a = 1;", "", "a;", FENCE, `${FENCE}sh`, "ls", FENCE],
    ...[`${FENCE}ts ignore`, "a", FENCE],
  ].join("\n");
  assertEquals(codeBlocks(markdown, "ts"), [{ code: "const a = 1;\n\na;\n", line: 3 }]);
  assertEquals(codeBlocks(markdown, "sh"), [{ code: "ls\n", line: 8 }]);
  assertEquals(codeBlocks(markdown, "js"), []);
  const comment = ["/**", " * Adds.", " *", ` * ${FENCE}ts`, " * if (a) {", " *   b();", " * }"];
  assertEquals(codeBlocks([...comment, ` * ${FENCE}`, " */"].join("\n"), "ts"), [
    { code: "if (a) {\n  b();\n}\n", line: 5 },
  ]);
});
