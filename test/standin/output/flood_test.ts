import { assertEquals } from "@std/assert";
import { leftovers } from "../../leftovers.ts";
import { parseOutput } from "../parse_output.ts";
import { StandIn } from "../stand_in.ts";

const CALLS = 8000;

/**
 * What V8 may keep, in MB: 24 are enough. All of the 20 MB of the transcript at once, as text or as objects, is more than
 * it can do with, though the transcript were shorter by a quarter.
 */
const MOST_KEPT_MB = 32;

/** The command with that limit, where Deno runs it; what an executable may keep is its own business. */
function limited([program = "", verb = "", ...args]: readonly string[]): readonly string[] {
  const limit = verb === "run" ? [`--v8-flags=--max-old-space-size=${MOST_KEPT_MB}`] : [];
  return [program, verb, ...limit, ...args];
}

Deno.test("a transcript of 16,000 lines is printed whole, in its order, in little memory", async () => {
  await using claude = await StandIn.set({ floodCalls: CALLS });
  const format = ["--output-format", "stream-json", "--verbose"];
  // Without memory it cannot print what every run has to.
  const run = await claude.print([...format, "hello"], { wrap: limited, killed: true });
  assertEquals(run.code, 0, run.stderr);
  assertEquals(await leftovers(claude.home), []);
  const { frames, result } = parseOutput(run, format);
  const ids = frames.flatMap(({ type, message }) => {
    const [block] = (message as { content?: readonly Record<string, unknown>[] } | undefined)
      ?.content ?? [];
    return block?.["type"] === "text" ? [] : [[type, block?.["id"] ?? block?.["tool_use_id"]]];
  }).filter(([, id]) => id !== undefined);
  assertEquals(ids.length, 2 * CALLS);
  const expected = (index: number) => [
    index % 2 === 0 ? "assistant" : "user",
    `toolu_${index >> 1}`,
  ];
  const wrong = ids.findIndex((each, index) => `${each}` !== `${expected(index)}`);
  assertEquals(wrong, -1, `${ids[wrong]} in the place of ${expected(wrong)}`);
  assertEquals([result["num_turns"], result["result"]], [CALLS + 1, "Hello from the stand-in."]);
});
