import { assert, assertEquals } from "@std/assert";
import { anchors, linkProblems } from "./link_problems.ts";
import { PAGES } from "./pages.ts";

const ROOT = new URL("../../", import.meta.url);

for (
  const path of [
    ...PAGES.map(({ path }) => path),
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "src/README.md",
  ]
) {
  Deno.test(`every link of ${path} leads somewhere`, () => {
    assertEquals(linkProblems(path, read), []);
  });
}

Deno.test("pages are named by links, not by titles", () => {
  for (const path of ["SECURITY.md", "CONTRIBUTING.md", ...PAGES.map(({ path }) => path)]) {
    const text = (read(path) ?? "").replaceAll(/\s+/gu, " ");
    assertEquals(/(?:README|[A-Z]+\.md) under "[^"]+"/u.exec(text)?.[0], undefined, path);
  }
});

Deno.test("docs/README.md links to every page below docs", () => {
  const index = read("docs/README.md") ?? "";
  const pages = PAGES.map(({ path }) => path.replace("docs/", ""));
  assertEquals(pages.filter((path) => path !== "README.md" && !index.includes(`](${path})`)), []);
});

Deno.test("a link that leads nowhere is found", () => {
  const files = new Map([
    ["docs/a.md", "# A\n[b](b.md#b-1) [up](../c.md) ![p](p.svg) [a](#a)\n```\n[x](x)\n```\n"],
    [
      "docs/b.md",
      "# B\n## B\n[a](a.md#b), [d](../d.md), [root](/c.md), [out](../../c.md)\n[r]: e.md\n",
    ],
    ["docs/p.svg", ""],
    [
      "c.md",
      "[web](https://example.com/#x), [web](http://example.com), [c](#)\n```\n# C\n```\n[c](#c)\n",
    ],
  ]);
  const problems = (path: string) => linkProblems(path, (one) => files.get(one));
  assertEquals(problems("docs/a.md"), []);
  assertEquals(problems("docs/b.md"), [
    "a.md#b: docs/a.md has no such heading",
    "../d.md: there is no d.md",
    "/c.md is neither relative nor https",
    "../../c.md is neither relative nor https",
    "e.md: there is no docs/e.md",
  ]);
  assertEquals(problems("c.md"), [
    "http://example.com is neither relative nor https",
    "#: c.md has no such heading",
    "#c: c.md has no such heading",
  ]);
});

Deno.test("anchors are spelled as on GitHub", () => {
  const text =
    "# It's A_b: `claude -p`, [see](x.md)\n\n## Twice\n\n```sh\n# no\n```\n\n### Twice\n";
  assertEquals(anchors(text), ["its-a_b-claude--p-see", "twice", "twice-1"]);
  assert(anchors(read("README.md") ?? "").includes("where-it-differs-from-claude--p"));
});

function read(path: string): string | undefined {
  try {
    const url = new URL(path, ROOT);
    return Deno.statSync(url).isDirectory ? "" : Deno.readTextFileSync(url);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
