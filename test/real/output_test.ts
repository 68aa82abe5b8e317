import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { forEachVersion, forNewestVersion } from "./for_each_version.ts";
import {
  blocksOf,
  factsOfResult,
  outlineOfFrames,
  parseFrames,
  parseObject,
} from "./print_mode_facts.ts";
import type { RealClaude } from "./real_claude.ts";

const JSON_FORMAT = ["--output-format", "json"];
const STREAM_FORMAT = ["--output-format", "stream-json", "--verbose"];

/** Runs `claude-print` and then `claude -p` with the same arguments. */
async function both(real: RealClaude, args: readonly string[]) {
  const ours = await real.print(["-p", ...args]);
  const theirs = await real.claudeP(args);
  // What failed is told on stderr too, where `claude -p` says nothing.
  assertEquals(ours.stderr !== "", ours.code !== 0, ours.stderr);
  return { ours, theirs };
}

/** Compares the result objects of both programs and returns ours. */
async function sameResult(real: RealClaude, args: readonly string[]) {
  const { ours, theirs } = await both(real, [...JSON_FORMAT, ...args]);
  assertEquals(ours.code, theirs.code);
  const result = parseObject(ours.stdout);
  const expected = parseObject(theirs.stdout);
  assertEquals(factsOfResult(result), {
    ...factsOfResult(expected),
    claude_version: real.version,
  });
  return result;
}

forEachVersion("text output is that of claude -p, byte for byte", async (real) => {
  const answer = "First line\\n\\n  indented \\t ⚓ ❤️ 👩‍👩‍👧‍👦 é – `code`\\nlast line  \\n";
  const { ours, theirs } = await both(real, ["--", `Answer. [[say ${answer}]]`]);
  assertEquals(ours, theirs);
  assertEquals(ours.code, 0);
  assertStringIncludes(ours.stdout, "👩‍👩‍👧‍👦");
});

forEachVersion("json output is the result object of claude -p", async (real) => {
  const result = await sameResult(real, ["--", "Think and answer. [[think hm]] [[say done]]"]);
  assertEquals(result.result, "done");
  assertEquals(result.num_turns, 1);
});

forEachVersion("stream-json output has the frames of claude -p in their order", async (real) => {
  const prompt = "Work. [[think hm]] [[say I look]] [[bash echo one]] [[say done]]";
  const { ours, theirs } = await both(real, [
    ...STREAM_FORMAT,
    ...["--allowedTools", "Bash", "--", prompt],
  ]);
  assertEquals([ours.code, theirs.code], [0, 0]);
  const [frames, expected] = [parseFrames(ours.stdout), parseFrames(theirs.stdout)];
  assertEquals(outlineOfFrames(frames), outlineOfFrames(expected));
  const [init, expectedInit] = [frames[0], expected[0]];
  for (const key of ["cwd", "model", "permissionMode", "apiKeySource", "claude_code_version"]) {
    assertEquals(init?.[key], expectedInit?.[key], key);
  }
  assertEquals(factsOfResult(frames.at(-1) ?? {}), {
    ...factsOfResult(expected.at(-1) ?? {}),
    claude_version: real.version,
  });
  const sessions = new Set(frames.map(({ session_id }) => session_id));
  assertEquals(sessions.size, 1, "all frames name one session");
});

forEachVersion("json output with --verbose is an array of all frames", async (real) => {
  const { ours, theirs } = await both(real, [...JSON_FORMAT, "--verbose", "--", "Hi [[say yes]]"]);
  const frames: unknown = JSON.parse(ours.stdout);
  const expected: unknown = JSON.parse(theirs.stdout);
  assert(Array.isArray(frames) && Array.isArray(expected));
  assertEquals(outlineOfFrames(frames), outlineOfFrames(expected));
});

forEachVersion("a tool run costs and counts what it does in claude -p", async (real) => {
  const result = await sameResult(real, [
    ...["--allowedTools", "Bash"],
    ...["--", "List. [[bash printf 'a\\nb\\n']] [[say two files]]"],
  ]);
  assertEquals(result.num_turns, 2);
  assertStringIncludes(real.api.turns[1]?.text ?? "", "a\\nb", "the model sees what the tool said");
});

forEachVersion("two parallel tools and several turns count as in claude -p", async (real) => {
  const result = await sameResult(real, [
    ...["--allowedTools", "Bash"],
    "--",
    "Work. [[bash echo one]] [[also bash echo two]] [[say next]] [[bash echo three]] [[say end]]",
  ]);
  assertEquals(result.num_turns, 4);
  assertEquals(result.result, "end");
});

forNewestVersion("a failing tool goes back to the model as in claude -p", async (real) => {
  const args = [
    "--allowedTools",
    "Bash",
    "--",
    "Try. [[bash echo oops; exit 3]] [[say it failed]]",
  ];
  const { ours, theirs } = await both(real, [...STREAM_FORMAT, ...args]);
  assertEquals(
    outlineOfFrames(parseFrames(ours.stdout)),
    outlineOfFrames(parseFrames(theirs.stdout)),
  );
  assertStringIncludes(ours.stdout, "oops");
});

forEachVersion("a tool without permission is denied and the run goes on", async (real) => {
  const args = ["--", "Touch. [[bash touch forbidden]] [[say not allowed]]"];
  const { ours, theirs } = await both(real, [...STREAM_FORMAT, ...args]);
  assertEquals([ours.code, theirs.code], [0, 0]);
  const [frames, expected] = [parseFrames(ours.stdout), parseFrames(theirs.stdout)];
  const [result, expectedResult] = [frames.at(-1), expected.at(-1)];
  const named = (frame: typeof result) => {
    const denials = frame?.permission_denials;
    assert(Array.isArray(denials));
    return denials.map(({ tool_name, tool_input }) => ({ tool_name, tool_input }));
  };
  assertEquals(named(result), named(expectedResult));
  assertEquals(named(result), [{
    tool_name: "Bash",
    tool_input: { command: "touch forbidden", description: "Run a command" },
  }]);
  assertEquals(result?.result, "not allowed");
  assertEquals(result?.num_turns, expectedResult?.num_turns);
  const toolResults = frames.flatMap(({ message }) => blocksOf(message))
    .filter(({ type }) => type === "tool_result");
  assertEquals(toolResults.map(({ is_error }) => is_error), [true]);
  assertEquals([...Deno.readDirSync(real.home.project)], [], "the tool did not run");
});

forEachVersion("every request says it comes from the interactive Claude Code", async (real) => {
  const run = await real.print(["--allowedTools", "Bash", "--", "Hi [[bash true]] [[say yes]]"]);
  assertEquals(run.code, 0);
  assertEquals(real.api.turns.length, 2);
  for (const { text, headers } of real.api.turns) {
    assertEquals(/cc_entrypoint=([\w-]+)/.exec(text)?.[1], "cli");
    assertStringIncludes(headers["user-agent"] ?? "", `claude-cli/${real.version} (external, cli)`);
  }
});
