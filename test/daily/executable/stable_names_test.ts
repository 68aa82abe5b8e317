import { assertEquals } from "@std/assert";
import { stableNames } from "../../../.github/scripts/stable_names.ts";

/** A bundle as it is made with a certain folder for npm packages, which goes into the hashes too. */
function bundle(hash: string, cache: string): ReadonlyMap<string, string> {
  return new Map([
    [
      `chunk-${hash}AAAA.js`,
      `// ${cache}/npm/registry/zod/4.0.0/core.js\nexport const a = 1;\n` +
      `var r = __commonJS({\n  "${cache}/npm/registry/old/1.0.0/main.js"(exports, module) {\n`,
    ],
    [`chunk-${hash}BBBB.js`, `// src/b.ts\nimport "./chunk-${hash}AAAA.js";\n`],
    [
      "main.js",
      `import {b} from "./chunk-${hash}BBBB.js";\nawait import("./run-${hash}RUNS.js");\n`,
    ],
    [
      `run-${hash}RUNS.js`,
      `import "./chunk-${hash}BBBB.js";\nimport "./chunk-${hash}AAAA.js";\n`,
    ],
  ]);
}

Deno.test("stableNames() numbers files and keeps no machine folder", () => {
  const names = stableNames(bundle("0000", "../.cache/deno"), "main.js");
  assertEquals(Object.fromEntries(names), {
    "main.js": 'import {b} from "./chunk-1.js";\nawait import("./run-1.js");\n',
    "chunk-1.js": '// src/b.ts\nimport "./chunk-2.js";\n',
    "run-1.js": 'import "./chunk-1.js";\nimport "./chunk-2.js";\n',
    "chunk-2.js": "// npm:zod/4.0.0/core.js\nexport const a = 1;\n" +
      'var r = __commonJS({\n  "npm:old/1.0.0/main.js"(exports, module) {\n',
  });
  assertEquals(names, stableNames(bundle("1111", "../../home/me/deno dir"), "main.js"));
});

Deno.test("stableNames() leaves out unreached files and lookalikes", () => {
  const text = 'const text = "./other-ABCDEFGH.js";\n';
  const files = new Map([["main.js", text], ["lost-ABCDEFGH.js", ""]]);
  assertEquals(Object.fromEntries(stableNames(files, "main.js")), { "main.js": text });
});
