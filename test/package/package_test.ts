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

  await t.step("deno run -A jsr:@claude-print/cli --version", async () => {
    const { code, stdout, stderr } = await run("run", "-A", "jsr:@claude-print/cli", "--version");
    assertEquals(code, 0, stderr);
    assertEquals(stdout, `claude-print ${deno.version} (wrapping claude 2.1.330)\n`);
  });

  await t.step("deno run -A jsr:@claude-print/cli answers a prompt", async () => {
    const args = ["-p", "hello", "--settings", "{/* why */}"];
    const output = await run("run", "-A", "--quiet", "jsr:@claude-print/cli", ...args);
    assertEquals(output, { code: 0, stdout: "You said hello\n", stderr: "" });
    const { code, stderr } = await run("run", "-A", "--quiet", "jsr:@claude-print/cli", "--modle");
    assertEquals(code, 2);
    assertStringIncludes(stderr, "Did you mean --model?");
  });

  await t.step("a screen is rendered", async () => {
    const asks = { MOCK_CLAUDE_SCENARIO: JSON.stringify({ dialogs: [QUESTION] }) };
    const command = [Deno.execPath(), "run", "-A", "--quiet", "jsr:@claude-print/cli", "hello"];
    const { code, stderr } = await startProgram(command, {
      env: { ...env, ...asks },
      cwd: home.project,
    }).ended;
    assertEquals(code, 2);
    assertMatch(stderr, /\| +Shall we\?\n/u);
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

/** A dialog that is shown to the user. */
const QUESTION = {
  lines: ["Shall we?"],
  choices: [{ label: "Yes" }, { label: "No" }],
  selected: 0,
  numbered: true,
  escape: null,
};
