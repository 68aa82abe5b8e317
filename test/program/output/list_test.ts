import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { leftovers } from "../../leftovers.ts";
import { StandIn, type StartOptions } from "../stand_in.ts";
import { killAtPrompt } from "../library/kill_at_prompt.ts";

/** One line of a list's output, in part. */
interface Line {
  readonly line: number;
  readonly input: unknown;
  readonly exit_code: number;
  readonly result: Readonly<Record<string, unknown>> | null;
}

/** Runs a list to its end, which leaves nothing. */
async function runList(
  claude: StandIn,
  { args = [], ...options }: StartOptions & { readonly args?: readonly string[] },
) {
  const { code, stdout, stderr } = await claude.print(["--jsonl", ...args], {
    ...options,
    // The output of a list is not that of a single run.
    killed: true,
  });
  assertEquals(await leftovers(claude.home), []);
  assertMatch(stdout, /^(?:\{.*\}\n)*$/u);
  const lines = stdout.split("\n").filter((line) => line !== "")
    .map((line): Line => JSON.parse(line));
  const problems = stderr.split("\n").filter((line) => line.startsWith("claude-print: "))
    .map((line) => line.slice("claude-print: ".length));
  return { code, stderr, lines, problems };
}

const ECHO = [{ text: "You said {prompt}, {turn}" }];

/** Line number, input, exit code and answer of each line. */
const answers = (lines: readonly Line[]) =>
  lines.map(({ line, input, exit_code, result }) => [line, input, exit_code, result?.["result"]]);

Deno.test("--jsonl makes a run of each line, in order", async () => {
  await using claude = await StandIn.set({ turns: [ECHO] });
  const object = { prompt: "b", id: 17, args: ["--model", "haiku"] };
  const path = `${claude.home.project}/list.jsonl`;
  await Deno.writeTextFile(path, `"a"\n\n${JSON.stringify(object)}\n"no line feed at the end"`);
  const args = ["--model", "opus", "--input-file", path, "Say:"];
  const { code, stderr, lines } = await runList(claude, { args });
  await Deno.remove(path);
  assertEquals([code, stderr], [0, ""]);
  assertEquals(answers(lines), [
    [1, "a", 0, "You said Say:\na, 1"],
    [3, object, 0, "You said Say:\nb, 1"],
    [4, "no line feed at the end", 0, "You said Say:\nno line feed at the end, 1"],
  ]);
  assertEquals(new Set(lines.map(({ result }) => result?.["session_id"])).size, 3);
  const models = (await claude.journal("start"))
    .map(({ args }) => args.filter((each) => each.startsWith("--model")));
  assertEquals(models, [["--model=opus"], ["--model=haiku"], ["--model=opus"]]);
});

Deno.test("--jsonl reports a bad line and goes on", async () => {
  await using claude = await StandIn.set();
  const { code, problems, lines } = await runList(claude, {
    stdin:
      'not json\n{"prompt":""}\n"fine"\n{"prompt":"x","args":["--help"]}\n{"id":7,"prompt":1}\n',
  });
  assertEquals(code, 2);
  assertEquals(lines.map(({ input, exit_code }) => [input, exit_code]), [
    ["not json", 2],
    [{ prompt: "" }, 2],
    ["fine", 0],
    [{ prompt: "x", args: ["--help"] }, 2],
    [{ id: 7, prompt: 1 }, 2],
  ]);
  assertEquals(
    lines.map(({ result }) => result?.["subtype"]),
    ["bad_input", "bad_input", "success", "bad_input", "bad_input"],
  );
  assertEquals(problems, [
    "line 1: Cannot read the line: it is not JSON",
    "line 2: Cannot start a turn: there is no prompt",
    'line 4: Cannot read the line: its "args" ask for help',
    "line 5: Cannot read the line: it has no prompt",
  ]);
});

Deno.test("--jsonl ends with the code of its worst line", async () => {
  const failure = { error: "overloaded_error", status: 529, message: "API Error: 529 no" };
  await using claude = await StandIn.set({ turns: [[{ failure }]] });
  const { code, lines } = await runList(claude, { stdin: '"hello"\n' });
  assertEquals([code, lines[0]?.exit_code], [75, 75]);
  assertEquals(lines[0]?.result?.["api_error_status"], 529);
  assertEquals((await runList(claude, { stdin: '"a"\nno json\n' })).code, 2);
});

Deno.test("a signal ends a list with the line it interrupts", async () => {
  for (const args of [[], ["--one-session"]]) {
    await using claude = await StandIn.set({ hang: "prompt" });
    const run = claude.start(["--jsonl", ...args], { stdin: '"a"\n"b"\n', killed: true });
    await claude.untilNoted("prompt");
    run.kill("SIGTERM");
    const { code, stdout } = await run.ended;
    assertEquals([code, stdout.split("\n").length], [143, 2]);
    assertStringIncludes(stdout, '"subtype":"interrupted"');
    assertEquals((await claude.journal("start")).length, 1);
    assertEquals(await leftovers(claude.home), []);
  }
});

Deno.test("--jsonl refuses a list that cannot be read", async () => {
  await using claude = await StandIn.set();
  const cases = [
    [{ stdin: new Uint8Array([0xff, 0x0a]) }, "Cannot read the list of prompts: it is not UTF-8"],
    [
      { args: ["--input-file", "gone.jsonl"] },
      'Cannot read --input-file "gone.jsonl": there is no such file',
    ],
    [{ args: ["--input-file", "/dev/zero"] }, "Cannot read the list of prompts: one of its lines"],
  ] as const;
  for (const [options, problem] of cases) {
    const { code, stderr } = await runList(claude, options);
    assertEquals(code, 2);
    assertStringIncludes(stderr, `claude-print: ${problem}`);
  }
});

Deno.test("--one-session makes the lines turns of one conversation", async () => {
  await using claude = await StandIn.set({ turns: [ECHO] });
  const object = { prompt: "second", id: 17 };
  const differing = { prompt: "x", args: ["--model", "opus"] };
  const { code, problems, lines } = await runList(claude, {
    args: ["--one-session", "Say:"],
    stdin: `"first"\n\nno json\n${JSON.stringify(differing)}\n""\n${JSON.stringify(object)}`,
  });
  assertEquals(code, 2);
  assertEquals(answers(lines), [
    [1, "first", 0, "You said Say:\nfirst, 1"],
    [3, "no json", 2, undefined],
    [4, differing, 2, undefined],
    [5, "", 0, "You said Say:, 2"],
    [6, object, 0, "You said Say:\nsecond, 3"],
  ]);
  assertEquals(problems, [
    "line 3: Cannot read the line: it is not JSON",
    'line 4: Cannot read the line: its "args" cannot differ from those of the lines before, with --one-session',
  ]);
  assertEquals((await claude.journal("start")).length, 1);
  assertEquals(claude.transcripts().size, 1);
});

Deno.test("--one-session goes on after a child that died", async () => {
  await using claude = await StandIn.set({ turns: [ECHO], sabotage: killAtPrompt(2) });
  const args = ["--one-session"];
  const { code, stderr, lines } = await runList(claude, { args, stdin: '"a"\n"b"\n"c"\n' });
  assertEquals([code, lines.map(({ exit_code }) => exit_code)], [2, [0, 2, 0]]);
  assertEquals(new Set(lines.map(({ result }) => result?.["session_id"])).size, 1);
  assertStringIncludes(stderr, "claude-print: line 2: Claude Code ended before the turn did");
  const [, second] = await claude.journal("start");
  assert(second?.args.some((arg) => arg.startsWith("--resume=")));
});

Deno.test("--one-session reports for each line that nothing can start", async () => {
  await using claude = await StandIn.set();
  const args = ["--one-session", "--resume", crypto.randomUUID()];
  const { code, stderr, lines } = await runList(claude, { args, stdin: '"a"\n"b"\n' });
  assertEquals([code, lines.map(({ exit_code }) => exit_code)], [1, [1, 1]]);
  assertEquals(stderr.match(/line \d: No conversation found with session ID: /gu)?.length, 2);
});
