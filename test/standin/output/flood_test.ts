import { assert, assertEquals } from "@std/assert";
import { StandIn } from "../stand_in.ts";

const CALLS = 25_000;

/**
 * V8 leaves itself much room: 280 to 301 MB were measured, where a short answer takes 70. All of the 65 MB of the
 * transcript at once, or all of its lines, as objects, took 350 MB.
 */
const MAX_PEAK_MB = 330;

/** Where a machine is busy V8 collects garbage later, one time in ten: what it can do with is the least of some runs. */
const TRIES = 3;

Deno.test("a transcript of 50,000 lines is printed whole, in its order, in little memory", async () => {
  const peaks: number[] = [];
  while (peaks.length < TRIES && !(Math.min(...peaks) < MAX_PEAK_MB)) {
    peaks.push(await peakOfFlood());
  }
  assert(Math.min(...peaks) < MAX_PEAK_MB, `${peaks} MB`);
});

/** The most memory, in MB, that a run holds that prints the whole transcript. */
async function peakOfFlood(): Promise<number> {
  await using claude = await StandIn.set({ floodCalls: CALLS });
  const run = claude.start(["--output-format", "stream-json", "--verbose", "hello"]);
  let peakMb = 0;
  const look = setInterval(() => peakMb = peakOf(run.pid) ?? peakMb, 20);
  const { code, frames, result } = await run.ended.finally(() => clearInterval(look));
  assertEquals(code, 0);
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
  assert(peakMb > 0, "nothing was measured");
  return peakMb;
}

/** The most memory that a process has held, in MB; `undefined` when it is gone. */
function peakOf(pid: number): number | undefined {
  try {
    const kibibytes = /^VmHWM:\s+(\d+) kB$/mu.exec(Deno.readTextFileSync(`/proc/${pid}/status`));
    return kibibytes === null ? undefined : Number(kibibytes[1]) * 1024 / 1_000_000;
  } catch {
    return undefined;
  }
}
