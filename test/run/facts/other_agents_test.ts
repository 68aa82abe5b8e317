import { assertEquals, assertMatch } from "@std/assert";
import { otherAgents } from "../../../src/run/facts/other_agents.ts";

/** The names of agents in these files, as seen from the folder `w/inner`, or the file of which it is not clear. */
async function found(
  files: Readonly<Record<string, string>>,
  { sources = ["user", "project"], links = {} }: {
    readonly sources?: readonly ("user" | "project")[];
    readonly links?: Readonly<Record<string, string>>;
  } = {},
): Promise<readonly string[] | string> {
  const top = await Deno.realPath(await Deno.makeTempDir());
  try {
    await Deno.mkdir(`${top}/w/inner`, { recursive: true });
    const make = async (name: string) => {
      await Deno.mkdir(`${top}/${name}`.replace(/\/[^/]*$/u, ""), { recursive: true });
      return `${top}/${name}`;
    };
    for (const [name, text] of Object.entries(files)) {
      await Deno.writeTextFile(await make(name), text);
    }
    for (const [name, to] of Object.entries(links)) {
      await Deno.symlink(`${top}/${to}`, await make(name));
    }
    const { names, unclear } = otherAgents({
      projectRoot: `${top}/w/inner`,
      userDir: `${top}/user`,
      addDirs: [`${top}/added`],
      sources: new Set(sources),
    });
    return unclear?.replace(`${top}/`, "") ?? names.toSorted();
  } finally {
    await Deno.remove(top, { recursive: true });
  }
}

const agent = (name: string) => `---\nname: ${name}\ndescription: d\n---\nname: no\n`;

Deno.test("otherAgents() finds those of the user and of the project where Claude Code does", async () => {
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
  const links = { "w/.claude/agents/link": "linked", "w/.claude/agents/loop": "w/.claude" };
  assertEquals(await found(files), ["above", "added", "deeper", "here", "user"]);
  assertEquals(await found(files, { sources: ["user"] }), ["deeper", "user"]);
  assertEquals(await found(files, { sources: ["project"] }), ["above", "added", "here"]);
  assertEquals(await found(files, { sources: [] }), []);
  const link = { "w/.claude/agents/link": links["w/.claude/agents/link"] };
  assertEquals(await found(files, { sources: ["project"], links: link }), [
    ...["above", "added", "here", "linked"],
  ]);
  assertEquals(
    await found({}, { links: { "w/.claude/agents/a": "w/.claude/agents" } }),
    [
      "w/.claude/agents",
      ...Array(9).fill("a"),
    ].join("/"),
  );
});

Deno.test("otherAgents() reads names that everybody reads alike, and takes the rest for any name", async () => {
  const path = "user/agents/a.md";
  const read = (front: string) => found({ [path]: `---\n${front}\n---\nPrompt` });
  for (
    const front of [
      "name: a-b",
      "name: 'a-b'",
      'name: "a-b"  # of mine',
      "description: |\n  name: no\n  more\nname:   a-b  \nhooks:\n- name: no\n\ntools: Read",
      "\n# name: no\nname: a-b\r\ndescription: d",
      "name: a-b\t#of mine: #",
    ]
  ) {
    assertEquals(await read(front), ["a-b"], front);
  }
  for (
    const front of [
      ...['name: "a\\x2db"', "name: a\n  b", "name: a\n\n  b", "name: a\nname: b", "name: >\n  a"],
      ...[
        "name: &a b",
        "name: *a",
        "name: !!str a",
        "name: a: b",
        "name: a#b",
        "name: é",
        "name: 'it''s'",
        "name:",
      ],
      ...['"name": a', "{name: a}", "? name\n: a", "<<: *x\nname: a", "  name: a", "- name: a\nx"],
      ...["description: d\rna\\u006de: a\rx", "description: d\u2028{x}"],
    ]
  ) {
    assertEquals(await read(front), path, front);
  }
  for (const front of ["description: d", "hooks:\n  name: no", ""]) {
    assertEquals(await read(front), [], front);
  }
  assertEquals(await found({ [path]: "name: a" }), []);
  assertEquals(await found({ [path]: "# Read me\n\n---\nname: a\n---\n" }), []);
  assertEquals(await found({ [path]: `${agent("a")}${" ".repeat(1_048_576)}` }), []);
});

Deno.test("otherAgents() takes a time in proportion to what files hold, of which some are a project's", async () => {
  const name = `a${" ".repeat(1_000_000)}b: #`;
  assertEquals(await found({ "w/.claude/agents/a.md": agent(name) }), "w/.claude/agents/a.md");
});

Deno.test("otherAgents() looks at no more than it can", async () => {
  const places = Array.from({ length: 72 }, (_, place) => place);
  const many = Object.fromEntries(places.map((place) => [`many/${place}`, ""]));
  const links = Object.fromEntries(places.map((place) => [`user/agents/${place}`, "many"]));
  assertMatch(`${await found(many, { links })}`, /^user\/agents\/\d+$/u);
});
