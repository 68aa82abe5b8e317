import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { type Frame, replay, run, RunError } from "../../../src/library/mod.ts";
import { leftovers } from "../../leftovers.ts";
import { StandIn } from "../stand_in.ts";
import { userFiles } from "../user_files.ts";
import { converseWithLibrary } from "./converse_with_library.ts";
import { runWithLibrary } from "./run_with_library.ts";

const kindOf = ({ type, subtype }: Frame) => type === "system" ? `${subtype}` : type;

/** Nothing of a run is left but its transcript in the user's own place. */
async function assertNothingLeft(
  claude: StandIn,
  { transcripts = 1 }: { readonly transcripts?: number } = {},
): Promise<void> {
  assertEquals(await leftovers(claude.home), []);
  assertEquals(claude.transcripts().size, transcripts);
}

Deno.test("run() yields frames, then the result", async () => {
  await using claude = await StandIn.set({
    turns: [[{ text: "One moment", tools: [{ name: "Bash", input: { command: "echo 1" } }] }, {
      text: "It said 1 to {prompt}",
    }]],
  });
  const before = userFiles(claude.home);
  const run = runWithLibrary(claude, { prompt: "hello", args: ["--allowedTools", "Bash"] });
  const frames: Frame[] = [];
  for await (const frame of run) frames.push(frame);
  assertEquals(frames.map(kindOf), [
    ...["init", "assistant", "assistant", "user", "assistant", "result"],
  ]);
  const { text, exitCode, frame, problem, screen, warnings } = await run.result;
  assertEquals([text, exitCode, problem, screen, warnings], [
    ...["It said 1 to hello", 0, undefined, undefined, []],
  ]);
  assertEquals(frame, frames.at(-1));
  assertEquals([frame.subtype, frame.num_turns], ["success", 2]);
  await assertNothingLeft(claude);
  assertEquals(userFiles(claude.home), before);
});

Deno.test("run() needs no iteration and keeps frames", async () => {
  await using claude = await StandIn.set();
  const run = runWithLibrary(claude, { prompt: "hello" });
  assertEquals((await run.result).text, "Hello from the stand-in.");
  await assertNothingLeft(claude);
  const kinds: string[] = [];
  for await (const frame of run) kinds.push(kindOf(frame));
  assertEquals(kinds, ["init", "assistant", "result"]);
  for await (const frame of run) kinds.push(kindOf(frame));
  assertEquals(kinds.length, 3, "each frame is given once");
});

Deno.test("run() takes several runs at once", async () => {
  await using claude = await StandIn.set({ turns: [[{ text: "You said {prompt}" }]] });
  const prompts = ["one", "two", "three"];
  const texts = await Promise.all(
    prompts.map(async (prompt) => (await runWithLibrary(claude, { prompt }).result).text),
  );
  assertEquals(texts, prompts.map((prompt) => `You said ${prompt}`));
  await assertNothingLeft(claude, { transcripts: 3 });
});

Deno.test("an aborted run keeps the text so far", async () => {
  await using claude = await StandIn.set({
    hang: "stream",
    turns: [[{ text: "Half an answer and its end" }]],
    sabotage: [{ at: "stream", run: "sleep 0.2" }],
  });
  const controller = new AbortController();
  const run = runWithLibrary(claude, { prompt: "hello", signal: controller.signal });
  await claude.untilNoted("sabotage");
  controller.abort();
  // A second end sends no second signal.
  await run[Symbol.asyncDispose]();
  const { text, exitCode, frame, problem } = await run.result;
  assertEquals([text, exitCode, frame.subtype], ["Half an answe", 130, "interrupted"]);
  assertEquals(problem, { message: "The run was interrupted by SIGINT" });
  assertEquals(await claude.keys(), [".\x1b"], "a person would have pressed Escape");
  assertEquals((await claude.journal("signal")).map(({ name }) => name), ["SIGTERM"]);
  await assertNothingLeft(claude);
});

Deno.test("run() starts nothing when its signal has been aborted", async () => {
  await using claude = await StandIn.set();
  const reason = new Error("not today");
  const run = runWithLibrary(claude, { prompt: "hello", signal: AbortSignal.abort(reason) });
  assertEquals(await assertRejects(() => run.result), reason);
  assertEquals(await assertRejects(() => Array.fromAsync(run)), reason);
  const controller = new AbortController();
  const other = runWithLibrary(claude, { prompt: "hello", signal: controller.signal });
  controller.abort(reason);
  assertEquals(await assertRejects(() => other.result), reason);
  assertEquals(await claude.journal("start"), []);
  await assertNothingLeft(claude, { transcripts: 0 });
});

Deno.test("leaving the loop early ends the run", async () => {
  await using claude = await StandIn.set({ hang: "answer" });
  const run = runWithLibrary(claude, { prompt: "hello" });
  for await (const frame of run) if (frame.type === "system") break;
  await assertNothingLeft(claude);
  const { exitCode, frame } = await run.result;
  assertEquals([exitCode, frame.subtype], [141, "interrupted"]);
  for await (const _ of run) assert(false, "there is nothing more to give");
  const env = { ...claude.home.env, MOCK_CLAUDE_SCENARIO: "{}" };
  const whole = runWithLibrary(claude, { prompt: "hello", env });
  for await (const frame of whole) if (frame.type === "result") break;
  assertEquals((await whole.result).exitCode, 0);
});

Deno.test("the end of its scope ends a run", async () => {
  await using claude = await StandIn.set({ hang: "prompt" });
  {
    await using _begun = runWithLibrary(claude, { prompt: "hello" });
    await claude.untilNoted("prompt");
  }
  await assertNothingLeft(claude);
  let run;
  {
    await using early = runWithLibrary(claude, { prompt: "hello" });
    run = early;
  }
  await assertRejects(() => run.result, DOMException, "The run was ended before it began");
  await assertNothingLeft(claude);
});

Deno.test("a failure is a result", async () => {
  await using claude = await StandIn.set({
    turns: [[{ failure: { error: "rate_limit", status: 429, message: "API Error: 429" } }]],
  });
  const { exitCode, frame, problem } = await runWithLibrary(claude, { prompt: "hello" }).result;
  assertEquals([exitCode, frame.is_error], [75, true]);
  assert(problem?.suggestion !== undefined);
  const late = { MOCK_CLAUDE_SCENARIO: '{"hang":"answer"}', ...claude.home.env };
  const timedOut = await runWithLibrary(claude, {
    prompt: "hello",
    args: ["--timeout", "2"],
    env: late,
  }).result;
  assertEquals([timedOut.exitCode, timedOut.frame.subtype], [124, "timeout"]);
  await assertNothingLeft(claude, { transcripts: 2 });
});

Deno.test("an unknown dialog's result shows the redacted screen", async () => {
  const key = `sk-ant-api03-${"x".repeat(20)}`;
  await using claude = await StandIn.set({
    dialogs: [{
      lines: ["Shall we?", `The key is ${key}`],
      choices: [{ label: "Yes" }, { label: "No" }],
      selected: 0,
      numbered: true,
      escape: 1,
    }],
  });
  const { exitCode, frame, problem, screen = [] } = await runWithLibrary(claude, { prompt: "hi" })
    .result;
  assertEquals([exitCode, frame.subtype], [2, "internal_error"]);
  assertMatch(problem?.message ?? "", /a dialog that claude-print does not know$/u);
  assertMatch(screen.join("\n"), /Shall we\?\n.*The key is \[redacted\]\n/u);
  await assertNothingLeft(claude, { transcripts: 0 });
});

/** What keeps a run from starting, and by what it is refused. */
const REFUSED: readonly (readonly [prompt: string, args: readonly string[], message: RegExp])[] = [
  ["", [], /^Cannot start a turn: there is no prompt$/u],
  [" \n", [], /^Cannot start a turn: the prompt is nothing but white space$/u],
  ["a\0b", [], /^Cannot send the prompt: it holds a NUL character at byte offset 1$/u],
  ["\ud83d", [], /^Cannot send the prompt: it holds half of a surrogate pair$/u],
  ["/insights", [], /^Cannot send "\/insights": /u],
  ["!ls", ["--inject", "paste"], /^Cannot paste the prompt: /u],
  ["hi", ["--modle", "opus"], /^unknown flag --modle$/u],
  ["hi", ["--timeout", "soon"], /^--timeout does not take "soon"$/u],
  ["hi", ["--tmux"], /^Cannot honour --tmux: /u],
  ["hi", ["--output-format", "text"], /^Cannot honour --output-format: /u],
  ["hi", ["--output-format=json"], /^Cannot honour --output-format: /u],
  ["hi", ["--input-format", "text"], /^Cannot honour --input-format: /u],
  ["hi", ["--input-file", "prompt"], /^Cannot honour --input-file: /u],
  ["hi", ["--jsonl"], /^Cannot honour --jsonl: /u],
  ["hi", ["--verbose"], /^Cannot honour --verbose: /u],
  ["hi", ["--show"], /^Cannot honour --show: /u],
  ["hi", ["--trace"], /^Cannot honour --trace: /u],
  ["hi", ["--quiet"], /^Cannot honour --quiet: /u],
  ["hi", ["--help"], /^Cannot start a run: "args" ask for help$/u],
  ["hi", ["-v"], /^Cannot start a run: "args" ask for version$/u],
  ["hi", ["sweep"], /^Cannot start a run: "sweep" is no flag$/u],
  ["hi", ["-p", "hello"], /^Cannot start a run: "hello" is no flag$/u],
  [
    "hi",
    ["--claude-binary", "/no/claude"],
    /^Cannot start claude: "\/no\/claude" does not exist$/u,
  ],
];

Deno.test("a run that cannot start rejects with a remedy", async () => {
  await using claude = await StandIn.set();
  for (const [prompt, args, message] of REFUSED) {
    const run = runWithLibrary(claude, { prompt, args });
    const error = await assertRejects(() => run.result, RunError);
    assertMatch(error.message, message);
    assertEquals(error.exitCode, 2);
    assert(error.suggestion !== undefined, error.message);
    assertEquals(await assertRejects(() => Array.fromAsync(run)), error);
    assertEquals(await Array.fromAsync(run), [], "it is told once");
  }
  const lost = runWithLibrary(claude, { prompt: "hi", args: ["--settings", "none.json"] });
  const error = await assertRejects(() => lost.result, RunError, "Settings file not found: ");
  assertEquals(error.exitCode, 1, "as claude -p");
  const command = run("hi", { args: ["sweep"], env: claude.home.env });
  await assertRejects(() => command.result, RunError, '"args" ask for sweep');
  const nowhere = runWithLibrary(claude, { prompt: "hi", cwd: `${claude.home.path}/gone` });
  await assertRejects(() => nowhere.result, RunError, "it does not exist");
  assertEquals(await claude.journal("start"), []);
  await assertNothingLeft(claude, { transcripts: 0 });
});

Deno.test("a run without a login does not start", async () => {
  await using claude = await StandIn.set({}, { loggedIn: false });
  await assertRejects(() => runWithLibrary(claude, { prompt: "hi" }).result, RunError, "login");
});

Deno.test("run() and converse() refuse an old Claude Code", async () => {
  await using claude = await StandIn.set({ version: "2.1.197" });
  const held = converseWithLibrary(claude).send("hi").result;
  for (const result of [runWithLibrary(claude, { prompt: "hi" }).result, held]) {
    const { exitCode } = await assertRejects(() => result, RunError, "2.1.197 is too old");
    assertEquals(exitCode, 2);
  }
});

Deno.test("an unobserved failure raises no unhandled rejection", async () => {
  await using claude = await StandIn.set();
  // A rejection that nobody handles would fail this test.
  const run = runWithLibrary(claude, { prompt: "" });
  await run[Symbol.asyncDispose]();
});

Deno.test("relative paths of a run begin at its working directory", async () => {
  await using claude = await StandIn.set();
  const { home } = claude;
  await Deno.mkdir(`${home.project}/mine.json`);
  await assertRejects(
    () => runWithLibrary(claude, { prompt: "hi", args: ["--settings", "mine.json"] }).result,
    RunError,
    `Cannot read the settings file "mine.json": it is not a regular file`,
  );
});

Deno.test("claude is found on the PATH of the run", async () => {
  await using claude = await StandIn.set();
  const { home } = claude;
  const env = { ...home.env, PATH: `${home.path}:${home.env["PATH"]}` };
  const { text } = await run("hello", { env, cwd: home.project }).result;
  assertEquals(text, "Hello from the stand-in.");
});

Deno.test("a run can be recorded, and its recording replayed", async () => {
  await using claude = await StandIn.set({ turns: [[{ text: "You said {prompt}" }]] });
  const recorded = runWithLibrary(claude, { prompt: "hello", args: ["--record", "cassette"] });
  const given = await Array.fromAsync(recorded);
  assertEquals((await recorded.result).warnings, []);
  const { frames, result, differences } = await replay(`${claude.home.project}/cassette`);
  assertEquals(frames.map(({ frame }) => frame), given);
  assertEquals([result, differences], [(await recorded.result).frame, []]);
  const again = runWithLibrary(claude, { prompt: "hello", args: ["--record", "cassette"] });
  await assertRejects(() => again.result, RunError, "Cannot record in ");
  await assertNothingLeft(claude);
});

const ECHO = { turns: [[{ text: "You said {prompt}, {turn}" }]] };

const starts = async (claude: StandIn) => (await claude.journal("start")).length;

Deno.test("a warm conversation starts Claude Code before its first message", async () => {
  await using claude = await StandIn.set(ECHO);
  const conversation = converseWithLibrary(claude, { warm: true });
  await claude.untilNoted("start");
  const { text, warnings } = await conversation.send("one").result;
  assertEquals([text, warnings], ["You said one, 1", []]);
  assertEquals((await conversation.send("two").result).text, "You said two, 2");
  assertEquals(await conversation.close(), { exitCode: 0, warnings: [] });
  assertEquals(await starts(claude), 1);
  assertEquals(await leftovers(claude.home), []);
});

Deno.test("a warm child that is outdated is replaced", async () => {
  await using claude = await StandIn.set(ECHO);
  await using conversation = converseWithLibrary(claude, { warm: true });
  await claude.untilNoted("start");
  await Deno.writeTextFile(`${claude.home.project}/CLAUDE.md`, "Use spaces.\n");
  const { text, warnings } = await conversation.send("one").result;
  assertEquals([text, warnings], ["You said one, 1", []]);
  assertEquals(await starts(claude), 2);
});

Deno.test("a warm conversation ends unused and survives its child", async () => {
  await using claude = await StandIn.set(ECHO);
  const unused = converseWithLibrary(claude, { warm: true });
  await claude.untilNoted("start");
  assertEquals(await unused.close(), { exitCode: 0, warnings: [] });
  {
    await using dropped = converseWithLibrary(claude, { warm: true });
    await claude.untilNoted("start", 2);
    await Promise.race([dropped[Symbol.asyncIterator]().next(), Promise.resolve()]);
  }
  const killed = converseWithLibrary(claude, { warm: true });
  await claude.untilNoted("start", 3);
  Deno.kill((await claude.journal("start"))[2]?.pid ?? 0, "SIGKILL");
  const { text, warnings } = await killed.send("one").result;
  assertEquals(text, "You said one, 1");
  assertStringIncludes(warnings.join(), "Claude Code is gone");
  assertEquals((await killed.close()).exitCode, 0);
  assertEquals(await starts(claude), 4);
  assertEquals(await leftovers(claude.home), []);
});
