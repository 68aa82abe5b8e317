import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Failure } from "../../../fixtures/mock/scenario.ts";
import { leftovers } from "../../leftovers.ts";
import { StandIn } from "../stand_in.ts";
import { runList } from "./run_list.ts";

const ECHO = [{ text: "You said: {prompt}" }];

Deno.test("--jsonl makes a run of each line and a line of each run, in order", async () => {
  await using claude = await StandIn.set({ turns: [ECHO] });
  const object = { prompt: "second", id: 17 };
  const { code, stderr, lines } = await runList(claude, {
    stdin: `"first"\n\n${JSON.stringify(object)}\n"third, without a new line at its end"`,
  });
  assertEquals([code, stderr], [0, ""]);
  assertEquals(
    lines.map(({ line, input, exit_code, result }) => [line, input, exit_code, result?.["result"]]),
    [
      [1, "first", 0, "You said: first"],
      [3, object, 0, "You said: second"],
      [
        4,
        "third, without a new line at its end",
        0,
        "You said: third, without a new line at its end",
      ],
    ],
  );
  const sessions = new Set(lines.map(({ result }) => result?.["session_id"]));
  assertEquals(sessions.size, 3, "a session each");
});

Deno.test("--jsonl puts the prompt argument before each line's prompt", async () => {
  await using claude = await StandIn.set({ turns: [ECHO] });
  await runList(claude, { args: ["Sum up:"], stdin: '"a"\n"b"\n' });
  const prompts = (await claude.journal("prompt")).map(({ text }) => text);
  assertEquals(prompts, ["Sum up:\na", "Sum up:\nb"]);
});

Deno.test("--jsonl reads the list from a file, and a line's flags go to its run alone", async () => {
  await using claude = await StandIn.set();
  const path = `${claude.home.project}/list.jsonl`;
  await Deno.writeTextFile(path, '{"prompt":"a","args":["--model","haiku"]}\n"b"\n');
  const { code } = await runList(claude, {
    args: ["--model", "opus", "--input-file", path],
  });
  await Deno.remove(path);
  assertEquals(code, 0);
  const models = (await claude.journal("start"))
    .map(({ args }) => args.filter((each) => each.startsWith("--model")));
  assertEquals(models, [["--model=haiku"], ["--model=opus"]]);
});

Deno.test("--jsonl says of a line that is no prompt what is wrong with it, and goes on", async () => {
  await using claude = await StandIn.set();
  const { code, stderr, lines } = await runList(claude, {
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
  assertEquals(
    stderr.split("\n").filter((line) => line.startsWith("claude-print: ")),
    [
      "claude-print: line 1: Cannot read the line: it is not JSON",
      "claude-print: line 2: Cannot start a turn: there is no prompt",
      'claude-print: line 4: Cannot read the line: its "args" ask for help',
      "claude-print: line 5: Cannot read the line: it has no prompt",
    ],
  );
});

const failure = (status: number, error: string): Failure => ({
  failure: { error, status, message: `API Error: ${status} no` },
});

for (
  const [status, error, exitCode] of [
    [429, "rate_limit", 75],
    [529, "overloaded_error", 75],
    [400, "invalid_request", 1],
  ] as const
) {
  Deno.test(`--jsonl ends with ${exitCode} when the API answers ${status}`, async () => {
    await using claude = await StandIn.set({ turns: [[failure(status, error)]] });
    const { code, lines } = await runList(claude, { stdin: '"hello"\n' });
    assertEquals([code, lines[0]?.exit_code], [exitCode, exitCode]);
    assertEquals(lines[0]?.result?.["api_error_status"], status);
  });
}

Deno.test("--jsonl: what trying again does not cure hides what it does", async () => {
  await using claude = await StandIn.set({ turns: [[failure(429, "rate_limit")]] });
  assertEquals((await runList(claude, { stdin: '"a"\nno json\n' })).code, 2);
});

Deno.test("--jsonl ends at a signal, with the line of the run that it struck", async () => {
  await using claude = await StandIn.set({ hang: "prompt" });
  const run = claude.start(["--jsonl"], { stdin: '"a"\n"b"\n', killed: true });
  await claude.untilNoted("prompt");
  run.kill("SIGTERM");
  const { code, stdout } = await run.ended;
  assertEquals(code, 143);
  assertEquals(stdout.split("\n").length, 2, "one line");
  assertStringIncludes(stdout, '"subtype":"interrupted"');
  assertEquals((await claude.journal("start")).length, 1);
  assertEquals(await leftovers(claude.home), []);
});

Deno.test("--jsonl refuses a list that is no text, not there, or has no end", async () => {
  await using claude = await StandIn.set();
  const { code, stderr } = await runList(claude, { stdin: new Uint8Array([0xff, 0x0a]) });
  assertEquals(code, 2);
  assertMatch(stderr, /^claude-print: Cannot read the list of prompts: it is not UTF-8\n/u);
  const gone = await runList(claude, { args: ["--input-file", "gone.jsonl"] });
  assertEquals(gone.code, 2);
  assertStringIncludes(gone.stderr, 'Cannot read --input-file "gone.jsonl": there is no such file');
  const endless = await runList(claude, { args: ["--input-file", "/dev/zero"] });
  assertEquals(endless.code, 2);
  assertStringIncludes(endless.stderr, "Cannot read the list of prompts: one of its lines has no");
});
