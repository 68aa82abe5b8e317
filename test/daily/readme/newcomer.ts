import { installMockClaude } from "../../../fixtures/mock/install_mock_claude.ts";
import type { Scenario } from "../../../fixtures/mock/scenario.ts";
import { makeThrowawayHome, type ThrowawayHome } from "../../../fixtures/throwaway_home.ts";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { type ProgramOutput, startProgram } from "../../start_program.ts";
import { findTool } from "../../missing_tool.ts";
import { shellQuote } from "../../../src/shell_quote.ts";
import { sha256 } from "../install/newcomer.ts";

const ROOT = new URL("../../..", import.meta.url).pathname;
const RELEASE = "https://github.com/claude-print/claude-print/releases/latest/download/";
const ASSET = "claude-print-x86_64-linux";

/** What the stand-in answers to prompts whose output the pages show. */
const REPLIES: Scenario["replies"] = {
  "Say hello": [{ text: "Hello!" }],
  "Why is the sky blue?": [{ text: "Air scatters blue light more than red light." }],
  "Write a commit message for this": [{ text: "Change the text in changed.txt" }],
  "How many files are here?": [
    { tools: [{ name: "Bash", input: { command: "ls -p | grep -vc /" } }] },
    { text: "There are 2 files here." },
  ],
  "And how many folders?": [{ text: "One folder." }],
  "List three colours": [{ text: "Red\nGreen\nBlue" }],
  "Tell me a story": [{ text: "A fox found a door in the wood.\nIt went in and slept." }],
  "Run the tests": [
    { tools: [{ name: "Bash", input: { command: "echo 1..2; echo ok 1; echo ok 2" } }] },
    { text: "All tests pass." },
  ],
  "Think of a number.": [{ text: "Seven." }],
  "Double it.": [{ text: "Fourteen." }],
  "Say it in French": [{ text: "Bonjour !" }],
  "Count to three": [
    { tools: [{ name: "Bash", input: { command: "seq 3" } }] },
    { text: "1, 2, 3" },
  ],
};

/** What Deno is told to run the package. */
const PACKAGE = "run -A --no-config --no-lock jsr:@claude-print/cli";

/**
 * Somebody who types what a page says, in a project of theirs: a git repository with a change, and a list of
 * prompts. `claude` is the stand-in; what would be downloaded comes from this checkout, and of clusters there are only
 * the command lines.
 */
export interface Newcomer extends AsyncDisposable {
  readonly home: ThrowawayHome;
  /** Runs lines of a shell. */
  readonly type: (
    script: string,
    env?: Readonly<Record<string, string>>,
  ) => Promise<ProgramOutput>;
}

/** Sets the scene. */
export async function newcomer(): Promise<Newcomer> {
  const home = await makeThrowawayHome();
  const bin = `${home.path}/bin`;
  await Deno.mkdir(bin);
  const scenario = { turns: [[{ text: "You said: {prompt}" }]], replies: REPLIES };
  await installMockClaude(bin, { scenario, journal: `${home.path}/journal` });
  const claudePrint = `exec ${CLAUDE_PRINT.map(shellQuote).join(" ")} "$@"\n`;
  await program(`${bin}/claude-print`, claudePrint);
  // `deno run -A ... jsr:...` is tried against a look-alike of the registry elsewhere.
  await program(
    `${bin}/deno`,
    `[ "$1 $2 $3 $4 $5" = '${PACKAGE}' ] || exit 64\nshift 5\n${claudePrint}`,
  );
  await makeRelease(`${home.path}/release`, `#!/bin/sh\n${claudePrint}`);
  await program(`${bin}/curl`, curl(`${home.path}/release`));
  const line = '{"line":1,"input":{"prompt":"hi"},"exit_code":0,"result":{}}';
  for (const name of ["kubectl", "argo"]) {
    await program(`${bin}/${name}`, `[ "$1" != logs ] || echo 'x: ${line}' | sed 's/^x: //'\n`);
  }
  await Deno.writeTextFile(`${home.project}/prompts.jsonl`, '"one"\n{"prompt":"two","id":2}\n');
  await Deno.writeTextFile(`${home.project}/changed.txt`, "before\n");
  // A server that a page has them start is their own, also where one carries out what all tests run.
  const { XDG_RUNTIME_DIR: _, ...own } = home.env;
  const env = {
    ...own,
    PATH: `${bin}:${own["PATH"]}`,
    ANTHROPIC_API_KEY: "",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_CONFIG_SYSTEM: "/dev/null",
  };
  const type: Newcomer["type"] = (script, more = {}) =>
    startProgram(["/bin/sh", "-e", "-c", script], {
      stdin: undefined,
      env: { ...env, ...more },
      cwd: home.project,
    }).ended;
  await type("git init -q && git add changed.txt && echo after > changed.txt");
  return { home, type, [Symbol.asyncDispose]: () => home[Symbol.asyncDispose]() };
}

async function program(path: string, script: string): Promise<void> {
  await Deno.writeTextFile(path, `#!/bin/sh\n${script}`, { mode: 0o755 });
}

async function makeRelease(folder: string, executable: string): Promise<void> {
  await Deno.mkdir(folder);
  await Deno.copyFile(`${ROOT}install.sh`, `${folder}/install.sh`);
  await Deno.writeTextFile(`${folder}/${ASSET}`, executable);
  await Deno.writeTextFile(`${folder}/${ASSET}.sha256`, `${await sha256(executable)}  ${ASSET}\n`);
}

/** A curl that knows one release, which is a folder. */
function curl(release: string): string {
  return `case $* in *--unix-socket*) exec ${findTool("curl") ?? "false"} "$@" ;; esac
url= out=/dev/stdout
while [ $# -gt 0 ]; do
  case $1 in
    -o | --output) out=$2; shift ;;
    http*) url=$1 ;;
  esac
  shift
done
case $url in
  ${RELEASE}*) cat "${release}/\${url#${RELEASE}}" > "$out" ;;
  *) exit 6 ;;
esac
`;
}
