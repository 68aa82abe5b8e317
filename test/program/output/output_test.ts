import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import deno from "../../../deno.json" with { type: "json" };
import { releaseOf } from "../../../fixtures/mock/release.ts";
import { projectSlug } from "../../../src/claude/transcript/session_files.ts";
import { NOWHERE } from "../../nowhere.ts";
import { StandIn } from "../stand_in.ts";
import { JSON_FORMAT, STREAM_FORMAT } from "../../caller_lines.ts";

const HELLO = "Hello from the stand-in.";
const VERSION = "2.1.332";

type Numbers = Readonly<Record<string, unknown>>;

Deno.test("text output is the answer alone", async () => {
  await using claude = await StandIn.set();
  const run = await claude.printInProcess(["-p", "hello"]);
  assertEquals([run.code, run.stdout, run.stderr], [0, `${HELLO}\n`, ""]);
  assertEquals((await claude.journal("prompt")).map(({ text }) => text), ["hello"]);
  assertEquals(await claude.keys(), [], "no key is pressed");
  await using silent = await StandIn.set({ turns: [[{ text: "" }]] });
  assertEquals((await silent.printInProcess(["hello"])).stdout, "\n");
});

Deno.test("stream-json output has init, answer, cost and usage", async () => {
  await using claude = await StandIn.set();
  const { code, frames, result } = await claude.printInProcess([
    ...STREAM_FORMAT,
    "hello",
  ]);
  assertEquals(code, 0);
  assertEquals(frames.map(({ type, subtype }) => subtype ?? type), [
    "init",
    "assistant",
    "success",
  ]);
  assertEquals(new Set(frames.map(({ session_id }) => session_id)).size, 1);
  const [init] = frames;
  assertEquals([init?.["cwd"], init?.["permissionMode"]], [claude.home.project, "default"]);
  assertEquals(init?.["claude_code_version"], VERSION);
  const { num_turns, claude_version, stop_reason, usage, modelUsage } = result;
  assertEquals([result["result"], num_turns], [HELLO, 1]);
  assertEquals([claude_version, stop_reason], [VERSION, "end_turn"]);
  const { input_tokens, output_tokens, cache_read_input_tokens } = usage as Numbers;
  assertEquals([input_tokens, output_tokens, cache_read_input_tokens], [10, 20, 3]);
  const { prices, billedModel } = releaseOf(VERSION);
  const micro = 10 * prices.input + 20 * prices.output + 3 * prices.cacheRead +
    5 * prices.cacheWrite;
  assertEquals(Math.round(Number(result["total_cost_usd"]) * 1e6 - micro), 0);
  assertEquals(Object.keys(modelUsage as Numbers), [billedModel]);
});

Deno.test("json output is one result, or all frames with --verbose", async () => {
  await using claude = await StandIn.set();
  const verbose = await claude.printInProcess([...JSON_FORMAT, "--verbose", "hello"]);
  assertMatch(verbose.stdout, /^\[/);
  assertEquals(verbose.frames.map(({ type }) => type), ["system", "assistant", "result"]);
  const { result } = await claude.printInProcess([
    ...[...JSON_FORMAT, "--no-session-persistence", "hello"],
  ]);
  assertEquals(result["result"], HELLO);
  assertEquals(claude.transcripts().size, 1, "the second run keeps no session");
  const path = `${projectSlug(claude.home.project)}/${verbose.result["session_id"]}.jsonl`;
  const text = claude.transcripts().get(path) ?? "";
  const lines = text.trimEnd().split("\n").map((line) => JSON.parse(line));
  assertEquals(lines.filter(({ type }) => type === "user")[0].message.content, "hello");
  assertEquals(lines.at(-1).type, "cost-state");
});

Deno.test("--quiet prints no warning", async () => {
  await using claude = await StandIn.set({ turns: [[{ text: "{prompt}" }]] });
  const run = await claude.printInProcess(["one", "two"], { warns: true });
  assertEquals([run.code, run.stdout], [0, "one\n"]);
  assertStringIncludes(run.stderr, 'Warning: Only the first prompt counts, "two" is ignored');
  const quiet = await claude.printInProcess(["--quiet", "one", "two"]);
  assertEquals([quiet.stdout, quiet.stderr], ["one\n", ""]);
});

Deno.test("--version, -v and --help start no child", async () => {
  await using claude = await StandIn.set({ version: "2.1.197" });
  const long = await claude.print(["--version"]);
  assertEquals(
    [long.code, long.stdout],
    [0, `2.1.197 (Claude Code)\nclaude-print ${deno.version}\n`],
  );
  assertEquals((await claude.print(["-v"])).stdout, "2.1.197 (Claude Code)\n");
  await using other = await StandIn.set({ versionText: "2.1.197 (Something Else)" });
  assertEquals((await other.print(["--version"])).stdout, `claude-print ${deno.version}\n`);
  const foreign = await other.print(["-v"]);
  assertEquals(foreign.code, 2);
  assertStringIncludes(foreign.stderr, `Cannot use "${other.binary}": it is not Claude Code`);
  const missing = { namesBinary: false, env: { PATH: NOWHERE } };
  assertEquals(
    (await claude.print(["--version"], missing)).stdout,
    `claude-print ${deno.version}\n`,
  );
  const short = await claude.print(["-v"], missing);
  assertEquals([short.code, short.stdout], [2, ""]);
  assertMatch(short.stderr, /^claude-print: Cannot start claude: "claude" is not on PATH\n {2}\S/);
  const help = await claude.print(["--help", "--nonsense"]);
  assertEquals(help.code, 0);
  for (const word of ["Usage:", "--input-file", "124"]) assertStringIncludes(help.stdout, word);
  assertEquals(await claude.journal("start"), []);
});
