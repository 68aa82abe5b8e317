import { assertEquals } from "@std/assert";
import { asRecorded } from "../as_recorded.ts";
import { forEachVersion } from "../for_each_version.ts";
import { type Caller, hold, holdWithClaude } from "../hold_conversation.ts";
import {
  factsOfResult,
  type JsonObject,
  outlineOfFrames,
  parseFrames,
} from "../print_mode_facts.ts";

const BUDGET = ["--allowedTools", "Bash", "--max-budget-usd"];
/** What is enough for the first turn, and not for the second one. */
const OF_ONE_TURN = "0.0602";

forEachVersion(
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
    const args = [...BUDGET, OF_ONE_TURN];
    const ours = await hold(real, script, args);
    assertEquals([...Deno.readDirSync(real.home.project)], [], "no tool ran");
    assertEquals(real.api.turns.length, 2);
    const theirs = await asRecorded(real, "budget/turns", () => holdWithClaude(real, script, args));
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
  },
);
