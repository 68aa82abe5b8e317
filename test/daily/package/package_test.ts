import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import deno from "../../../deno.json" with { type: "json" };
import { PROFILED_VERSIONS } from "../../../src/claude/versions/profiles.ts";
import { npmRuntime } from "../../../fixtures/programs/npm_runtime.ts";
import { compile } from "../executable/compile.ts";
import { leftovers } from "../../leftovers.ts";
import { type ProgramOutput, startProgram } from "../../start_program.ts";
import { StandIn } from "../../program/stand_in.ts";
import { startRegistry } from "./registry.ts";
import { emptyDenoDir, releaseCheckout } from "./release_checkout.ts";

/** What stands for the real @std is made of the linked packages, which CI has dropped here and there. */
const ignore = !Object.hasOwn(deno, "links");

Deno.test("a release has real packages and runs from a registry", { ignore }, async (t) => {
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

  await releaseCheckout(registry, { folder: checkout, env });

  await t.step("its lock names all parts and no repack", async () => {
    const lock = JSON.parse(await Deno.readTextFile(`${checkout}/deno.lock`));
    const std = [...registry.packages].map(([name, { version }]) => `${name}@${version}`);
    assertEquals(Object.keys(lock.jsr).toSorted(), std.toSorted());
    const { "deno-std@1.4.0": _, ...others } = LOCK.npm;
    assertEquals([lock.npm, lock.workspace.links], [others, undefined]);
  });

  await t.step(
    "its executable is made on Deno's official runtime",
    async () => {
      // The release reaches no npm.
      await npmRuntime();
      const args = ["--output", `${home.path}/claude-print`];
      const made = await compile({ root: checkout, env, args: ["--base", "npm", ...args] });
      assertEquals([made.code, made.stderr], [0, ""]);
      const std = ["jsonc@1.0.2", "streams@1.1.2"];
      const packages = [
        ...std.map((name) => `${registry.url}@std/${name}`),
        "npm:@xterm/headless@6.0.0",
        "npm:ajv@8.20.0",
        "npm:fast-deep-equal@3.1.3",
        "npm:fast-uri@3.1.9",
        "npm:json-schema-traverse@1.0.0",
        "npm:zod@4.6.7",
      ];
      assertEquals(made.stdout.split("\n")[0], `Bundled ${packages.join(", ")}`);
      const official = { root: checkout, env, args: ["--base", "official"], offline: true };
      const refused = await compile(official);
      assertEquals([refused.code, refused.stdout], [1, ""]);
      assertMatch(refused.stderr, /^Cannot download the official runtime .* cannot be reached\n$/u);
    },
  );

  const publish = ["publish", "--allow-dirty", "--no-check", "--token", "anybody"];
  const published = await startProgram([Deno.execPath(), ...publish], { env, cwd: checkout }).ended;
  assertEquals(published.code, 0, published.stderr);
  assert(!/warning/iu.test(published.stderr), published.stderr);
  assertStringIncludes(published.stderr, `published @claude-print/cli@${deno.version}\n`);
  const files = registry.packages.get("@claude-print/cli")?.files ?? new Map();

  await t.step("it holds what it needs and nothing else", () => {
    const paths = [...files.keys()].filter((path) => !/^\/(?:src|ffi)\/[\w/]+\.ts$/u.test(path));
    assertEquals(paths.toSorted(), [
      ...["/LICENSE", "/README.md", "/deno.json"],
      // What each folder of the sources holds.
      "/src/README.md",
      // What is measured of Claude Code, and is no code.
      ...PROFILED_VERSIONS.map((version) => `/src/claude/versions/${version}.json`),
      "/src/claude/versions/profile_index.json",
      "/src/claude/versions/settings_index.json",
      "/src/claude/versions/tables_index.json",
      "/src/recording/drift/known_shapes.json",
      // What the server of conversations answers.
      "/src/server/http/openapi.json",
    ]);
    assert(files.has("/src/main.ts") && files.has("/ffi/libc.ts"));
  });

  await t.step("its version and imports are those of deno.json", () => {
    const config = JSON.parse(new TextDecoder().decode(files.get("/deno.json")));
    assertEquals([config.version, config.links], [deno.version, undefined]);
    const names = Object.keys(deno.imports).map((name) => `"${name}`);
    const exact: readonly string[] = Object.values(deno.imports);
    for (const wanted of exact) assertMatch(wanted, /^(?:jsr|npm):.+@\d+\.\d+\.\d+$/u);
    for (const [path, content] of files) {
      if (!path.endsWith(".ts")) continue;
      const code = new TextDecoder().decode(content).replaceAll(/^ *(?:\*|\/\/).*$/gmu, "");
      assertEquals(names.filter((name) => code.includes(name)), [], path);
      for (
        const [, wanted = ""] of code.matchAll(/"((?:jsr|npm):(?:@[^/"]+\/)?[^/"]+)/gu)
      ) {
        assert(exact.includes(wanted), `${path}: ${wanted}`);
      }
    }
  });

  await t.step("the documented command says its version", async () => {
    const { code, stdout, stderr } = await run(...CLI, "--version");
    assertEquals(code, 0, stderr);
    assertEquals(stdout, `2.1.332 (Claude Code)\nclaude-print ${deno.version}\n`);
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

  await t.step("the working directory does not change what runs", async () => {
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
    const output = await run("run", "--check", "-A", "--quiet", "program.ts");
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

/** The lock of the sources. */
const LOCK = JSON.parse(await Deno.readTextFile(new URL("../../../deno.lock", import.meta.url)));

/** A dialog that is shown to the user. */
const QUESTION = {
  lines: ["Shall we?"],
  choices: [{ label: "Yes" }, { label: "No" }],
  selected: 0,
  numbered: true,
  escape: null,
};
