import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import { instructionFiles, sandboxLackOf } from "../../../src/run/facts/project_facts.ts";
import { managedDocuments } from "../../../src/run/facts/settings_documents.ts";
import { readOutputSchema } from "../../../src/run/facts/output_schema.ts";
import { hiddenSkills } from "../../../src/run/facts/gate_prompt.ts";
import { thisProgram } from "../../../src/run/facts/this_process.ts";
import { tempFolder } from "../../temp_folder.ts";

/** Which files are found in a project with these, as seen from its folder `inner`. */
function found(
  files: readonly string[],
  { readsProject = true, project = "w/inner", prepare = () => {} }: {
    readonly readsProject?: boolean;
    readonly project?: string;
    readonly prepare?: (top: string) => void;
  } = {},
): string {
  const contents = [...files, "w/inner/x", "user/x"].map((file) => [file, "Be brief."]);
  using folder = tempFolder(Object.fromEntries(contents));
  const top = folder.path;
  prepare(top);
  const { claude, agents, skills } = instructionFiles(`${top}/w/inner`, {
    root: `${top}/w`,
    projectRoot: `${top}/${project}`,
    userDir: `${top}/user`,
    sources: new Set(readsProject ? ["project"] : []),
  });
  return [claude && "claude", agents && "agents", skills && "skills"].filter(Boolean).join(" ");
}

Deno.test("CLAUDE.md and AGENTS.md are found above and below", () => {
  assertEquals(found([]), "");
  assertEquals(found(["w/CLAUDE.md"]), "claude");
  assertEquals(found(["w/CLAUDE.md"], { readsProject: false }), "");
  const empty = (top: string) => Deno.writeTextFileSync(`${top}/w/CLAUDE.md`, "");
  assertEquals(found([], { prepare: empty }), "");
  // A CLAUDE.md of a folder below does not replace an AGENTS.md.
  assertEquals(found(["w/inner/CLAUDE.md"]), "");
  for (const above of ["", "w/", "w/inner/"]) {
    assertEquals(found([`${above}AGENTS.md`]), "agents");
    assertEquals(found([`${above}.claude/AGENTS.md`, "w/CLAUDE.md"]), "claude agents");
  }
  assertEquals(found(["w/other/deep/AGENTS.md"]), "agents");
  assertEquals(found(["w/other/deep/AGENTS.md", "w/CLAUDE.md"]), "claude");
  assertEquals(found(["w/.git/AGENTS.md", "w/other/agents.md"]), "");
  const link = (top: string) => Deno.symlinkSync("/nowhere", `${top}/w/link`);
  assertEquals(found([], { prepare: link }), "agents");
});

Deno.test("a project too large to search may have an AGENTS.md", () => {
  const folders = (count: number) => Array.from({ length: count }, (_, index) => `w/f${index}/x`);
  assertEquals(found(folders(50)), "");
  assertEquals(found(folders(70)), "agents");
  const { readDirSync } = Deno;
  const file = { name: "f", isFile: true, isDirectory: false, isSymlink: false };
  for (const [count, expected] of [[1990, ""], [2001, "agents"]] as const) {
    Deno.readDirSync = () => Array(count).fill(file).values();
    try {
      assertEquals(
        instructionFiles("/none", {
          ...{ root: "/none", projectRoot: "/none", userDir: "/none" },
          sources: new Set(["project"]),
        }).agents,
        expected === "agents",
      );
    } finally {
      Deno.readDirSync = readDirSync;
    }
  }
});

Deno.test("skills, commands and agents may allow tools", () => {
  for (const dir of ["user", "w/.claude", "w/inner/.claude"]) {
    for (const name of ["skills/s/SKILL.md", "commands/c.md", "agents/a.md"]) {
      assertEquals(found([`${dir}/${name}`]), "skills");
    }
  }
  assertEquals(found(["user/settings.json", "w/.claude/settings.json"]), "");
  assertEquals(found(["w/.claude/skills/s/SKILL.md"], { project: "p" }), "");
  assertEquals(found(["p/.claude/skills/s/SKILL.md"], { project: "p/inner" }), "skills");
});

Deno.test("skills that the caller did not choose are hidden", () => {
  const skills = ["user/skills/a", "user/skills/b", "p/skills/a", "p/skills/ba"];
  using folder = tempFolder(Object.fromEntries(skills.map((name) => [`${name}/SKILL.md`, ""])));
  const { path } = folder;
  const places = {
    projectRoot: "/",
    configDir: `${path}/user`,
    addDirs: [],
    plugins: [`${path}/p`],
  };
  const hidden = (chosen: readonly string[]) =>
    hiddenSkills(chosen, { places, version: "2.1.330" });
  const rows = [
    [[], ["a", "b", "verify", "dataviz"], ["p:a", "p:ba"]],
    [["a", "verify"], ["b", "dataviz"], ["p:ba"]],
    [["p:a"], ["a", "b", "verify", "dataviz"], ["p:ba"]],
  ] as const;
  for (const [chosen, own, ofPlugins] of rows) {
    const { own: all, ofPlugins: others } = hidden(chosen);
    const looked = ["a", "b", "verify", "dataviz"].filter((name) => all.includes(name));
    assertEquals([looked, others.toSorted()], [[...own], [...ofPlugins]]);
  }
  // A name must not make the settings too long for Claude Code.
  const names = [1000, 1_000_000].map((count) => {
    const text = `---\nname: ${"l".repeat(count)}\n---\n`;
    Deno.writeTextFileSync(`${path}/user/skills/b/SKILL.md`, text);
    const { own } = hidden([]);
    return [
      own.includes("l".repeat(1000)),
      own.includes("b"),
      own.every((x) => x.length <= 1000),
    ];
  });
  assertEquals(names, [[true, true, true], [false, true, true]]);
});

Deno.test("managed settings of the caller only forbid", async () => {
  const valuesOf = async (settings: unknown) => {
    const flag = "--managed-settings=";
    const documents = await managedDocuments([`${flag}{}`, `${flag}${JSON.stringify(settings)}`]);
    return documents.map(({ source, values }) => [source, values]);
  };
  const sandbox = { network: { allowManagedDomainsOnly: true } };
  const permissions = { deny: ["Bash"], allow: ["Write"], defaultMode: "bypassPermissions" };
  const other = { model: "m", env: { A: "b" }, disableAllHooks: false };
  assertEquals(await valuesOf({ permissions, sandbox, ...other }), [
    ["managed", { permissions: { deny: ["Bash"] }, sandbox }],
  ]);
  assertEquals(await valuesOf([]), [["managed", { permissions: {} }]]);
  const [unparsed] = await managedDocuments(["--managed-settings={"]);
  assertEquals(unparsed?.values, { permissions: {} });
  assertEquals(await managedDocuments(["--model=x"]), []);
  const harmless = { disableAllHooks: "false", strictPluginOnlyCustomization: ["skills"] };
  assertEquals((await valuesOf(harmless)).length, 1);
  const silencing = [
    ...[{ disableAllHooks: true }, { disableAllHooks: "yes" }, { allowManagedHooksOnly: true }],
    ...[true, ["skills", "hooks"]].map((strictPluginOnlyCustomization) => ({
      strictPluginOnlyCustomization,
    })),
  ];
  for (const settings of silencing) {
    const [name = ""] = Object.keys(settings);
    await assertRejects(() => valuesOf(settings), CliError, `Cannot honour "${name}"`);
  }
});

Deno.test("commands run in a sandbox that settings ask for", () => {
  using folder = tempFolder();
  const env = { PATH: `relative:/nowhere:${folder.path}` };
  const on = [{ sandbox: { enabled: false } }, { sandbox: { enabled: true } }, { sandbox: {} }];
  const required = [...on, { sandbox: { failIfUnavailable: true } }];
  assertEquals(sandboxLackOf(on, env), ["bubblewrap", "socat"]);
  assertThrows(() => sandboxLackOf(required, env), CliError, "takes bubblewrap and socat");
  for (const name of ["bwrap", "socat"]) Deno.writeTextFileSync(`${folder.path}/${name}`, "");
  assertEquals([sandboxLackOf(on, env), sandboxLackOf(required, env)], [[], []]);
  assertEquals(sandboxLackOf(on, {}), ["bubblewrap", "socat"]);
  assertEquals(sandboxLackOf([{ sandbox: { failIfUnavailable: true } }], {}), undefined);
  assertEquals(sandboxLackOf([...on, { sandbox: { enabled: false } }], env), undefined);
  assertEquals(sandboxLackOf([{}, { sandbox: "on" }], env), undefined);
});

/** What is wrong with a value, as 2.1.330 says it. */
async function problems(schema: object, value: unknown): Promise<readonly string[]> {
  const { problemsOf } = await readOutputSchema(JSON.stringify(schema));
  return problemsOf(value).map(({ text, found = "" }) => `${text}${found}`);
}

Deno.test("problems of structured output have their place and value", async () => {
  const schema = {
    type: "object",
    properties: {
      short: { type: "string", maxLength: 2 },
      list: { type: "array", minItems: 2, items: { type: "integer" } },
      map: { type: "object", maxProperties: 1 },
      "a/b~c": { type: "string", minLength: 3 },
      kind: { enum: ["one", "two"] },
      sure: { const: true },
      price: { type: "number", multipleOf: 0.01 },
      day: { type: "string", format: "date" },
    },
    required: ["short"],
    additionalProperties: false,
  };
  const value = {
    ...{ short: "🙂🙂🙂", list: ["x"], map: { a: 1, b: 2 }, "a/b~c": "", kind: "three" },
    ...{ sure: false, price: 19.99, day: "never", [`${"k".repeat(81)}`]: 1 },
  };
  assertEquals(await problems(schema, value), [
    `root: must NOT have additional properties ('${"k".repeat(80)}…' is not allowed)`,
    "/short: must NOT have more than 2 characters (got 3)",
    "/list: must NOT have fewer than 2 items (got 1)",
    "/list/0: must be integer",
    "/map: must NOT have more than 1 properties (got 2)",
    "/a~1b~0c: must NOT have fewer than 3 characters (got 0)",
    '/kind: must be equal to one of the allowed values: ["one","two"]',
    "/sure: must be equal to constant: true",
  ]);
  assertEquals(await problems(schema, { price: 1 }), ["root: must have required property 'short'"]);
  assertEquals(await problems(schema, { short: "" }), []);
});

Deno.test("an invalid output schema is refused with the reason", async () => {
  const invalid = "is not a valid JSON Schema:";
  const reasons = {
    "[]": "must be a JSON object",
    "nonsense": "is not valid JSON: Unexpected token 'o', \"nonsense\" is not valid JSON",
    '{"type":"object","foo":1}': `${invalid} strict mode: unknown keyword: "foo"`,
    '{"$ref":"#/definitions/x"}': `${invalid} can't resolve reference #/definitions/x from id #`,
    '{"$async":true}': "must not be asynchronous",
    [`${'{"not":'.repeat(501)}{}${"}".repeat(501)}`]: "is too large",
    [`{"title":"${"x".repeat(1_000_000)}"}`]: "is too large",
  };
  for (const [text, reason] of Object.entries(reasons)) {
    const error = await assertRejects(() => readOutputSchema(text), CliError);
    assertEquals(error.message, `Error: --json-schema ${reason}`);
  }
});

Deno.test("this program's command starts Deno without an update check", () => {
  const [env, variable, deno] = thisProgram();
  assertEquals([env, variable, deno], ["/usr/bin/env", "DENO_NO_UPDATE_CHECK=1", Deno.execPath()]);
});
