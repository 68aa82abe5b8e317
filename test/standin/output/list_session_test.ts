import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { leftovers } from "../../leftovers.ts";
import { StandIn } from "../stand_in.ts";
import { runList } from "./run_list.ts";

/** A list in one session that has ended. */
function list(claude: StandIn, options: Parameters<typeof runList>[1]) {
  return runList(claude, { ...options, args: ["--one-session", ...options.args ?? []] });
}

const ECHO = [{ text: "You said {prompt}, {turn}" }];

Deno.test("--one-session makes the lines of a list the turns of one conversation", async () => {
  await using claude = await StandIn.set({ turns: [ECHO] });
  const object = { prompt: "second", id: 17 };
  const { code, stderr, lines } = await list(claude, {
    args: ["Say:"],
    stdin: `"first"\n\nno json\n${
      JSON.stringify({ prompt: "x", args: ["--model", "opus"] })
    }\n""\n${JSON.stringify(object)}\n{"id":7}`,
  });
  assertEquals(code, 2);
  assertEquals(
    lines.map(({ line, input, exit_code, result }) => [line, input, exit_code, result?.["result"]]),
    [
      [1, "first", 0, "You said Say:\nfirst, 1"],
      [3, "no json", 2, undefined],
      [4, { prompt: "x", args: ["--model", "opus"] }, 2, undefined],
      [5, "", 0, "You said Say:, 2"],
      [6, object, 0, "You said Say:\nsecond, 3"],
      [7, { id: 7 }, 2, undefined],
    ],
  );
  assertEquals(
    lines.filter(({ exit_code }) => exit_code === 2).map(({ result }) => result?.["subtype"]),
    ["bad_input", "bad_input", "bad_input"],
  );
  assertEquals(
    stderr.split("\n").filter((line) => line.startsWith("claude-print: ")),
    [
      "claude-print: line 3: Cannot read the line: it is not JSON",
      'claude-print: line 4: Cannot read the line: its "args" cannot differ from those of the lines before, with --one-session',
      "claude-print: line 7: Cannot read the line: it has no prompt",
    ],
  );
  assertEquals((await claude.journal("start")).length, 1);
  assertEquals(claude.transcripts().size, 1);
});

Deno.test("--one-session goes on in the conversation after a Claude Code that died", async () => {
  const count = 'echo >> "$HOME/prompts"; [ $(wc -l < "$HOME/prompts")';
  await using claude = await StandIn.set({
    turns: [ECHO],
    sabotage: [{ at: "prompt", run: `${count} != 2 ] || kill -9 $CLAUDE` }],
  });
  const { code, stderr, lines } = await list(claude, { stdin: '"a"\n"b"\n"c"\n' });
  assertEquals([code, lines.map(({ exit_code }) => exit_code)], [2, [0, 2, 0]]);
  assertEquals(new Set(lines.map(({ result }) => result?.["session_id"])).size, 1);
  assertStringIncludes(stderr, "claude-print: line 2: Claude Code ended before the turn did");
  const [, second] = await claude.journal("start");
  assert(second?.args.some((arg) => arg.startsWith("--resume=")));
});

Deno.test("--one-session tells all lines why there can be no conversation", async () => {
  await using claude = await StandIn.set();
  const { code, stderr, lines } = await list(claude, {
    args: ["--resume", crypto.randomUUID()],
    stdin: '"a"\n"b"\n',
  });
  assertEquals([code, lines.map(({ exit_code }) => exit_code)], [1, [1, 1]]);
  assertEquals(stderr.match(/line \d: No conversation found with session ID: /gu)?.length, 2);
});

Deno.test("--one-session ends at a signal, with the line that it struck or none", async () => {
  await using claude = await StandIn.set({ hang: "prompt" });
  const run = claude.start(["--jsonl", "--one-session"], { stdin: '"a"\n"b"\n', killed: true });
  await claude.untilNoted("prompt");
  run.kill("SIGTERM");
  const { code, stdout } = await run.ended;
  assertEquals([code, stdout.split("\n").length], [143, 2]);
  assertStringIncludes(stdout, '"subtype":"interrupted"');
  assertEquals(await leftovers(claude.home), []);
});

Deno.test("--one-session needs a list", async () => {
  await using claude = await StandIn.set();
  const { code, stderr } = await claude.print(["--one-session", "hi"], { killed: true });
  assertEquals(code, 2);
  assertStringIncludes(stderr, "--one-session needs --jsonl");
});
