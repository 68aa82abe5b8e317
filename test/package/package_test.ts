import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import deno from "../../deno.json" with { type: "json" };
import { leftovers } from "../leftovers.ts";
import { type ProgramOutput, startProgram } from "../start_program.ts";
import { StandIn } from "../standin/stand_in.ts";
import { emptyDenoDir, publishHere } from "./publish_here.ts";
import { startRegistry } from "./registry.ts";

Deno.test("the package that is published runs from a registry, as a program and as a library", async (t) => {
  await using registry = startRegistry();
  await using claude = await StandIn.set({ turns: [[{ text: "You said {prompt}" }]] });
  const { home } = claude;
  const [checkout, cache] = [`${home.path}/checkout`, `${home.path}/cache`];
  await Deno.mkdir(checkout);
  await Deno.mkdir(cache);
  const env = {
    ...home.env,
    PATH: `${home.path}:${home.env["PATH"]}`,
    DENO_DIR: await emptyDenoDir(cache),
    JSR_URL: registry.url,
    NO_COLOR: "1",
  };
  const run = async (...args: string[]): Promise<ProgramOutput> =>
    await startProgram([Deno.execPath(), ...args], { env, cwd: home.project }).ended;

  const published = await publishHere(registry, { folder: checkout, env });
  assertEquals(published.code, 0, published.stderr);
  assert(!/warning/iu.test(published.stderr), published.stderr);
  assertStringIncludes(published.stderr, `published @claude-print/cli@${deno.version}\n`);
  const files = registry.packages.get("@claude-print/cli")?.files ?? new Map();

  await t.step("it holds what it needs and nothing else", () => {
    const paths = [...files.keys()].filter((path) => !/^\/(?:src|ffi)\/[\w/]+\.ts$/u.test(path));
    assertEquals(paths.toSorted(), ["/LICENSE", "/README.md", "/deno.json"]);
    assert(files.has("/src/main.ts") && files.has("/ffi/libc.ts"));
  });

  await t.step("its version is that of deno.json, and its imports name their packages", () => {
    const config = JSON.parse(new TextDecoder().decode(files.get("/deno.json")));
    assertEquals([config.version, config.links], [deno.version, undefined]);
    const names = Object.keys(deno.imports).map((name) => `"${name}`);
    for (const [path, content] of files) {
      if (!path.endsWith(".ts")) continue;
      const code = new TextDecoder().decode(content).replaceAll(/^ *(?:\*|\/\/).*$/gmu, "");
      assertEquals(names.filter((name) => code.includes(name)), [], path);
    }
  });

  await t.step("the documented command says its version", async () => {
    const { code, stdout, stderr } = await run(...CLI, "--version");
    assertEquals(code, 0, stderr);
    assertEquals(stdout, `claude-print ${deno.version} (wrapping claude 2.1.330)\n`);
  });

  await t.step("it answers a prompt", async () => {
    const args = ["-p", "hello", "--settings", "{/* why */}"];
    const output = await run(...CLI, ...args);
    assertEquals(output, { code: 0, stdout: "You said hello\n", stderr: "" });
    const { code, stderr } = await run(...CLI, "--modle");
    assertEquals(code, 2);
    assertStringIncludes(stderr, "Did you mean --model?");
  });

  await t.step("a screen is rendered", async () => {
    const asks = { MOCK_CLAUDE_SCENARIO: JSON.stringify({ dialogs: [QUESTION] }) };
    const { code, stderr } = await startProgram([Deno.execPath(), ...CLI, "hello"], {
      env: { ...env, ...asks },
      cwd: home.project,
    }).ended;
    assertEquals(code, 2);
    assertMatch(stderr, /\| +Shall we\?\n/u);
  });

  await t.step("the folder that it is started in has no say in what runs", async () => {
    const hostile = `${home.project}/hostile`;
    for (const [path, text] of Object.entries(hostileFolder(registry.url))) {
      await Deno.mkdir(`${hostile}/${path.slice(0, path.lastIndexOf("/") + 1)}`, {
        recursive: true,
      });
      await Deno.writeTextFile(`${hostile}/${path}`, text);
    }
    await Deno.mkdir(`${hostile}/below`);
    for (const cwd of [hostile, `${hostile}/below`]) {
      const started = async (args: readonly string[]) =>
        await startProgram([Deno.execPath(), ...args, "hello"], { env, cwd }).ended;
      const careless = CLI.filter((word) => !word.startsWith("--no-"));
      assertEquals((await started(careless)).stdout, "hostile\n");
      assertEquals(await started(CLI), { code: 0, stdout: "You said hello\n", stderr: "" });
    }
  });

  await t.step("a program imports the library", async () => {
    await Deno.writeTextFile(
      `${home.project}/program.ts`,
      `import { type Frame, replay, run } from "jsr:@claude-print/cli@^${deno.version}/library";
      const hello = run("hello");
      for await (const { type } of hello) console.log(type satisfies Frame["type"]);
      console.log((await hello.result).text, typeof replay);
      `,
    );
    const checked = await run("check", "--quiet", "program.ts");
    assertEquals(checked, { code: 0, stdout: "", stderr: "" });
    const output = await run("run", "-A", "--quiet", "program.ts");
    assertEquals(output, {
      code: 0,
      stdout: "system\nassistant\nresult\nYou said hello function\n",
      stderr: "",
    });
  });

  assertEquals(await leftovers(home), []);
});

/** The documented command, quiet about what it downloads. */
const CLI = ["run", "-A", "--no-config", "--no-lock", "--quiet", "jsr:@claude-print/cli"];

/** A folder that puts programs of its own in the place of what it can, by all that Deno reads of a folder. */
function hostileFolder(registry: string): Readonly<Record<string, string>> {
  const evil = "console.log('hostile'); Deno.exit(0); export const z = {};";
  return {
    "deno.json": JSON.stringify({
      links: ["./evil"],
      imports: { "jsr:@claude-print/cli": "./evil/main.ts", "npm:zod": "./evil/main.ts" },
      scopes: { [registry]: { "npm:zod": "./evil/main.ts" } },
    }),
    "deno.lock": JSON.stringify({
      version: "5",
      specifiers: { "jsr:@claude-print/cli@*": "6.6.6" },
    }),
    ".npmrc": "registry=http://127.0.0.1:1/\n",
    "package.json": JSON.stringify({ dependencies: { zod: "*", "@claude-print/cli": "*" } }),
    "node_modules/zod/package.json": JSON.stringify({
      name: "zod",
      version: "4.6.7",
      exports: { ".": "./main.mjs", "./mini": "./main.mjs" },
    }),
    "node_modules/zod/main.mjs": evil,
    "evil/deno.json": JSON.stringify({
      name: "@claude-print/cli",
      version: deno.version,
      exports: { ".": "./main.ts", "./library": "./main.ts" },
    }),
    "evil/main.ts": evil,
  };
}

/** A dialog that is shown to the user. */
const QUESTION = {
  lines: ["Shall we?"],
  choices: [{ label: "Yes" }, { label: "No" }],
  selected: 0,
  numbered: true,
  escape: null,
};
