import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { denoDir } from "../../../../fixtures/programs/deno_dir.ts";
import { readProgram } from "../../../../src/recording/cassette/program/read_program.ts";
import { CliError } from "../../../../src/cli_error.ts";
import { CLAUDE_PRINT } from "../../../claude_print.ts";
import { type ProgramOutput, startProgram } from "../../../start_program.ts";
import { tempFolder } from "../../../temp_folder.ts";
import { writeScript } from "../../../write_script.ts";
import { callerLines, CONVERSATION, userMessage } from "../../../caller_lines.ts";

const RUNS = new URL("../../../../fixtures/recordings/runs/2.1.332", import.meta.url).pathname;

/** Starts a replay in a folder of its own, with nothing in its environment. */
async function replay(
  args: readonly string[],
  { stdin, command = [...CLAUDE_PRINT, "cassette", "replay"], cwd = RUNS }: {
    readonly stdin?: string | Uint8Array<ArrayBuffer>;
    readonly command?: readonly string[];
    readonly cwd?: string;
  } = {},
) {
  const env = { DENO_DIR: await denoDir(), PATH: "/usr/bin:/bin" };
  return await startProgram([...command, ...args], { env, cwd, stdin }).ended;
}

function tapeOf(run: string): readonly Readonly<Record<string, unknown>>[] {
  return Deno.readTextFileSync(`${RUNS}/${run}/tape.jsonl`).trimEnd().split("\n").map((line) =>
    JSON.parse(line)
  );
}

const PROMPT = "Work. [[say I look]] [[bash echo one]] [[also bash echo two; exit 3]] [[say done]]";

Deno.test("a replayed prompt answers in the requested format", async () => {
  const [text, json, stream] = await Promise.all([
    replay(["tools", "--", "-p", PROMPT]),
    replay(["tools", "--", "-p", "--output-format", "json"], { stdin: PROMPT }),
    replay(["tools", "--", "-p", "--output-format=stream-json", "--verbose", PROMPT]),
  ]);
  assertEquals(text, { code: 0, stdout: "done\n", stderr: "" });
  const frames = tapeOf("tools").map(({ frame }) => frame);
  const { result, session_id: session } = JSON.parse(json.stdout);
  const last = frames.at(-1) as { readonly session_id: string };
  assertEquals([result, session, json.code], ["done", last.session_id, 0]);
  assertEquals(stream.stdout.trimEnd().split("\n").map((line) => JSON.parse(line)), frames);
});

Deno.test("a failed run fails again with message and code", async () => {
  const { code, stdout, stderr } = await replay(["api-error", "--", "-p", "Hi [[error 529]]"]);
  assertEquals(code, 75);
  assertStringIncludes(stdout, "API Error: 529 Overloaded");
  assertStringIncludes(stderr, "claude-print: The API is overloaded: 529 Overloaded");
});

Deno.test("cassette program prints an executable that is the recorded conversation", async () => {
  using temp = tempFolder();
  const folder = temp.path;
  const { stdout: script } = await replay(
    ["conversation", "--report", `${folder}/report`, "--speed", "1000"],
    { command: [...CLAUDE_PRINT, "cassette", "program"] },
  );
  const claude = `${folder}/claude`;
  await writeScript(claude, script);
  const tape = tapeOf("conversation");
  const said = tape.flatMap(({ data }) => typeof data === "string" ? [data] : []);
  const frames = tape.flatMap(({ frame }) => frame === undefined ? [] : [frame]);
  const command = [claude, ...CONVERSATION];
  const [version, same] = await Promise.all([
    replay(["-v"], { command: [claude] }),
    replay([], { command, cwd: folder, stdin: said.join("") }),
  ]);
  assertEquals(version, { code: 0, stdout: "2.1.332 (Claude Code)\n", stderr: "" });
  assertEquals([same.code, same.stderr], [0, ""]);
  assertEquals(same.stdout.trimEnd().split("\n").map((line) => JSON.parse(line)), frames);
  const reported = async () => JSON.parse(await Deno.readTextFile(`${folder}/report`));
  const tapePath = `${RUNS}/conversation/tape.jsonl`;
  assertEquals(await reported(), { tape: tapePath, divergences: [] });

  const stdin = said.with(0, said[0]?.replace("One", "Eins") ?? "").slice(0, 2).join("");
  const other = await replay([], { command, cwd: folder, stdin });
  const { divergences } = await reported();
  assertEquals([other.code, divergences.length], [1, 2]);
  assertStringIncludes(divergences[0], "Message 1: the tape has ");
  assertEquals(
    other.stderr,
    `claude-print: The caller does not do what ${tapePath} says, 2 differences:\n` +
      divergences.map((each: string) => `  ${each}\n`).join(""),
  );
});

Deno.test("a stopped replay reports its differences", async () => {
  using temp = tempFolder();
  const folder = temp.path;
  const report = `${folder}/report`;
  const child = new Deno.Command(CLAUDE_PRINT[0] ?? "", {
    args: [
      ...CLAUDE_PRINT.slice(1),
      ...["cassette", "replay", "conversation", "--report", report, "--", ...CONVERSATION],
    ],
    cwd: RUNS,
    clearEnv: true,
    env: { DENO_DIR: await denoDir(), PATH: "/usr/bin:/bin" },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const stdin = child.stdin.getWriter();
  await stdin.write(new TextEncoder().encode(callerLines([userMessage("Eins")])));
  const stdout = child.stdout.getReader();
  // Once it speaks, it has taken the line, and waits for the next one.
  await stdout.read();
  child.kill("SIGTERM");
  const [{ code }, stderr] = await Promise.all([child.status, new Response(child.stderr).text()]);
  await Promise.allSettled([stdout.cancel(), stdin.close()]);
  const { divergences } = JSON.parse(await Deno.readTextFile(report));
  assertEquals([code, divergences.length], [1, 1]);
  assertStringIncludes(stderr, "one difference:\n  Message 1: ");
});

Deno.test("an unplayable tape is refused before any output", async () => {
  using temp = tempFolder();
  const folder = temp.path;
  const files = {
    "unknown.jsonl": '{"dir":"write","data":"{\\"type\\":\\"wish\\"}"}\n',
    "cut.jsonl": '{"dir":"read","frame":{"type":"res',
    "future/meta.json": '{"format":99}',
    "future/tape.jsonl": "",
    "deep.jsonl": "[".repeat(100_000),
    "exit.jsonl": '{"dir":"write","data":"","exit":{"code":-1}}\n',
    "empty/child.cast": "",
    "hostile.jsonl":
      '{"type":"result","subtype":"success","result":{"toString":1},"__proto__":{}}\n',
  };
  for (const name of ["future", "empty", "fifo"]) await Deno.mkdir(`${folder}/${name}`);
  for (const [name, text] of Object.entries(files)) {
    await Deno.writeTextFile(`${folder}/${name}`, text);
  }
  const made = await new Deno.Command("mkfifo", { args: [`${folder}/fifo/tape.jsonl`] }).output();
  assertEquals(made.code, 0);
  const unread = {
    "future": "is of format 99",
    "deep.jsonl": "it is nested too deeply",
    "exit.jsonl": "it is neither a frame nor a line of the caller",
    "empty": "tape.jsonl: it does not exist",
    "nothing": "it does not exist",
    "fifo": "Cannot read ",
  };
  for (const [name, message] of Object.entries(unread)) {
    assertThrows(() => readProgram(`${folder}/${name}`), CliError, message);
  }
  const rows = {
    "unknown.jsonl": 'entry 1 is a line of type "wish", which cannot be replayed',
    "cut.jsonl": "Cannot read line 1 of",
    "hostile.jsonl": "Cannot print the frame result of the tape: it is damaged",
  };
  await Promise.all(
    Object.entries(rows).map(async ([name, message]) => {
      const { code, stdout, stderr } = await replay([`${folder}/${name}`, "--", "-p", "Hi"]);
      assertEquals([code, stdout], [2, ""], name);
      assertStringIncludes(stderr, message);
    }),
  );
});

/** What `cassette` says in a folder, in which it is somebody's. */
async function cassette(cwd: string, ...args: readonly string[]): Promise<ProgramOutput> {
  const env = {
    PATH: "/usr/bin:/bin",
    DENO_DIR: await denoDir(),
    HOME: "/elsewhere/alice",
    USER: "alice",
    SERVICE_TOKEN: "open-sesame-1",
  };
  return await startProgram([...CLAUDE_PRINT, "cassette", ...args], { env, cwd }).ended;
}

Deno.test("several tapes are linted and scrubbed at once", async () => {
  using temp = tempFolder();
  const folder = temp.path;
  const line = (text: string) => `${JSON.stringify({ type: "assistant", text })}\n`;
  Deno.writeTextFileSync(`${folder}/a.jsonl`, line("alice at /elsewhere/alice/x of Acme"));
  Deno.writeTextFileSync(`${folder}/b.jsonl`, line("it is open-sesame-1"));
  assertEquals(await cassette(folder, "lint", "a.jsonl", "b.jsonl"), {
    code: 1,
    stdout: [
      "ok    a.jsonl replays as the program",
      "wrong b.jsonl replays as the program",
      "      A secret is left in line 1 of b.jsonl",
      "2 checked, 1 wrong",
      "",
    ].join("\n"),
    stderr: "",
  });
  assertEquals(await cassette(folder, "scrub", ".", "--name", "Acme"), {
    code: 0,
    stdout: "./a.jsonl: changed 1 line of a.jsonl\n./b.jsonl: changed 1 line of b.jsonl\n",
    stderr: "",
  });
  assertEquals(
    ["a", "b"].map((name) => Deno.readTextFileSync(`${folder}/${name}.jsonl`)),
    [line("xxxxx at /xxxxxxxxx/xxxxx/x of xxxx"), line("it is [redacted]")],
  );
  assertEquals((await cassette(folder, "lint", ".")).code, 0);
  Deno.mkdirSync(`${folder}/hostile`);
  Deno.writeTextFileSync(`${folder}/hostile/\u001b[2J.jsonl`, line("x"));
  assertEquals(
    (await cassette(folder, "scrub", "hostile")).stdout,
    "hostile/<U+001B>[2J.jsonl: nothing to take out\n",
  );
  Deno.mkdirSync(`${folder}/empty`);
  const { code, stderr } = await cassette(folder, "lint", "empty");
  assertEquals(code, 1);
  assertStringIncludes(stderr, "Cannot check empty: there is no cassette, and no tape\n  Name ");
  Deno.mkdirSync(`${folder}/nested/one`, { recursive: true });
  Deno.writeTextFileSync(`${folder}/nested/one/input.jsonl`, line("x"));
  const mistyped = await cassette(folder, "scrub", "nested", "--input-name", "inptu.jsonl");
  assertEquals(mistyped.code, 2);
  assertStringIncludes(mistyped.stderr, "nor a folder with inptu.jsonl");
});
