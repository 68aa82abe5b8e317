import { assertEquals } from "@std/assert";
import { forEachVersion, forNewestVersion } from "./for_each_version.ts";
import { type Caller, hold, holdWithClaude } from "./hold_conversation.ts";
import {
  factsOfResult,
  type JsonObject,
  outlineOfFrames,
  parseFrames,
} from "./print_mode_facts.ts";

const STREAM_FORMAT = ["--output-format", "stream-json", "--verbose"];
const BUDGET = ["--allowedTools", "Bash", "--max-budget-usd"];
const WORK = "Work. [[say one]] [[bash touch ran]] [[say two]] [[bash touch further]] [[say end]]";

forEachVersion(
  "--max-budget-usd stops before a tool that cannot be afforded, as claude -p does",
  async (real) => {
    // The first request costs 0.06 and more.
    const args = [...STREAM_FORMAT, ...BUDGET, "0.05", "--", WORK];
    const ours = await real.print(args);
    assertEquals([...Deno.readDirSync(real.home.project)], [], "no tool ran");
    const theirs = await real.claudeP(args);
    assertEquals([ours.code, theirs.code], [1, 1], ours.stderr);
    const [frames, expected] = [parseFrames(ours.stdout), parseFrames(theirs.stdout)];
    assertEquals(outlineOfFrames(frames), outlineOfFrames(expected));
    assertEquals(factsOfResult(frames.at(-1) ?? {}), {
      ...factsOfResult(expected.at(-1) ?? {}),
      claude_version: real.version,
    });
    assertEquals(real.api.turns.length, 2, "one request each");
  },
);

forNewestVersion(
  "an answer that uses the budget up is an error, and one within it is none",
  async (real) => {
    for (const budget of ["0.05", "5"]) {
      const ours = await real.print([...BUDGET, budget, "--", "Hi"]);
      const theirs = await real.claudeP([...BUDGET, budget, "--", "Hi"]);
      assertEquals([ours.code, ours.stdout], [theirs.code, theirs.stdout]);
    }
  },
);

forNewestVersion(
  "a conversation without money left answers each message with an error",
  async (real) => {
    const script = async ({ say, heard }: Caller) => {
      await say("One [[say first]]");
      await heard('"type":"result"');
      await say("Two [[bash touch ran]] [[say second]]");
      await heard('"type":"result"', 2);
      await say("Three [[say third]]");
      await heard('"type":"result"', 3);
    };
    // Enough for the first turn, and not for the second one.
    const args = [...BUDGET, "0.0602"];
    const ours = await hold(real, script, args);
    // A tool that `claude -p` has begun while the answer was being written may run to its end on a busy machine.
    assertEquals([...Deno.readDirSync(real.home.project)], [], "no tool ran");
    const theirs = await holdWithClaude(real, script, args);
    assertEquals([ours.code, theirs.code], [1, 1], ours.stderr);
    const [frames, expected] = [parseFrames(ours.stdout), parseFrames(theirs.stdout)];
    assertEquals(outlineOfFrames(frames), outlineOfFrames(expected));
    const results = (all: readonly JsonObject[]) =>
      all.filter(({ type }) => type === "result").map((result) => {
        // A busy machine may be late with the cost, and what it is made of is told at the end alone.
        const OF_COST =
          /^(?:claude_version|total_cost_usd|modelUsage|model_usage_since_last_result)$/u;
        return Object.fromEntries(
          Object.entries(factsOfResult(result)).filter(([key]) => !OF_COST.test(key)),
        );
      });
    assertEquals(results(frames), results(expected));
    assertEquals(real.api.turns.length, 2 * 2);
  },
);
