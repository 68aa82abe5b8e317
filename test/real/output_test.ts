import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { forEachVersion, forNewestVersion } from "./for_each_version.ts";
import {
  blocksOf,
  factsOfResult,
  type JsonObject,
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

forNewestVersion("text output is that of claude -p, byte for byte", async (real) => {
  const answer = "First line\\n\\n  indented \\t ⚓ ❤️ 👩‍👩‍👧‍👦 é – `code`\\nlast line  \\n";
  const { ours, theirs } = await both(real, ["--", `Answer. [[say ${answer}]]`]);
  assertEquals(ours, theirs);
  assertEquals(ours.code, 0);
  assertStringIncludes(ours.stdout, "👩‍👩‍👧‍👦");
});

/** Two tools at once, another one and an answer, in three requests. */
const PARALLEL = "Work. [[think hm]] [[bash echo one]] [[also bash echo two]] " +
  "[[say next]] [[bash echo three]] [[say end]]";

forEachVersion(
  "json output is the result object of claude -p, with parallel tools and as many turns as may be",
  async (real) => {
    const limits = ["--allowedTools", "Bash", "--max-turns", "3"];
    const { ours, theirs } = await both(real, [...JSON_FORMAT, ...limits, "--", PARALLEL]);
    assertEquals([ours.code, theirs.code], [0, 0]);
    const result = parseObject(ours.stdout);
    assertEquals(factsOfResult(result), {
      ...factsOfResult(parseObject(theirs.stdout)),
      claude_version: real.version,
    });
    assertEquals([result.result, result.num_turns], ["end", 4]);
  },
);

/** A tool that works, one that fails and one that has no permission. */
const TOOLS = "Work. [[think hm]] [[say I look]] [[bash printf 'a\\nb\\n']] " +
  "[[bash echo oops; exit 3]] [[bash touch forbidden]] [[say not allowed]]";

const ALLOWED = ["printf:*", "echo:*", "exit:*"].map((command) => `Bash(${command})`).join(",");

/** What a result says is denied; ids belong to the run. */
function denialsOf(frame: JsonObject | undefined): readonly JsonObject[] {
  const denials = frame?.permission_denials;
  assert(Array.isArray(denials));
  return denials.map(({ tool_name, tool_input }) => ({ tool_name, tool_input }));
}

/** What a request costs, which depends on the words of a denial before it. */
const COSTS = ["modelUsage", "model_usage_since_last_result", "total_cost_usd", "usage"];

/** What a result with denials says that does not depend on their ids and words. */
function factsOfDenial(frame: JsonObject | undefined): JsonObject {
  const facts = Object.entries(factsOfResult(frame ?? {}));
  return {
    ...Object.fromEntries(facts.map(([key, value]) => [key, COSTS.includes(key) || value])),
    permission_denials: denialsOf(frame),
  };
}

forEachVersion("stream-json output has the frames of claude -p in their order", async (real) => {
  const { ours, theirs } = await both(real, [
    ...STREAM_FORMAT,
    ...["--allowedTools", ALLOWED, "--", TOOLS],
  ]);
  assertEquals([ours.code, theirs.code], [0, 0]);
  const [frames, expected] = [parseFrames(ours.stdout), parseFrames(theirs.stdout)];
  // What the model is told of a denial is other words.
  const outline = (all: readonly JsonObject[]) =>
    outlineOfFrames(all).map((line) =>
      line.replace(/(?<=^user tool_result)\(.*(?:approval|blocked).*$/u, " of a denial")
    );
  assertEquals(outline(frames), outline(expected));
  const [init, expectedInit] = [frames[0], expected[0]];
  for (const key of ["cwd", "model", "permissionMode", "apiKeySource", "claude_code_version"]) {
    assertEquals(init?.[key], expectedInit?.[key], key);
  }
  const [result, expectedResult] = [frames.at(-1), expected.at(-1)];
  assertEquals(factsOfDenial(result), {
    ...factsOfDenial(expectedResult),
    claude_version: real.version,
  });
  assertEquals([result?.result, result?.num_turns], ["not allowed", 4]);
  assertEquals(denialsOf(result), [{
    tool_name: "Bash",
    tool_input: { command: "touch forbidden", description: "Run a command" },
  }]);
  const toolResults = frames.flatMap(({ message }) => blocksOf(message))
    .filter(({ type }) => type === "tool_result");
  assertEquals(toolResults.map(({ is_error }) => is_error === true), [false, true, true]);
  assertStringIncludes(`${toolResults[1]?.content}`, "oops");
  assertEquals([...Deno.readDirSync(real.home.project)], [], "the tool did not run");
  const sessions = new Set(frames.map(({ session_id }) => session_id));
  assertEquals(sessions.size, 1, "all frames name one session");

  const requests = real.api.turns.slice(0, 4);
  assertStringIncludes(requests[1]?.text ?? "", "a\\nb", "the model sees what the tool said");
  // Every request says that it comes from the interactive Claude Code.
  for (const { text, headers } of requests) {
    assertEquals(/cc_entrypoint=([\w-]+)/.exec(text)?.[1], "cli");
    assertStringIncludes(headers["user-agent"] ?? "", `claude-cli/${real.version} (external, cli)`);
  }
  assertEquals(real.api.turns.length, 2 * requests.length);
});

forNewestVersion("json output with --verbose is an array of all frames", async (real) => {
  const { ours, theirs } = await both(real, [...JSON_FORMAT, "--verbose", "--", "Hi [[say yes]]"]);
  const frames: unknown = JSON.parse(ours.stdout);
  const expected: unknown = JSON.parse(theirs.stdout);
  assert(Array.isArray(frames) && Array.isArray(expected));
  assertEquals(outlineOfFrames(frames), outlineOfFrames(expected));
});
