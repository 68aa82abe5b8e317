import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import deno from "../deno.json" with { type: "json" };
import { FLAGS } from "../src/cli/flags.ts";
import { parseArguments } from "../src/cli/parse_arguments.ts";

const read = (path: string) => Deno.readTextFileSync(new URL(`../${path}`, import.meta.url));
const README = read("README.md");

Deno.test("README's commands are tasks of the project", () => {
  const tasks = [...README.matchAll(/(?:npx -y deno@2\.9\.6|deno) task (\w+)/gu)].map(([, name]) =>
    name
  );
  assert(tasks.length >= 6);
  for (const task of tasks) assert(Object.hasOwn(deno.tasks, task as string), `deno task ${task}`);
});

Deno.test("CI runs README's test command", () => {
  const [command] = /npx -y deno@2\.9\.6 task test/u.exec(README) ?? [];
  const lines = read(".ci/run").trimEnd().split("\n");
  assertEquals(lines.at(-1), command);
});

Deno.test("README lists claude-print's own flags, all of them", () => {
  const listed = [...README.matchAll(/^\| `(--[\w-]+)[^|]*\|/gmu)].map(([, name]) => name);
  const own = FLAGS.filter((flag) => flag.class === "own").map(({ name }) => name)
    .filter((name) => name !== "--help" && name !== "--version");
  assertEquals(listed.toSorted(), own.toSorted());
});

Deno.test("README's examples are command lines that claude-print takes", async () => {
  const examples = [
    ["-p", "Why is the sky blue?"],
    ["Write a commit message for this"],
    ["--output-format", "json", "--allowedTools", "Bash", "--", "How many files are here?"],
  ];
  for (const argv of examples) {
    for (const word of argv) assertStringIncludes(README, word);
    assertEquals((await parseArguments(argv)).kind, "run");
  }
});
