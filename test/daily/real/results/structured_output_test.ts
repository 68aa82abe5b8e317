import { assertEquals, assertMatch } from "@std/assert";
import { framesOn } from "../../../../src/recording/cassette/cassette_format.ts";
import { replayCassette } from "../../../../src/recording/cassette/replay_cassette.ts";
import type { LoggedRequest } from "../../../../src/recording/learn/messages_api.ts";
import type { Reply } from "../../../../src/recording/learn/reply_script.ts";
import { readCassette } from "../../../recording/cassette/recorded_runs.ts";
import { forNewestVersion } from "../../../real/for_each_version.ts";
import { factsOfResult, type JsonObject, parseFrames } from "../../../real/print_mode_facts.ts";
import { STREAM_FORMAT } from "../../../caller_lines.ts";

const SCHEMA = {
  type: "object",
  properties: { n: { type: "integer" }, s: { type: "string", maxLength: 2 } },
  required: ["n"],
  additionalProperties: false,
};

/** The answers of the model by prompt: structured, or text. */
const ANSWERS: Readonly<Record<string, readonly (JsonObject | string)[]>> = {
  mended: [{ n: "x" }, { n: 2, q: 1, s: "abc" }, { n: 2 }, "never said"],
  hopeless: [{}, {}, {}, "never said"],
};

const isTool = ({ name }: JsonObject) => `${name}`.endsWith("StructuredOutput");
const toolsIn = (body: unknown) => (body as { readonly tools: readonly JsonObject[] }).tools;

/** A model that calls the tool for structured answers. */
function reply({ prompt = "", round = 0, body }: LoggedRequest): Reply | undefined {
  const answer = ANSWERS[prompt]?.[round];
  if (answer === undefined) return undefined;
  if (typeof answer === "string") return [{ kind: "text", text: answer }];
  const name = toolsIn(body).find(isTool)?.["name"];
  return [{ kind: "text", text: "Look:" }, { kind: "tool", name: `${name}`, input: answer }];
}

/** Counts of tokens depend on the words of the reminder. */
const OF_CONTEXT =
  /^(?:claude_version|usage|modelUsage|model_usage_since_last_result|total_cost_usd)$/u;

/** Messages and result without what differs between two runs. */
function comparable(frames: readonly JsonObject[]): unknown {
  const kept = frames.flatMap((frame): readonly JsonObject[] => {
    const { type, message, isSynthetic, tool_use_result, tool_result_meta } = frame;
    if (type === "assistant" || type === "user") {
      const { content } = message as JsonObject;
      return [{ type, content, isSynthetic, tool_use_result, tool_result_meta }];
    }
    const facts = Object.entries(factsOfResult(frame)).filter(([key]) => !OF_CONTEXT.test(key));
    return type === "result" ? [Object.fromEntries(facts)] : [];
  });
  return JSON.parse(JSON.stringify(kept).replace(/toolu_\w+/gu, "toolu"));
}

forNewestVersion("--json-schema prints JSON or fails", async (real) => {
  const env = { MAX_STRUCTURED_OUTPUT_RETRIES: "3" };
  const [mended, hopeless] = await Promise.all(["mended", "hopeless"].map(async (prompt) => {
    const folder = `${real.home.path}/${prompt}`;
    const args = ["--json-schema", JSON.stringify(SCHEMA), "--", prompt];
    const ours = await real.printInProcess(["--record", folder, ...args], { env });
    const theirs = await real.claudeP(args, {
      env,
      recorded: `structured_output/text-${prompt}`,
    });
    assertEquals([ours.code, ours.stdout], [theirs.code, theirs.stdout], ours.stderr);
    const { stdout } = await real.claudeP(
      [...STREAM_FORMAT, ...args],
      { env, recorded: `structured_output/${prompt}` },
    );
    const cassette = readCassette(folder);
    const frames = framesOn(cassette.tape).map(({ frame }) => frame);
    assertEquals(comparable(frames), comparable(parseFrames(stdout)), prompt);
    assertEquals(frames[0]?.["mcp_servers"], []);
    assertEquals(replayCassette(cassette).differences, [], prompt);
    return ours;
  }));
  assertEquals(mended?.stdout, '{"n":2}\n');
  assertMatch(hopeless?.stderr ?? "", /Failed to provide valid structured output after 3/u);
  const described = real.api.turns.map(({ body }) => {
    const { name: _, ...tool } = toolsIn(body).find(isTool) ?? {};
    return JSON.stringify(Object.entries(tool).toSorted());
  });
  assertEquals(new Set(described).size, 1, "all requests describe the tool alike");
}, { api: { reply } });
