import { assertEquals, assertMatch } from "@std/assert";
import { unlessLacking } from "../unless_lacking.ts";
import { concurrently } from "./concurrently.ts";
import { type Fault, type Moment, MOMENTS } from "./fault.ts";
import { play } from "./play.ts";

/** How many runs are under way at a time: most of them wait most of the time. */
const LIMIT = 4;

/** Registers a test for each row of a table, in which all its cells are played. */
export function testFaults(faults: readonly Fault[]): void {
  for (const fault of faults) {
    Deno.test(unlessLacking(fault.lack, {
      name: `whenever ${fault.name}, the run ends, says why and leaves nothing behind`,
      fn: () =>
        concurrently(runsOf(fault), { limit: LIMIT, each: (moments) => check(fault, moments) }),
    }));
  }
}

/** The moments of each run that a row takes, those without sense left out. */
function runsOf({ cells, together = [] }: Fault): readonly (readonly Moment[])[] {
  const single = MOMENTS.filter((moment) =>
    !("senseless" in cells[moment]) && !together.includes(moment)
  );
  return [...together.length > 0 ? [together] : [], ...single.map((moment) => [moment])];
}

async function check(fault: Fault, moments: readonly Moment[]): Promise<void> {
  const [ends, ...others] = moments.map((moment) => fault.cells[moment]);
  if (ends === undefined || "senseless" in ends) return;
  for (const other of others) assertEquals(other, ends);
  const { code, stderr, result } = await play(fault, { moments, ends });
  const when = moments.join(", ");
  assertEquals([code, result["subtype"]], [ends.code, ends.subtype], `${when}: ${stderr}`);
  const [first = ""] = stderr.split("\n");
  // A run that was answered may warn of something.
  assertMatch(first, ends.says === undefined ? /^(?:claude-print: Warning: .*)?$/ : CAUSE, when);
  if (ends.says !== undefined) assertMatch(first.replace(CAUSE, ""), ends.says, when);
}

const CAUSE = /^claude-print: /;
