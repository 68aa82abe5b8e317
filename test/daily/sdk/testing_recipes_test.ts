import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { dirname } from "node:path";
import { pytestModules, pythonSdk, typescriptSdk } from "../../../fixtures/programs/agent_sdk.ts";
import { usableNode, vitestModules } from "../../../fixtures/programs/vitest.ts";
import { usablePython } from "../../../fixtures/programs/python_packages.ts";
import { shellQuote } from "../../../src/shell_quote.ts";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { codeBlocks } from "../../examples/code_blocks.ts";
import { startProgram } from "../../start_program.ts";
import { skipIfLacking } from "../../skip_if_lacking.ts";
import { REAL_VERSIONS } from "../../real/for_each_version.ts";
import { writeScript } from "../../write_script.ts";
import { RealClaude } from "../../real/real_claude.ts";

const PAGE = Deno.readTextFileSync(
  new URL("../../../docs/how-to/testing-your-program.md", import.meta.url),
);
const python = usablePython();

/** A recipe of the page: its files, its command, and the cassette that it records. */
interface Recipe {
  readonly files: Readonly<Record<string, string>>;
  /** Symbolic links beside the files, and their targets. */
  readonly links?: Readonly<Record<string, string>>;
  readonly command: readonly string[];
  /** Variables for that. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cassette: string;
  /** Whether another recipe with the same helper tests its failures: each start costs a second. */
  readonly failsAsAnother?: boolean;
}

Deno.test(skipIfLacking(python === undefined ? "python3 with venv, 3.10 or later" : undefined, {
  name: "the pytest recipe records once, replays, and rejects another prompt",
  fn: async () => {
    if (python === undefined) return;
    const [conftest = "", test = ""] = codeBlocks(PAGE, "python").map(({ code }) => code);
    const sdk = await pythonSdk(python);
    await tryRecipe({
      files: { "conftest.py": conftest, "test_greeting.py": test },
      env: { PYTHONPATH: await pytestModules(sdk) },
      command: [
        sdk,
        "-B",
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--basetemp=tmp",
      ],
      cassette: "cassettes/test_greeting",
    });
  },
}));

Deno.test("the deno recipe records once, replays, and rejects another prompt", async () => {
  const [helper = "", test = ""] = codeBlocks(PAGE, "ts recipe").map(({ code }) => code);
  const sdk = "npm:@anthropic-ai/claude-agent-sdk";
  assertStringIncludes(test, sdk);
  await tryRecipe({
    files: {
      "claude_cassette.ts": helper,
      "greeting_test.ts": test.replace(sdk, `file://${await typescriptSdk()}`),
    },
    command: [Deno.execPath(), "test", "-A", "--no-config", "--no-lock", "--no-check"],
    cassette: "cassettes/greeting",
  });
});

const node = usableNode();

Deno.test(skipIfLacking(node === undefined ? "Node 20 with npm" : undefined, {
  name: "the vitest recipe records once and replays",
  fn: async () => {
    if (node === undefined) return;
    const [helper = "", , test = ""] = codeBlocks(PAGE, "ts recipe").map(({ code }) => code);
    const sdk = "node_modules/@anthropic-ai/claude-agent-sdk";
    const modules = await vitestModules();
    await tryRecipe({
      files: {
        "claude_cassette.ts": helper,
        "greeting.test.ts": test,
        "package.json": "{}",
        [`${sdk}/package.json`]: '{"type":"module","main":"sdk.mjs"}',
        [`${sdk}/sdk.mjs`]: await Deno.readTextFile(await typescriptSdk()),
      },
      links: { "node_modules/vitest": `${modules}/vitest` },
      // On a busy machine a start takes longer than the 5 s that a test has.
      command: [node, `${modules}/vitest/vitest.mjs`, "run", "--no-cache", "--testTimeout=60000"],
      cassette: "cassettes/greeting",
      failsAsAnother: true,
    });
  },
}));

async function tryRecipe(
  { files, links = {}, command, env: own = {}, cassette, failsAsAnother = false }: Recipe,
): Promise<void> {
  await using real = await RealClaude.set(REAL_VERSIONS.at(-1) ?? "", {
    api: {
      reply: ({ prompt }) =>
        prompt === "Say hello" ? [{ kind: "text", text: "Hello!" }] : undefined,
    },
  });
  const { home, binary } = real;
  const [recording, replaying] = [`${home.path}/recording`, `${home.path}/replaying`];
  for (const bin of [recording, replaying]) {
    await Deno.mkdir(bin);
    const script = `#!/bin/sh\nexec ${CLAUDE_PRINT.map(shellQuote).join(" ")} "$@"\n`;
    await writeScript(`${bin}/claude-print`, script);
  }
  await Deno.symlink(binary, `${recording}/claude`);
  const write = async (change: (text: string) => string) => {
    for (const [name, text] of Object.entries(files)) {
      await Deno.mkdir(dirname(`${home.project}/${name}`), { recursive: true });
      await Deno.writeTextFile(`${home.project}/${name}`, change(text));
    }
  };
  const { DENO_DIR } = home.env;
  const run = async (bin: string, env: Readonly<Record<string, string | undefined>>) => {
    const { code, stdout, stderr } = await startProgram(command, {
      env: { ...env, ...own, PATH: `${bin}:/usr/bin:/bin`, NO_COLOR: "1" },
      cwd: home.project,
    }).ended;
    return { code, said: stdout + stderr };
  };
  const nobody = { HOME: `${home.path}/t`, DENO_DIR };
  await write((text) => text);
  for (const [name, to] of Object.entries(links)) {
    await Deno.symlink(to, `${home.project}/${name}`);
  }
  if (!failsAsAnother) {
    const missing = await run(replaying, nobody);
    assert(missing.code !== 0, missing.said);
    assertStringIncludes(missing.said, "it does not exist");
  }

  const recorded = await run(recording, { ...home.env, RECORD: "1" });
  assertEquals(recorded.code, 0, recorded.said);
  assert(Deno.statSync(`${home.project}/${cassette}/tape.jsonl`).isFile);
  // Requests outside the conversation may come while Claude Code ends.
  const turns = real.api.turns.length;

  const replayed = await run(replaying, nobody);
  assertEquals(replayed.code, 0, replayed.said);
  assertEquals(real.api.turns.length, turns);
  if (failsAsAnother) return;
  await write((text) => text.replaceAll("Say hello", "Say goodbye"));
  // An existing cassette is replayed, although RECORD is set.
  const other = await run(replaying, { ...nobody, RECORD: "1" });
  assert(other.code !== 0, other.said);
  assertStringIncludes(other.said, 'Message 1: the tape has "Say hello" as');
  assertEquals(real.api.turns.length, turns);
}
