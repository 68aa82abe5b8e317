import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { parse } from "yaml";
import { makeFifo } from "../../../ffi/descriptors/pipe.ts";
import { CliError } from "../../../src/cli_error.ts";
import type { JsonObject } from "../../../src/json_object.ts";
import { findOtherAgents, readNamedAgents } from "../../../src/run/facts/agent_files.ts";
import { agentsArgument, placeAgents } from "../../../src/run/plan/caller_agents.ts";
import { tempFolder } from "../../temp_folder.ts";

const READS = { readsFiles: true };
/** An agent that is too long for a command line. */
const LONG = { description: "Long", prompt: "x".repeat(120_000) };
const SHORT = { description: "d", prompt: "p" };

/** An agent as Claude Code reads its file. */
function readFile(text = ""): JsonObject {
  const [, front = "", prompt = ""] = /^---\n([^]*?)---\s*\n([^]*)$/u.exec(text) ?? [];
  return { ...parse(front), prompt };
}

Deno.test("agents are an argument up to its limit in bytes", () => {
  assertEquals(agentsArgument({ a: LONG }), undefined);
  assertEquals(agentsArgument({ a: { ...LONG, prompt: "é".repeat(60_000) } }), undefined);
  assertEquals(agentsArgument({ a: { prompt: "é" } }), '--agents={"a":{"prompt":"é"}}');
  assertEquals(placeAgents({}, READS), { args: [], files: [] });
});

Deno.test("an agent's file says the same as its definition", () => {
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
  const { args, files, problem } = placeAgents(agents, READS);
  assertEquals([args, problem], [[], undefined]);
  assertEquals(
    files.map(readFile),
    Object.entries(agents).map(([name, definition]) => ({ ...definition, name })),
  );
  for (const [place, text] of files.entries()) {
    const front = text.slice("---\n".length, -String(Object.values(agents)[place]?.prompt).length);
    assertEquals(front.slice(0, -"---\n".length).match(/---|[^ -~\n]/gu), null);
  }
  // Half of a surrogate pair has no bytes.
  const { files: [half] } = placeAgents({ a: { ...LONG, description: "a\ud800b" } }, READS);
  assertEquals(readFile(half)["description"], "a\ufffdb");
});

Deno.test("an agent that a file would change stays an argument", () => {
  const kept = (name: string, definition: unknown) => {
    const { args, files, problem } = placeAgents({ long: LONG, [name]: definition }, READS);
    assertEquals([files.map(readFile), problem], [[{ ...LONG, name: "long" }], undefined], name);
    assertEquals(args, [`--agents=${JSON.stringify({ [name]: definition })}`]);
  };
  for (const name of ["", "a:b", "-a", "x".repeat(101)]) kept(name, SHORT);
  const fields: readonly Readonly<Record<string, unknown>>[] = [
    ...[{ description: "C:\\new" }, { description: " " }, { description: undefined }],
    ...[{ prompt: "" }, { prompt: 7 }],
    // Claude Code itself names these mistakes.
    ...[{ tools: "Read" }, { tools: null }, { tools: [""] }, { model: "" }, { memory: "all" }],
    ...[{ maxTurns: 0 }, { background: "true" }, { effort: "huge" }],
    ...[{ permissionMode: "delegate" }, { mcpServers: { a: { command: "x" } } }],
    { mcpServers: [{ a: { command: "x" }, b: { command: "y" } }] },
    { mcpServers: [{ a: { type: "sdk", name: "a" } }] },
    // A file may not have these fields.
    ...[{ name: "other" }, { observer: "b" }, { constructor: 1 }],
  ];
  for (const field of fields) kept("a", { ...SHORT, ...field });
  kept("a", "no definition");
});

Deno.test("white space around a prompt survives where it fits", () => {
  const spaced = { description: "d", prompt: "\n p \n" };
  const { args, files } = placeAgents({ long: LONG, spaced }, READS);
  assertEquals([args, files.length], [[`--agents=${JSON.stringify({ spaced })}`], 1]);
  const both = { long: { ...LONG, prompt: `${LONG.prompt}\n` }, spaced, "a:b": spaced };
  const placed = placeAgents(both, READS);
  assertEquals(placed.args, [`--agents=${JSON.stringify({ "a:b": spaced })}`]);
  assertEquals(placed.files.map(readFile).map(({ name }) => name), ["long", "spaced"]);
});

Deno.test("an agent that fits nowhere is refused", () => {
  const agents = { small: SHORT, long: LONG };
  const rows:
    readonly (readonly [JsonObject, Partial<Parameters<typeof placeAgents>[1]>, string])[] = [
      [agents, { readsFiles: false }, '"small": --restricted leaves no file to be read'],
      [
        agents,
        { others: { names: ["long", "other"] } },
        '"long": the user or the project has an agent of that name',
      ],
      [
        agents,
        { others: { names: [], unclear: "/w/a.md" } },
        '"small": /w/a.md may have an agent of that name',
      ],
      [{ "a:b": LONG }, {}, '"a:b": its name is none for a file'],
      [{ a: { ...LONG, observer: "b" } }, {}, '"a": its "observer" is nothing for a file'],
      [{ a: [LONG] }, {}, '"a": its definition is nothing for a file'],
      [{ a: { ...LONG, prompt: "x".repeat(1_048_576) } }, {}, '"a": it has more than 1 MiB'],
    ];
  for (const [given, options, why] of rows) {
    assertEquals(placeAgents(given, { ...READS, ...options }), {
      args: [],
      files: [],
      problem: `"agents" is too long for a command line, and no file can hold ${why}`,
    });
  }
});

Deno.test("the last --agents counts, as a path if not JSON", () => {
  using folder = tempFolder({ "a.json": '{"a":1}', " a.json": '{"a":2}' });
  const read = (...forwarded: readonly string[]) =>
    readNamedAgents({ forwarded, cwd: folder.path });
  assertEquals(read("--agent=a"), undefined);
  assertEquals(read("--agents=a.json"), '{"a":1}');
  assertEquals(read("--agents={}", "--agents= a.json"), '{"a":2}');
  for (const others of ["", "{", ' {"a":1}']) {
    assertEquals(read("--agents=a.json", `--agents=${others}`), undefined);
  }
});

Deno.test("a file of agents is read exactly, or refused", () => {
  const agents = '{"a": {"description": "é", "__proto__": 1e999}, "a": {}}';
  const deep = `{"a":${"[".repeat(9000)}${"]".repeat(9000)}}`;
  const texts = ["", "{", '{"a":1}x', "[]", deep];
  using folder = tempFolder({
    "a.json": `\ufeff\n ${agents}\n\n`,
    ...Object.fromEntries(texts.map((text, index) => [`f${index}`, text])),
  });
  const cwd = folder.path;
  const read = (given: string, from = cwd) =>
    readNamedAgents({ forwarded: [`--agents=${given}`], cwd: from });
  assertEquals(read("a.json"), agents);
  assertEquals(read(`${cwd}/a.json`, "/"), agents);
  makeFifo(`${cwd}/fifo`);
  Deno.writeTextFileSync(`${cwd}/large`, "");
  Deno.truncateSync(`${cwd}/large`, 16 * 1024 * 1024 + 1);
  const refusals = {
    ...Object.fromEntries(
      ["[]", '"a"', "1", "null"].map((json) => [json, "it is not a JSON object"]),
    ),
    ...Object.fromEntries(texts.map((_, index) => [
      `f${index}`,
      `${cwd}/f${index} holds no JSON object`,
    ])),
    none: `${cwd}/none is not there, and what is not JSON is the path of a file`,
    fifo: `${cwd}/fifo cannot be read: it is not a regular file`,
    ".": `${cwd}/. cannot be read: it is not a regular file`,
    large: `${cwd}/large cannot be read: it is larger`,
  };
  for (const [given, why] of Object.entries(refusals)) {
    const { message } = assertThrows(() => read(given), CliError);
    const begin = `Cannot honour --agents: ${why}`;
    assertEquals(message.slice(0, begin.length), begin);
  }
});

/** The names of agents in these files, as seen from the folder `w/inner`, or the file that is unclear. */
function found(
  files: Readonly<Record<string, string>>,
  { sources = ["user", "project"], links = {} }: {
    readonly sources?: readonly ("user" | "project")[];
    readonly links?: Readonly<Record<string, string>>;
  } = {},
): readonly string[] | string {
  using folder = tempFolder({ ...files, "w/inner/x": "" });
  const top = folder.path;
  for (const [name, to] of Object.entries(links)) {
    Deno.mkdirSync(`${top}/${name}`.replace(/\/[^/]*$/u, ""), { recursive: true });
    Deno.symlinkSync(`${top}/${to}`, `${top}/${name}`);
  }
  const { names, unclear } = findOtherAgents({
    projectRoot: `${top}/w/inner`,
    userDir: `${top}/user`,
    addedDirs: [`${top}/added`],
    sources: new Set(sources),
  });
  return unclear?.replace(`${top}/`, "") ?? names.toSorted();
}

const agent = (name: string) => `---\nname: ${name}\ndescription: d\n---\nname: no\n`;

Deno.test("agents are found where Claude Code finds them", () => {
  const files = {
    "user/agents/a.md": agent("user"),
    "user/agents/deep/er/a.md": agent("deeper"),
    "user/agents/a.txt": agent("text"),
    "user/a.md": agent("beside"),
    "w/.claude/agents/a.md": agent("above"),
    "w/inner/.claude/agents/a.md": agent("here"),
    "w/inner/deep/.claude/agents/a.md": agent("below"),
    "added/.claude/agents/a.md": agent("added"),
    "linked/a.md": agent("linked"),
    "main/.git/worktrees/w/gitdir": "x",
  };
  assertEquals(found(files), ["above", "added", "deeper", "here", "user"]);
  assertEquals(found(files, { sources: ["user"] }), ["deeper", "user"]);
  assertEquals(found(files, { sources: ["project"] }), ["above", "added", "here"]);
  assertEquals(found(files, { sources: [] }), []);
  const links = { "w/.claude/agents/link": "linked" };
  assertEquals(found(files, { sources: ["project"], links }), [
    ...["above", "added", "here", "linked"],
  ]);
});

Deno.test("a search for agents ends", () => {
  const loop = { "w/.claude/agents/a": "w/.claude/agents" };
  assertEquals(found({}, { links: loop }), ["w/.claude/agents", ...Array(9).fill("a")].join("/"));
  const places = Array.from({ length: 72 }, (_, place) => place);
  const many = Object.fromEntries(places.map((place) => [`many/${place}`, ""]));
  const links = Object.fromEntries(places.map((place) => [`user/agents/${place}`, "many"]));
  assertMatch(`${found(many, { links })}`, /^user\/agents\/\d+$/u);
});

Deno.test("a name that parsers may read differently is unclear", () => {
  const path = "user/agents/a.md";
  const plain = [
    ...["name: a-b", "name: 'a-b'", 'name: "a-b"  # of mine', "name: a-b\t#of mine: #"],
    "description: |\n  name: no\n  more\nname:   a-b  \nhooks:\n- name: no\n\ntools: Read",
    "\n# name: no\nname: a-b\r\ndescription: d",
  ];
  const unclear = [
    ...['name: "a\\x2db"', "name: a\n  b", "name: a\n\n  b", "name: a\nname: b", "name: >\n  a"],
    ...["name: &a b", "name: *a", "name: !!str a", "name: a: b", "name: a#b", "name: é"],
    ...["name: 'it''s'", "name:", '"name": a', "{name: a}", "? name\n: a", "<<: *x\nname: a"],
    ...["  name: a", "- name: a\nx", "description: d\rna\\u006de: a\rx", "description: d\u2028{x}"],
  ];
  const none = ["description: d", "hooks:\n  name: no", ""];
  for (const [fronts, is] of [[plain, ["a-b"]], [unclear, path], [none, []]] as const) {
    for (const front of fronts) {
      assertEquals(found({ [path]: `---\n${front}\n---\nPrompt` }), is, front);
    }
  }
  const others = [
    "name: a",
    "# Read me\n\n---\nname: a\n---\n",
    `${agent("a")}${" ".repeat(1_048_576)}`,
  ];
  for (const text of others) assertEquals(found({ [path]: text }), []);
});
