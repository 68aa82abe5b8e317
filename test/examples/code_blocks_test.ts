import { assertEquals } from "@std/assert";
import { codeBlocks } from "./code_blocks.ts";

const FENCE = "```";

Deno.test("codeBlocks() finds the blocks of a language in Markdown, with their lines", () => {
  const text = [
    "# Title",
    `${FENCE}ts`,
    "const a = 1;",
    "",
    "a;",
    FENCE,
    `${FENCE}sh`,
    "ls",
    FENCE,
  ];
  assertEquals(codeBlocks(text.join("\n"), "ts"), [{ code: "const a = 1;\n\na;\n", line: 3 }]);
  assertEquals(codeBlocks(text.join("\n"), "sh"), [{ code: "ls\n", line: 8 }]);
  assertEquals(codeBlocks(text.join("\n"), "js"), []);
});

Deno.test("codeBlocks() finds them in doc comments", () => {
  const text = ["/**", " * Adds.", " *", ` * ${FENCE}ts`, " * if (a) {", " *   b();", " * }"];
  assertEquals(codeBlocks([...text, ` * ${FENCE}`, " */"].join("\n"), "ts"), [
    { code: "if (a) {\n  b();\n}\n", line: 5 },
  ]);
});

Deno.test("codeBlocks() leaves out what is marked", () => {
  assertEquals(codeBlocks([`${FENCE}ts ignore`, "a", FENCE].join("\n"), "ts"), []);
});
