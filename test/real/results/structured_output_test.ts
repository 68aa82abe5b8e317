import { assertEquals, assertMatch } from "@std/assert";
import type { LoggedRequest } from "../../../src/learn/api/messages_api.ts";
import type { Reply } from "../../../src/learn/api/reply_script.ts";
import { framesOn } from "../../../src/cassette/cassette.ts";
import { replayCassette } from "../../../src/cassette/replay/replay_cassette.ts";
import { readCassette } from "../../cassette/read_cassette.ts";
import { forNewestVersion } from "../for_each_version.ts";
import { factsOfResult, type JsonObject, parseFrames } from "../print_mode_facts.ts";
import type { RealClaude } from "../real_claude.ts";

const SCHEMA = {
  type: "object",
  properties: { n: { type: "integer" }, s: { type: "string", maxLength: 2 } },
  required: ["n"],
  additionalProperties: false,
};
const WITH_SCHEMA = ["--json-schema", JSON.stringify(SCHEMA)];
const STREAM_FORMAT = ["--output-format", "stream-json", "--verbose"];

/** The answers of the model by prompt: structured, or text. */
const ANSWERS: Readonly<Record<string, readonly (JsonObject | string)[]>> = {
  mended: [{ n: "x" }, { n: 2, q: 1, s: "abc" }, { n: 2 }, "never said"],
  hopeless: [{}, {}, {}, "never said"],
};

/** A model that calls the tool for structured answers. */
function reply({ prompt = "", round = 0, body }: LoggedRequest): Reply | undefined {
  const answer = ANSWERS[prompt]?.[round];
  if (answer === undefined) return undefined;
  if (typeof answer === "string") return [{ kind: "text", text: answer }];
  const { tools } = body as { readonly tools: readonly { readonly name: string }[] };
  const name = tools.map(({ name }) => name).find((name) => name.endsWith("StructuredOutput"));
  return name === undefined
    ? [{ kind: "text", text: "There is no such tool" }]
    : [{ kind: "text", text: "Look:" }, { kind: "tool", name, input: answer }];
}

/** Messages without what differs between two runs. */
function messagesIn(frames: readonly JsonObject[]): readonly unknown[] {
  return frames.filter(({ type }) => type === "assistant" || type === "user").map((frame) => {
    const { type, message, isSynthetic, tool_use_result, tool_result_meta } = frame;
    const content = JSON.stringify((message as JsonObject).content);
    return withoutIds({ type, content, isSynthetic, tool_use_result, tool_result_meta });
  });
}

function withoutIds(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value).replace(/toolu_\w+/gu, "toolu"),
    // The keys of a block have another order in every version.
    (key, value) =>
      key === "content" && typeof value === "string" && value.startsWith("[")
        ? (JSON.parse(value) as readonly JsonObject[]).map((block) =>
          Object.fromEntries(Object.entries(block).toSorted())
        )
        : value,
  );
}

/** Counts of tokens hang on the words of the reminder, and on the last answer of a turn that is given up. */
const OF_CONTEXT =
  /^(?:claude_version|usage|modelUsage|model_usage_since_last_result|total_cost_usd)$/u;

function resultsIn(frames: readonly JsonObject[]): readonly JsonObject[] {
  return frames.filter(({ type }) => type === "result").map((result) =>
    Object.fromEntries(
      Object.entries(factsOfResult(result)).filter(([key]) => !OF_CONTEXT.test(key)),
    )
  );
}

const LIMITED = { MAX_STRUCTURED_OUTPUT_RETRIES: "3" };

/** Fails unless frames are those of `claude -p`. */
function assertSame(
  [frames, expected]: readonly [readonly JsonObject[], readonly JsonObject[]],
  prompt: string,
): void {
  assertEquals(messagesIn(frames), messagesIn(expected), prompt);
  assertEquals(resultsIn(frames), resultsIn(expected), prompt);
  if (prompt === "mended") {
    const usages = [frames, expected].map((each) => each.at(-1)?.usage);
    assertEquals(usages[0], usages[1]);
  }
  const [init] = frames;
  assertEquals(init?.mcp_servers, []);
  // Only since 2.1.330 it is known which tools there are.
  const names = Array.isArray(init?.tools) ? init.tools : [];
  assertEquals(
    names.filter((name) => `${name}`.endsWith("StructuredOutput")),
    names.length === 0 ? [] : ["StructuredOutput"],
  );
}

/** Checks that all requests describe the tool alike. */
function assertToolIsSame({ api }: RealClaude): void {
  const described = api.turns.map(({ body }) => {
    const { tools } = body as { readonly tools: readonly JsonObject[] };
    const { name: _, ...tool } = tools.find(({ name }) => `${name}`.endsWith("StructuredOutput")) ??
      {};
    return JSON.stringify(Object.entries(tool).toSorted());
  });
  assertEquals(new Set(described).size, 1, "what the model is told of the tool");
}

forNewestVersion(
  "--json-schema in text prints JSON or fails",
  async (real) => {
    const env = LIMITED;
    const folderOf = (prompt: string) => `${real.home.path}/${prompt}`;
    const pairs = ["mended", "hopeless"].map(async (prompt) => {
      const args = [...WITH_SCHEMA, "--", prompt];
      const ours = await real.printHere(["--record", folderOf(prompt), ...args], { env });
      const recorded = `structured_output/text-${prompt}` as const;
      const theirs = await real.claudeP(args, { env, recorded });
      assertEquals([ours.code, ours.stdout], [theirs.code, theirs.stdout], ours.stderr);
      const told = await real.claudeP([...STREAM_FORMAT, ...args], {
        env,
        recorded: `structured_output/${prompt}`,
      });
      const { tape } = readCassette(folderOf(prompt));
      assertSame([framesOn(tape).map(({ frame }) => frame), parseFrames(told.stdout)], prompt);
      return ours;
    });
    const [mended, hopeless] = await Promise.all(pairs);
    assertToolIsSame(real);
    assertEquals(mended?.stdout, '{"n":2}\n');
    assertMatch(hopeless?.stderr ?? "", /Failed to provide valid structured output after 3/u);
    // The errors of answers are in the recording.
    for (const prompt of ["mended", "hopeless"]) {
      assertEquals(replayCassette(readCassette(folderOf(prompt))).differences, [], prompt);
    }
  },
  { api: { reply } },
);
