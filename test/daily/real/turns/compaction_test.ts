import { assert, assertEquals } from "@std/assert";
import type { Reply } from "../../../../src/recording/learn/reply_script.ts";
import type { LoggedRequest } from "../../../../src/recording/learn/messages_api.ts";
import { forEachVersion, forNewestVersion } from "../../../real/for_each_version.ts";
import {
  factsOfResult,
  type JsonObject,
  outlineOfFrames,
  parseFrames,
} from "../../../real/print_mode_facts.ts";
import { asRecorded, type RecordedName } from "../../../real/as_recorded.ts";
import { hold, holdWithClaude } from "../../../real/hold_conversation.ts";
import type { RealClaude } from "../../../real/real_claude.ts";
import { writeFiles } from "../../../write_files.ts";
import { STREAM_FORMAT } from "../../../caller_lines.ts";

const STREAM = [...STREAM_FORMAT, "--allowedTools", "Bash"];
/** The conversation is compacted at 16,200 tokens, and what the API calls the rest of it has 12,000. */
const ENV: Readonly<Record<string, string>> = {
  CLAUDE_CODE_AUTO_COMPACT_WINDOW: "200000",
  CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: "9",
};
const NONE: typeof ENV = {};
/** After the first tool there is nothing to be summed up yet, after the second there is. */
const WORK =
  "Work. [[say I look]] [[bash seq 1 20000 | head -c 25000]] [[bash echo two]] [[say on]]";
const SUMMARY = "<analysis>\nthought\n</analysis>\n\n<summary>\nThe short of it.\n</summary>";

/** Answers the request for a summary. */
function summing(reply: Reply) {
  return ({ prompt = "" }: LoggedRequest) =>
    prompt.includes("create a detailed summary") ? reply : undefined;
}

/** Fields of a compaction that differ between two runs: ids, sizes and times. */
const OF_ONE_RUN = ["uuid", "session_id", "logical_parent_uuid", "timestamp"];
const SIZES = ["post_tokens", "cumulative_dropped_tokens", "duration_ms"];

/** Frames of a compaction with sorted keys, and outlines of the other frames. */
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

/** Costs depend on the size of the summary request. */
const COSTS = ["modelUsage", "model_usage_since_last_result", "total_cost_usd", "usage"];

function resultOf(frames: readonly JsonObject[]): JsonObject {
  const result = factsOfResult(frames.at(-1) ?? {});
  return Object.fromEntries(
    Object.entries(result).map(([key, value]) => [key, COSTS.includes(key) || value]),
  );
}

/** Tokens of a turn. After a typed command the number of cached tokens differs. */
function usageOf(frames: readonly JsonObject[], isExact: boolean): readonly unknown[] {
  const { usage } = frames.at(-1) as { readonly usage: JsonObject };
  const { input_tokens, cache_creation_input_tokens, output_tokens } = usage;
  return [input_tokens, output_tokens, isExact && cache_creation_input_tokens];
}

/** The frames of the turns of a session. */
async function turns(
  run: RealClaude["print"],
  { prompts, env }: { readonly prompts: readonly string[]; readonly env: typeof ENV },
) {
  const all: (readonly JsonObject[])[] = [];
  for (const stdin of prompts) {
    const id = all[0]?.[0]?.session_id;
    const resumed = id === undefined ? [] : ["--resume", `${id}`];
    const { code, stdout, stderr } = await run([...STREAM, ...resumed], { stdin, env });
    assertEquals([code, stderr], [0, ""]);
    all.push(parseFrames(stdout));
  }
  return all;
}

/** Gives `claude-print` prompts that `claude -p` was given; their frames have to be the same. */
async function both(
  real: RealClaude,
  { recorded, prompts, env = ENV }: {
    readonly recorded: RecordedName;
    readonly prompts: readonly string[];
    readonly env?: typeof ENV;
  },
): Promise<readonly (readonly JsonObject[])[]> {
  const isTyped = prompts.some((prompt) => prompt.startsWith("/"));
  const options = { prompts, env };
  const told = (all: readonly (readonly JsonObject[])[]) =>
    all.map((frames) => [facts(frames), resultOf(frames), usageOf(frames, !isTyped)]);
  const ours = await turns((args, start) => real.printInProcess(args, start), options);
  const theirs = await asRecorded(
    real,
    recorded,
    async () => told(await turns((args, start) => real.claudeP(args, start), options)),
  );
  assertEquals(told(ours), theirs);
  return ours;
}

/** The results of the compactions. */
const outcomes = (frames: readonly JsonObject[]) =>
  frames.filter(({ compact_result }) => compact_result !== undefined)
    .map(({ compact_result, compact_error }) => compact_error ?? compact_result);

const SUMMED = { api: { reply: summing([{ kind: "text", text: SUMMARY }]) } };
const REFUSED = {
  api: {
    reply: summing([
      { kind: "error", status: 400, flavour: "plain", message: "no summary today" },
    ]),
  },
} as const;

forEachVersion("a compaction during a turn has the same frames", async (real) => {
  const [frames = []] = await both(real, { recorded: "compaction/middle", prompts: [WORK] });
  assertEquals(outcomes(frames), ["too_few_groups", "success"]);
  const last = frames.at(-1);
  assertEquals([last?.num_turns, last?.result], [4, "Hello from the scripted API"]);
  assert(frames.some(({ subtype }) => subtype === "compact_boundary"));
}, SUMMED);

forNewestVersion(
  "a turn goes on after a failed compaction",
  async (real) => {
    const prompts = [WORK, "/compact"];
    const [frames = [], typed = []] = await both(real, { recorded: "compaction/failed", prompts });
    const why = "API Error: 400 no summary today";
    assertEquals(outcomes(frames), ["too_few_groups", why]);
    assertEquals(frames.at(-1)?.result, "on");
    const error = `Error during compaction: ${why}`;
    assertEquals([outcomes(typed), typed.at(-1)?.result], [[error], error]);
  },
  REFUSED,
);

/** As many rounds as make a conversation worth a summary. */
const ROUNDS = "First. [[bash echo 1]] [[bash echo 2]] [[bash echo 3]] [[say one]]";

forNewestVersion("a typed /compact has the same frames", async (real) => {
  const all = await both(real, {
    recorded: "compaction/typed",
    env: NONE,
    prompts: [ROUNDS, "/compact keep numbers", "Next [[say two]]"],
  });
  assertEquals(all.map(outcomes), [[], ["success"], []]);
  const results = all.map((frames) => frames.at(-1));
  assertEquals(results.map((result) => result?.result), ["one", "", "two"]);
  assertEquals(results.map((result) => result?.num_turns), [4, 0, 1]);
}, SUMMED);

forNewestVersion(
  "commands in a conversation have the same frames",
  async (real) => {
    await writeFiles(real.home.project, {
      ".claude/skills/busy/SKILL.md":
        "---\nname: busy\ndescription: Works\ncontext: fork\nbackground: false\n---\n[[say busy]]\n",
    });
    const messages = [
      ...["One. [[say first]]", "/busy now", "Two. [[say second]]", "/compact"],
      ...["/compact keep", "Three. [[say third]]"],
    ];
    const told = async (holding: typeof hold) => {
      const { code, stdout } = await holding(real, async ({ say, heard }) => {
        for (const [at, message] of messages.entries()) {
          await say(message);
          await heard('"type":"result"', at + 1);
        }
      });
      const frames = parseFrames(stdout);
      const results = frames.filter(({ type }) => type === "result")
        .map(({ subtype, result, num_turns, local_command }) => ({
          ...{ subtype, result, turns: num_turns, command: local_command },
        }));
      // The interactive Claude Code has longer texts about a compaction.
      const sized = (key: string, value: unknown) => key === "pre_tokens" ? typeof value : value;
      return JSON.parse(JSON.stringify([code, facts(frames), results], sized));
    };
    const ours = await told(hold);
    assertEquals(
      ours,
      await asRecorded(real, "compaction/conversation", () => told(holdWithClaude)),
    );
  },
);
