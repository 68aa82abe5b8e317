import { assertEquals } from "@std/assert";
import { pythonSdk, typescriptSdk } from "../../../fixtures/programs/agent_sdk.ts";
import { usablePython } from "../../../fixtures/programs/python_packages.ts";
import { shellQuote } from "../../../src/shell_quote.ts";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { codeBlocks } from "../../examples/code_blocks.ts";
import { REAL_VERSIONS } from "../../real/for_each_version.ts";
import { RealClaude } from "../../real/real_claude.ts";
import { skipIfLacking } from "../../skip_if_lacking.ts";
import { startProgram } from "../../start_program.ts";
import { writeScript } from "../../write_script.ts";

const PAGE = Deno.readTextFileSync(new URL("../../../docs/how-to/sdks.md", import.meta.url));
const ANSWER = "Air scatters blue light more than red light.";
const python = usablePython();

Deno.test("the page's TypeScript query prints the answer", async () => {
  const sdk = `file://${await typescriptSdk()}`;
  await printsAnswer("ts recipe", {
    file: "query.ts",
    command: [Deno.execPath(), "run", "-A", "--no-config", "--no-lock", "--no-check"],
    change: (code) => code.replace("@anthropic-ai/claude-agent-sdk", sdk),
  });
});

Deno.test(skipIfLacking(python === undefined ? "python3 with venv, 3.10 or later" : undefined, {
  name: "the page's Python query prints the answer",
  fn: async () => {
    if (python === undefined) return;
    await printsAnswer("python", { file: "query.py", command: [await pythonSdk(python), "-B"] });
  },
}));

async function printsAnswer(
  language: string,
  { file, command, change = (code) => code }: {
    readonly file: string;
    readonly command: readonly string[];
    readonly change?: (code: string) => string;
  },
): Promise<void> {
  await using real = await RealClaude.set(REAL_VERSIONS.at(-1) ?? "", {
    api: { reply: () => [{ kind: "text", text: ANSWER }] },
  });
  const { home, binary } = real;
  const program = `${home.path}/claude-print`;
  const script = `exec ${CLAUDE_PRINT.map(shellQuote).join(" ")} "$@"`;
  await writeScript(program, `#!/bin/sh\nPATH=${home.path}:$PATH ${script}\n`);
  await Deno.symlink(binary, `${home.path}/claude`);
  const [block] = codeBlocks(PAGE, language);
  const code = change(block?.code ?? "").replace("/home/me/.local/bin/claude-print", program);
  await Deno.writeTextFile(`${home.project}/${file}`, code);
  const { stdout, stderr } = await startProgram([...command, file], {
    env: home.env,
    cwd: home.project,
  }).ended;
  assertEquals(stdout, `${ANSWER}\n`, stderr);
}
