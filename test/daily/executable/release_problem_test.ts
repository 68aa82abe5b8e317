import { assertEquals } from "@std/assert";
import { bundleContents } from "../../../.github/scripts/bundle_contents.ts";
import { releaseProblem } from "../../../.github/scripts/release_problem.ts";

/** A bundle as a release has it. */
const RELEASE = `import "../../executable/chunk-1.js";
// deno.json
var version = "0.1.0";
// @__NO_SIDE_EFFECTS__
// src/cli/arguments/flags.ts
  // deno:https://example.com/in/a/text.js
// ffi/libc.ts
// deno:https://jsr.io/@std/jsonc/1.0.2/parse.ts
// deno:https://jsr.io/@std/jsonc/1.0.2/_parser.ts
// npm:@xterm/headless/6.0.0/lib-headless/xterm-headless.mjs
// npm:ajv/8.20.0/dist/ajv.js
// npm:fast-deep-equal/3.1.3/index.js
// npm:fast-uri/3.1.9/index.js
// npm:json-schema-traverse/1.0.0/index.js
// npm:zod/4.6.7/v4/core/api.js
`;

Deno.test("a release holds the project and its listed packages only", () => {
  const contents = bundleContents(RELEASE);
  assertEquals(contents, {
    files: ["deno.json", "ffi/libc.ts", "src/cli/arguments/flags.ts"],
    packages: [
      "jsr:@std/jsonc@1.0.2",
      "npm:@xterm/headless@6.0.0",
      "npm:ajv@8.20.0",
      "npm:fast-deep-equal@3.1.3",
      "npm:fast-uri@3.1.9",
      "npm:json-schema-traverse@1.0.0",
      "npm:zod@4.6.7",
    ],
  });
  assertEquals(releaseProblem(contents), undefined);
});

for (
  const [comment, held] of [
    ["npm:deno-std/1.4.0/jsonc/parse.js", "npm:deno-std@1.4.0"],
    ["npm:@zod/zod/4.6.7/index.js", "npm:@zod/zod@4.6.7"],
    ["npm:zod/4.6.7-evil.1/index.js", "npm:zod@4.6.7-evil.1"],
    ["deno:https://jsr.io/@stdlib/text/1.0.16/mod.ts", "jsr:@stdlib/text@1.0.16"],
    ["deno:http://127.0.0.1:1/@std/text/1.0.16/mod.ts", "http://127.0.0.1:1/@std/text@1.0.16"],
    ["deno:https://jsr.io.example/@std/text/1.0.16/a", "https://jsr.io.example/@std/text@1.0.16"],
    ["deno:https://deno.land/x/zod/mod.ts", "deno:https://deno.land/x/zod/mod.ts"],
    ["fixtures/std/jsonc/parse.ts", "fixtures/std/jsonc/parse.ts"],
    ["fixtures/mock/scenario.ts", "fixtures/mock/scenario.ts"],
    ["../elsewhere/src/main.ts", "../elsewhere/src/main.ts"],
    ["src/../../evil.ts", "src/../../evil.ts"],
    ["Something else", "Something else"],
  ] as const
) {
  Deno.test(`a release may not hold ${held}`, () => {
    assertEquals(releaseProblem(bundleContents(`${RELEASE}// ${comment}\n`)), `it holds ${held}`);
  });
}
