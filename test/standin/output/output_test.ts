import { assertEquals, assertMatch } from "@std/assert";
import { releaseOf } from "../../../fixtures/mock/release.ts";
import { projectSlug } from "../../../src/transcript/files/project_slug.ts";
import { STAND_IN_VERSIONS } from "../stand_in_versions.ts";
import { StandIn } from "../stand_in.ts";

const HELLO = "Hello from the stand-in.";
const JSON_FORMAT = ["--output-format", "json"];
const STREAM_FORMAT = ["--output-format", "stream-json", "--verbose"];

for (const version of STAND_IN_VERSIONS) {
  Deno.test(`${version}: text output is the answer and nothing else`, async () => {
    await using claude = await StandIn.set({ version });
    const run = await claude.printHere(["-p", "hello"]);
    assertEquals([run.code, run.stdout, run.stderr], [0, `${HELLO}\n`, ""]);
    assertEquals((await claude.journal("prompt")).map(({ text }) => text), ["hello"]);
    assertEquals(await claude.keys(), [], "no key is pressed");
  });

  Deno.test(`${version}: stream-json output has init, the answer and the result with cost and usage`, async () => {
    await using claude = await StandIn.set({ version });
    const { code, frames, result } = await claude.printHere([...STREAM_FORMAT, "hello"]);
    assertEquals(code, 0);
    assertEquals(frames.map(({ type, subtype }) => subtype ?? type), [
      "init",
      "assistant",
      "success",
    ]);
    assertEquals(new Set(frames.map(({ session_id }) => session_id)).size, 1);
    const [init] = frames;
    assertEquals([init?.["cwd"], init?.["permissionMode"]], [claude.home.project, "default"]);
    assertEquals(init?.["claude_code_version"], version);
    const { num_turns, claude_version, stop_reason, usage, modelUsage } = result;
    assertEquals([result["result"], num_turns], [HELLO, 1]);
    assertEquals([claude_version, stop_reason], [version, "end_turn"]);
    const { input_tokens, output_tokens, cache_read_input_tokens } = usage as Numbers;
    assertEquals([input_tokens, output_tokens, cache_read_input_tokens], [10, 20, 3]);
    const { prices, billedModel } = releaseOf(version);
    const micro = 10 * prices.input + 20 * prices.output + 3 * prices.cacheRead +
      5 * prices.cacheWrite;
    assertEquals(Math.round(Number(result["total_cost_usd"]) * 1e6 - micro), 0);
    assertEquals(Object.keys(modelUsage as Numbers), [billedModel]);
  });
}

type Numbers = Readonly<Record<string, unknown>>;

Deno.test("json output with --verbose is an array of all frames", async () => {
  await using claude = await StandIn.set();
  const { code, stdout, frames } = await claude.printHere([...JSON_FORMAT, "--verbose", "hello"]);
  assertEquals(code, 0);
  assertMatch(stdout, /^\[/);
  assertEquals(frames.map(({ type }) => type), ["system", "assistant", "result"]);
});

Deno.test("json output is one result, and the transcript becomes the user's, from its prompt to its cost", async () => {
  await using claude = await StandIn.set();
  const { result } = await claude.printHere([...JSON_FORMAT, "hello"]);
  const path = `${projectSlug(claude.home.project)}/${result["session_id"]}.jsonl`;
  const transcripts = claude.transcripts();
  assertEquals([...transcripts.keys()], [path]);
  const lines = (transcripts.get(path) ?? "").trimEnd().split("\n").map((line) => JSON.parse(line));
  assertEquals(lines.filter(({ type }) => type === "user")[0].message.content, "hello");
  assertEquals(lines.at(-1).type, "cost-state");
});

Deno.test("--no-session-persistence leaves the user no transcript", async () => {
  await using claude = await StandIn.set();
  const { code } = await claude.printHere(["--no-session-persistence", "hello"]);
  assertEquals(code, 0);
  assertEquals(claude.transcripts().size, 0);
});

Deno.test("--session-id names the session, and --resume goes on with it in its transcript", async () => {
  await using claude = await StandIn.set({ turns: [[{ text: "Got: {prompt}" }]] });
  const id = "123e4567-e89b-42d3-a456-426614174000";
  const first = await claude.printHere([...JSON_FORMAT, "--session-id", id, "one"]);
  const second = await claude.printHere([...JSON_FORMAT, "--resume", id, "two"]);
  assertEquals([first, second].map(({ result }) => result["session_id"]), [id, id]);
  assertEquals(second.result["result"], "Got: two");
  assertEquals(second.result["num_turns"], 1);
  const [[path, text] = ["", ""], ...others] = claude.transcripts();
  assertEquals(others, []);
  assertEquals(path, `${projectSlug(claude.home.project)}/${id}.jsonl`);
  const prompts = text.trimEnd().split("\n").map((line) => JSON.parse(line))
    .filter(({ type }) => type === "user").map(({ message }) => message.content);
  assertEquals(prompts, ["one", "two"]);
});

Deno.test("two runs at once in one folder both give their own answer", async () => {
  await using claude = await StandIn.set({ turns: [[{ text: "Got: {prompt}", ms: 100 }]] });
  const runs = ["one", "two"].map((prompt) => claude.start([...JSON_FORMAT, prompt]).ended);
  const [one, two] = await Promise.all(runs);
  assertEquals([one?.code, two?.code], [0, 0]);
  assertEquals([one?.result["result"], two?.result["result"]], ["Got: one", "Got: two"]);
  assertEquals(claude.transcripts().size, 2);
});

Deno.test("an answer without text prints an empty line", async () => {
  await using claude = await StandIn.set({ turns: [[{ text: "" }]] });
  const run = await claude.printHere(["hello"]);
  assertEquals([run.code, run.stdout], [0, "\n"]);
});
