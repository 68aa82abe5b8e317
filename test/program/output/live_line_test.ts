import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { renderScreen } from "../../../src/conversation/terminal/headless_terminal.ts";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { PtyChild } from "../ffi/pty_child.ts";
import { leftovers } from "../../leftovers.ts";
import { StandIn } from "../stand_in.ts";

const SIZE = { rows: 24, cols: 80 };

/** A tool that runs until the test lets it end. */
const WAIT = "until [ -e go ]; do sleep 0.02; done";
const TURNS = [[
  { text: "I look.", tools: [{ name: "Bash", input: { command: WAIT } }] },
  { text: "Done." },
]];

/** Starts `claude-print` in a terminal. */
function startInTerminal(
  claude: StandIn,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): PtyChild {
  const [program = "", ...rest] = CLAUDE_PRINT;
  return new PtyChild(program, {
    args: [...rest, "--claude-binary", claude.binary, ...args],
    env: { ...claude.home.env, ...env },
    cwd: claude.home.project,
    size: SIZE,
  });
}

async function letGo(claude: StandIn): Promise<void> {
  await Deno.writeTextFile(`${claude.home.project}/go`, "");
}

/** The rows that are not empty once a terminal has shown all of an output. */
async function rowsOf(bytes: Uint8Array): Promise<readonly string[]> {
  return (await renderScreen([bytes], SIZE)).lines.filter((line) => line !== "");
}

/** The line that ends a run at a terminal. */
const CLOSING =
  /^claude-print: [\d.]+ s, \$0\.\d{4}, \d turns?; continue with --resume [\da-f-]{36}$/u;

/** Asserts that the rows are these, and the closing line, which is longer than a row. */
function assertClosed(rows: readonly string[], expected: readonly string[]): void {
  assertEquals(rows.slice(0, expected.length), expected);
  assertMatch(rows.slice(expected.length).join(""), CLOSING);
}

Deno.test("the live line shows the tool, then answer and closing line remain", async () => {
  await using claude = await StandIn.set({ turns: TURNS });
  await using run = startInTerminal(claude, ["hello"]);
  const meanwhile = await run.readUntil("Bash until");
  const [row] = await rowsOf(encode(meanwhile));
  assertMatch(
    row ?? "",
    /^working · Bash until \[ -e go \]; do sleep 0\.02; done · \d+ s( · .+)?$/,
  );
  assertStringIncludes(meanwhile, "\x1b[2mworking");
  await letGo(claude);
  const { status, bytes } = await run.end();
  assertEquals(status, { kind: "exited", code: 0 });
  assertClosed(await rowsOf(bytes), ["Done."]);
  assertEquals(await leftovers(claude.home), []);
});

Deno.test("Ctrl-C leaves the answer so far and the reason", async () => {
  for (const [args, shown] of [[[], "Bash until"], [["--show"], "Bash("]] as const) {
    await using claude = await StandIn.set({ turns: TURNS });
    await using run = startInTerminal(claude, [...args, "hello"]);
    await run.readUntil(shown);
    run.press("\x03");
    const { status, bytes } = await run.end();
    assertEquals(status, { kind: "exited", code: 130 });
    assertClosed(await rowsOf(bytes), [
      "I look.",
      "claude-print: The run was interrupted by SIGINT",
    ]);
    assertEquals(await touched(bytes), await touched(encode("")));
  }
});

Deno.test("--show mirrors the screen and restores the terminal", async () => {
  await using claude = await StandIn.set({ turns: TURNS });
  await using run = startInTerminal(claude, ["--show", "hello"]);
  const meanwhile = await run.readUntil("Bash(");
  assertStringIncludes((await rowsOf(encode(meanwhile))).join("\n"), "hello");
  run.press("typed\r");
  await letGo(claude);
  const { status, bytes, text } = await run.end();
  assertEquals(status, { kind: "exited", code: 0 });
  assertClosed(await rowsOf(bytes), ["Done."]);
  assert(!text.includes("typed"), text);
  assertEquals(await touched(bytes), await touched(encode("")));
  assertEquals(await claude.keys(), []);
  assertEquals((await claude.journal("start")).map(({ size }) => size), [
    { rows: SIZE.rows, columns: SIZE.cols },
  ]);
  assertEquals(await leftovers(claude.home), []);
});

Deno.test("with --stream-text the live line waits for the first text", async () => {
  const [[call] = []] = TURNS;
  await using claude = await StandIn.set({ turns: [[call ?? {}, { text: "One\ntwo\nthree" }]] });
  await using run = startInTerminal(claude, ["--stream-text", "hello"]);
  await run.readUntil("Bash until");
  await letGo(claude);
  assertClosed(await rowsOf((await run.end()).bytes), ["One", "two", "three"]);
});

Deno.test("--progress prints a line for each call", async () => {
  await using claude = await StandIn.set({ turns: TURNS });
  await letGo(claude);
  await using run = startInTerminal(claude, ["--progress", "hello"]);
  const [call, ...rows] = await rowsOf((await run.end()).bytes);
  assertMatch(call ?? "", /^\[\d+ s\] Bash until /u);
  assertClosed(rows, ["Done."]);
});

Deno.test("a terminal is told of denied calls, a script is not", async () => {
  const tools = [{ name: "Write", input: { file_path: "a.txt" }, asks: true }];
  await using claude = await StandIn.set({ turns: [[{ tools }, { text: "Denied." }]] });
  await using run = startInTerminal(claude, ["hello"]);
  assertClosed(await rowsOf((await run.end()).bytes), [
    "Denied.",
    "claude-print: 1 tool call was denied",
    "  Write a.txt",
    "  To allow them: --allowedTools=Write (deny rules and hooks still count)",
  ]);
  assertEquals((await claude.print(["hello"])).stderr, "");
});

Deno.test("a note begins on a new line of the terminal", async () => {
  await using claude = await StandIn.set({ turns: TURNS });
  await letGo(claude);
  await using run = startInTerminal(claude, ["--quiet", "--max-turns", "1", "hello"]);
  assertEquals((await rowsOf((await run.end()).bytes)).slice(0, 2), [
    "Error: Reached max turns (1)",
    "claude-print: The turn was stopped at its limit: 1 request to the model",
  ]);
});

Deno.test("a list at a terminal shows its line and a summary", async () => {
  for (const flags of [[], ["--one-session"]]) {
    await using claude = await StandIn.set({ turns: TURNS });
    await Deno.writeTextFile(`${claude.home.project}/list`, '"hello"\n\nno json\n');
    await using run = startInTerminal(claude, ["--jsonl", ...flags, "--input-file", "list"]);
    await run.readUntil("line 1 of 3 · working · Bash until");
    await letGo(claude);
    const text = (await rowsOf((await run.end()).bytes)).join("\n");
    assertMatch(
      text,
      /claude-print: 2 lines, [\d.]+ s, \$0\.\d{4}; failed \(exit code\): line 3 \(2\)$/u,
    );
  }
});

Deno.test("--show without a terminal is refused", async () => {
  await using claude = await StandIn.set();
  const { code, stderr } = await claude.print(["--show", "hello"]);
  assertEquals(code, 2);
  assertEquals(
    stderr,
    "claude-print: Cannot show Claude Code's screen: stderr is not a terminal\n" +
      "  Leave out --show, or run claude-print in a terminal\n",
  );
  assertEquals(await claude.journal("start"), []);
});

/** Replies, titles, bells and modes that an output leaves in a terminal. */
async function touched(bytes: Uint8Array): Promise<unknown> {
  const { default: { Terminal } } = await import("@xterm/headless");
  const terminal = new Terminal({ ...SIZE, allowProposedApi: true });
  const said: string[] = [];
  terminal.onData((data) => said.push(data));
  terminal.onTitleChange((title) => said.push(title));
  terminal.onBell(() => said.push("bell"));
  terminal.write(bytes);
  await new Promise<void>((done) => terminal.write("", done));
  const { modes, buffer } = terminal;
  const state = { said, modes: { ...modes }, screen: buffer.active.type };
  terminal.dispose();
  return state;
}

function encode(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}
