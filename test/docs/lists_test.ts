import { assert, assertEquals } from "@std/assert";
import deno from "../../deno.json" with { type: "json" };
import { PERMISSIONS } from "../../.github/scripts/permissions.ts";
import { CAPABILITIES } from "../../src/claude/versions/capabilities.ts";
import { PAGES } from "./pages.ts";

const read = (path: string) => Deno.readTextFileSync(new URL(`../../${path}`, import.meta.url));
const README = read("README.md");

Deno.test("commands in docs and CONTRIBUTING.md are tasks", () => {
  const texts = [...PAGES.map(({ text }) => text), read("CONTRIBUTING.md")].join("");
  const tasks = [...texts.matchAll(/(?:npx -y deno@2\.9\.6|deno) task\s([\w:-]+)/gu)]
    .map(([, name]) => name);
  assert(tasks.length >= 6);
  for (const task of tasks) assert(Object.hasOwn(deno.tasks, task as string), `deno task ${task}`);
});

Deno.test("CI begins with README's test command", () => {
  const [command] = /npx -y deno@2\.9\.6 task test/u.exec(README) ?? [];
  const lines = read(".ci/run").split("\n");
  assertEquals(lines.find((line) => /^(?:npx|deno) /u.test(line)), command);
});

Deno.test("the package ignores configuration in its working directory", () => {
  const paths = [...PAGES.map(({ path }) => path), "install.sh", ...sourcesBelow("src")];
  const found = paths.flatMap((path) =>
    [...read(path).matchAll(/deno run\b.*jsr:@claude-print\/cli/gu)].map(([command]) => command)
  );
  assert(found.length >= 4);
  const safe = "deno run -A --no-config --no-lock jsr:@claude-print/cli";
  assertEquals([...new Set(found)], [safe]);
});

Deno.test("docs/explanation/security.md lists the capabilities that can be learnt", () => {
  const [, table = ""] =
    /^\| can be learnt +\|.*?\n(.*?)\n\n/msu.exec(read("docs/explanation/security.md")) ??
      [];
  const learnt = table.split("\n").map((row) => row.split("|")[1] ?? "").join("");
  const printed = Object.entries(CAPABILITIES).filter(([, kind]) => kind === "printed")
    .map(([name]) => name);
  assertEquals(
    [...learnt.matchAll(/`(\w+)`/gu)].map(([, name]) => name).toSorted(),
    printed.toSorted(),
  );
});

Deno.test("every error in the README is the program's", () => {
  const [, table = ""] = /^\| it says +\|.*?\n(.*?)\n\n/msu.exec(README) ?? [];
  const texts = [...table.matchAll(/^\| (`.*?`) +\|/gmu)]
    .flatMap(([, cell = ""]) => [...cell.matchAll(/`([^`]+)`/gu)].map(([, text = ""]) => text));
  assert(texts.length >= 6);
  const sources = [...sourcesBelow("src")].map(read).join("");
  for (const text of texts) {
    // A name in quotes is put in when the program runs.
    const found = sources.includes(text) || sources.includes(text.replace('"claude"', '"${name}"'));
    assert(found, text);
  }
});

Deno.test("no table of a page has a cell of more than 120 characters", () => {
  for (const { path, text } of PAGES) {
    const rows = text.replaceAll(/^```.*?^```$/gmsu, "").split("\n").filter((line) =>
      /^\|/u.test(line)
    );
    const cells = rows.flatMap((row) => row.split(/(?<!\\)\|/u)).map((cell) =>
      cell.replaceAll(/\]\([^)]*\)/gu, "]").trim()
    );
    const long = cells.filter((cell) => cell.length > 120 && !/^-+$/u.test(cell));
    assertEquals(long, [], path);
  }
});

function* sourcesBelow(folder: string): Generator<string> {
  for (
    const { name, isDirectory } of Deno.readDirSync(new URL(`../../${folder}`, import.meta.url))
  ) {
    if (isDirectory) yield* sourcesBelow(`${folder}/${name}`);
    else yield `${folder}/${name}`;
  }
}

Deno.test("docs/internals/executable.md lists all permissions of the executable", () => {
  const rows = [
    ...read("docs/internals/executable.md").matchAll(/^\| `(--allow-[^`]+)` +\| (.*?) +\|$/gmu),
  ]
    .map(([, flag = "", reason = ""]) => ({ flag, reason }));
  assertEquals(rows, PERMISSIONS.map(({ flag, reason }) => ({ flag, reason })));
});
