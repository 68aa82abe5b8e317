import { assert, assertEquals } from "@std/assert";
import type { Reply } from "../../fixtures/reply_script.ts";
import type { LoggedRequest } from "../../fixtures/messages_api.ts";
import { forEachVersion } from "./for_each_version.ts";
import {
  factsOfResult,
  type JsonObject,
  outlineOfFrames,
  parseFrames,
} from "./print_mode_facts.ts";
import type { RealClaude } from "./real_claude.ts";

const STREAM = ["--output-format", "stream-json", "--verbose", "--allowedTools", "Bash"];
/** The conversation is compacted at 16,200 tokens, and what the API calls the rest of it has 12,000. */
const ENV = { CLAUDE_CODE_AUTO_COMPACT_WINDOW: "200000", CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: "9" };
/** After the first tool there is nothing to be summed up yet, after the second there is. */
const WORK =
  "Work. [[say I look]] [[bash seq 1 20000 | head -c 25000]] [[bash echo two]] [[say on]]";
const SUMMARY = "<analysis>\nthought\n</analysis>\n\n<summary>\nThe short of it.\n</summary>";

/** Answers the request for a summary. */
function summing(reply: Reply) {
  return ({ prompt = "" }: LoggedRequest) =>
    prompt.includes("create a detailed summary") ? reply : undefined;
}

/** What is of one run in frames of a compaction: ids, sizes of what Claude Code itself adds, times. */
const OF_ONE_RUN = ["uuid", "session_id", "logical_parent_uuid", "timestamp"];
const SIZES = ["post_tokens", "cumulative_dropped_tokens", "duration_ms"];

/** What frames of a compaction say, in the order of their keys, and for the others what they are. */
function facts(frames: readonly JsonObject[]): readonly unknown[] {
  const outlines = frames.map((frame) => outlineOfFrames([frame])[0]);
  return frames.flatMap((frame, index) => {
    if (outlines[index] === undefined) return [];
    const isCompaction = frame.subtype === "status" || frame.subtype === "compact_boundary";
    // The summary names the transcript.
    if (frame.isSynthetic === true) return [["summary", ...Object.keys(frame).sort()]];
    return [isCompaction ? anonymous(frame) : outlines[index]];
  });
}

function anonymous(value: unknown, key = ""): unknown {
  if (OF_ONE_RUN.includes(key) || /uuids?$/u.test(key)) return typeof value;
  if (SIZES.includes(key)) return typeof value;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).sort(([one], [other]) => one < other ? -1 : 1)
      .map(([name, inner]) => [name, anonymous(inner, name)]),
  );
}

/** What requests cost depends on how much of a summary Claude Code itself makes. */
const COSTS = ["modelUsage", "model_usage_since_last_result", "total_cost_usd", "usage"];

function resultOf(frames: readonly JsonObject[]): JsonObject {
  const result = Object.entries(factsOfResult(frames.at(-1) ?? {}));
  return Object.fromEntries(result.map(([key, value]) => [key, COSTS.includes(key) || value]));
}

/** Runs `claude -p` and then `claude-print`; their frames have to be the same. */
async function both(real: RealClaude, prompt: string, args: readonly (readonly string[])[] = []) {
  const [theirArgs = [], ourArgs = []] = args;
  const theirs = await real.claudeP([...STREAM, ...theirArgs], { stdin: prompt, env: ENV });
  const ours = await real.print([...STREAM, ...ourArgs], { stdin: prompt, env: ENV });
  assertEquals([ours.code, theirs.code, ours.stderr], [0, 0, ""]);
  const [frames, expected] = [parseFrames(ours.stdout), parseFrames(theirs.stdout)];
  assertEquals(facts(frames), facts(expected));
  assertEquals(resultOf(frames), { ...resultOf(expected), claude_version: real.version });
  const usageOf = (frames: readonly JsonObject[]) => {
    const { usage } = frames.at(-1) as { readonly usage: JsonObject };
    return [usage.input_tokens, usage.cache_creation_input_tokens, usage.output_tokens];
  };
  assertEquals(usageOf(frames), usageOf(expected));
  return { frames, expected };
}

/** What became of the compactions. */
const outcomes = (frames: readonly JsonObject[]) =>
  frames.filter(({ compact_result }) => compact_result !== undefined)
    .map(({ compact_result, compact_error }) => compact_error ?? compact_result);

forEachVersion("a turn that is compacted in its middle is told as by claude -p", async (real) => {
  const { frames } = await both(real, WORK);
  assertEquals(outcomes(frames), ["too_few_groups", "success"]);
  const last = frames.at(-1);
  assertEquals([last?.num_turns, last?.result], [4, "Hello from the scripted API"]);
  assert(frames.some(({ subtype }) => subtype === "compact_boundary"));
}, { api: { reply: summing([{ kind: "text", text: SUMMARY }]) } });

forEachVersion("a turn goes on after a compaction that fails, as in claude -p", async (real) => {
  const { frames } = await both(real, WORK);
  assertEquals(outcomes(frames), ["too_few_groups", "API Error: 400 no summary today"]);
  assertEquals(frames.at(-1)?.result, "on");
}, {
  api: {
    reply: summing([
      { kind: "error", status: 400, flavour: "plain", message: "no summary today" },
    ]),
  },
});
