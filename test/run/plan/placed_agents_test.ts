import { assertEquals } from "@std/assert";
import { parse } from "yaml";
import { agentsArgument, placedAgents } from "../../../src/run/plan/placed_agents.ts";
import type { JsonObject } from "../../../src/json_object.ts";

const READS = { readsFiles: true };
/** Too long for a command line, and nothing but that. */
const LONG = { description: "Long", prompt: "x".repeat(120_000) };

/** An agent as whoever reads its file has it. */
function readFile(text = ""): JsonObject {
  const [, front = "", prompt = ""] = /^---\n([^]*?)---\s*\n([^]*)$/u.exec(text) ?? [];
  return { ...parse(front), prompt };
}

Deno.test("agents are one argument, as long as it is not too long in bytes", () => {
  assertEquals(agentsArgument({ a: LONG }), undefined);
  assertEquals(agentsArgument({ a: { ...LONG, prompt: "é".repeat(60_000) } }), undefined);
  assertEquals(agentsArgument({ a: { prompt: "é" } }), '--agents={"a":{"prompt":"é"}}');
});

Deno.test("no agents have no place", () => {
  assertEquals(placedAgents({}, READS), { args: [], files: [] });
});

Deno.test("a file says of an agent what its definition says", () => {
  const agents: Readonly<Record<string, JsonObject>> = {
    long: LONG,
    "../../etc/ü 😀": {
      description:
        'Says: "yes" # no\n--- name: evil\n---\n\ttab \\ \u0000\u0085\u2028 {a} [b] & *c ~',
      prompt: "---\nname: evil\n---\nAll of it\r\n: \\n 😀",
      tools: ["Read", "Bash(git log:*)", "Agent(a, b)"],
      disallowedTools: ["mcp__x"],
      skills: ["s"],
      model: "opus[1m]",
      memory: "project",
      mcpServers: ["known", { own: { command: "sh", args: ["-c", "a --- b"], env: { A: "1" } } }],
      initialPrompt: "Begin",
      maxTurns: 3,
      background: false,
      omitClaudeMd: true,
      effort: "xhigh",
      permissionMode: "plan",
    },
    true: { description: "123", prompt: "p", effort: -50 },
  };
  const { args, files, problem } = placedAgents(agents, READS);
  assertEquals([args, problem], [[], undefined]);
  assertEquals(
    files.map(readFile),
    Object.entries(agents).map(([name, definition]) => ({ ...definition, name })),
  );
  for (const [place, text] of files.entries()) {
    const front = text.slice("---\n".length, -String(Object.values(agents)[place]?.prompt).length);
    assertEquals(front.slice(0, -"---\n".length).match(/---|[^ -~\n]/gu), null);
  }
});

Deno.test("half a character is one that stands for it in a file", () => {
  const { files: [text] } = placedAgents({ a: { ...LONG, description: "a\ud800b" } }, READS);
  assertEquals(readFile(text)["description"], "a\ufffdb");
});

Deno.test("what a file would make something else stays on the command line", () => {
  const kept = (name: string, definition: unknown) => {
    const agents = { long: LONG, [name]: definition };
    const { args, files, problem } = placedAgents(agents, READS);
    assertEquals([files.map(readFile), problem], [[{ ...LONG, name: "long" }], undefined], name);
    assertEquals(args, [`--agents=${JSON.stringify({ [name]: definition })}`]);
  };
  const plain = { description: "d", prompt: "p" };
  for (const name of ["", "a:b", "-a", "x".repeat(101)]) kept(name, plain);
  for (
    const field of [
      { description: "C:\\new" },
      { description: " " },
      { description: undefined },
      { prompt: "" },
      { prompt: 7 },
      // What Claude Code thinks of these it says itself.
      { tools: "Read" },
      { tools: null },
      { tools: [""] },
      { model: "" },
      { memory: "all" },
      { maxTurns: 0 },
      { background: "true" },
      { effort: "huge" },
      { permissionMode: "delegate" },
      { mcpServers: { a: { command: "x" } } },
      { mcpServers: [{ a: { command: "x" }, b: { command: "y" } }] },
      { mcpServers: [{ a: { type: "sdk", name: "a" } }] },
      // What a file may not know.
      { name: "other" },
      { observer: "b" },
      { constructor: 1 },
    ]
  ) {
    kept("a", { ...plain, ...field });
  }
  kept("a", "no definition");
});

Deno.test("white space around a prompt is kept as long as there is room for it", () => {
  const spaced = { description: "d", prompt: "\n p \n" };
  const { args, files } = placedAgents({ long: LONG, spaced }, READS);
  assertEquals(args, [`--agents=${JSON.stringify({ spaced })}`]);
  assertEquals(files.length, 1);
  const both = { long: { ...LONG, prompt: `${LONG.prompt}\n` }, spaced, "a:b": spaced };
  const placed = placedAgents(both, READS);
  assertEquals(placed.args, [`--agents=${JSON.stringify({ "a:b": spaced })}`]);
  assertEquals(placed.files.map(readFile).map(({ name }) => name), ["long", "spaced"]);
});

Deno.test("what has no place at all is refused by name", () => {
  const problemOf = (
    agents: JsonObject,
    options: Partial<Parameters<typeof placedAgents>[1]> = {},
  ) => {
    const { problem, ...placed } = placedAgents(agents, { ...READS, ...options });
    assertEquals(placed, { args: [], files: [] });
    return problem?.replace('"agents" is too long for a command line, and no file can hold ', "");
  };
  const agents = { small: { description: "d", prompt: "p" }, long: LONG };
  assertEquals(
    problemOf(agents, { readsFiles: false }),
    '"small": --restricted leaves no file to be read',
  );
  assertEquals(
    problemOf(agents, { others: { names: ["long", "other"] } }),
    '"long": the user or the project has an agent of that name',
  );
  assertEquals(
    problemOf(agents, { others: { names: [], unclear: "/w/a.md" } }),
    '"small": /w/a.md may have an agent of that name',
  );
  assertEquals(problemOf({ "a:b": LONG }), '"a:b": its name is none for a file');
  assertEquals(
    problemOf({ a: { ...LONG, observer: "b" } }),
    '"a": its "observer" is nothing for a file',
  );
  assertEquals(problemOf({ a: [LONG] }), '"a": its definition is nothing for a file');
  assertEquals(
    problemOf({ a: { ...LONG, prompt: "x".repeat(1_048_576) } }),
    '"a": it has more than 1 MiB',
  );
});
