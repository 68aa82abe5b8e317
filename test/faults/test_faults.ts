import { assertEquals, assertMatch } from "@std/assert";
import { unlessLacking } from "../unless_lacking.ts";
import { concurrently } from "./concurrently.ts";
import { type Fault, MOMENTS } from "./fault.ts";
import { play } from "./play.ts";

/** How many runs are under way at a time: most of them wait most of the time. */
const LIMIT = 4;

/** Registers a test for each row of a table, in which all its cells are played. */
export function testFaults(faults: readonly Fault[]): void {
  for (const fault of faults) {
    Deno.test(unlessLacking(fault.lack, {
      name: `whenever ${fault.name}, the run ends, says why and leaves nothing behind`,
      fn: () => concurrently(MOMENTS, { limit: LIMIT, each: (moment) => check(fault, moment) }),
    }));
  }
}

async function check(fault: Fault, moment: typeof MOMENTS[number]): Promise<void> {
  const ends = fault.cells[moment];
  if ("senseless" in ends) return;
  const { code, stderr, result } = await play(fault, { moment, ends });
  assertEquals([code, result["subtype"]], [ends.code, ends.subtype], `${moment}: ${stderr}`);
  const [first = ""] = stderr.split("\n");
  // A run that was answered may warn of something.
  assertMatch(first, ends.says === undefined ? /^(?:claude-print: Warning: .*)?$/ : CAUSE, moment);
  if (ends.says !== undefined) assertMatch(first.replace(CAUSE, ""), ends.says, moment);
}

const CAUSE = /^claude-print: /;
