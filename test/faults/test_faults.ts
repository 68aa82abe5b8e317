import { assertEquals, assertMatch } from "@std/assert";
import { unlessLacking } from "../unless_lacking.ts";
import { concurrently } from "./concurrently.ts";
import { type Fault, type Moment, MOMENTS } from "./fault.ts";
import { IS_WARM } from "../real/parity/warm_server.ts";
import { play } from "./play.ts";
import { EARLY } from "./warm_cell.ts";

/** How many runs are under way at a time: most of them wait most of the time. */
const LIMIT = 4;

/** Moments of one run. */
type Moments = readonly [Moment, ...Moment[]];

/**
 * Registers a test for each row of a table, in which all its cells are played.
 *
 * @param options.isWarm whether each run has a server in which a child is started for it ahead
 */
export function testFaults(
  faults: readonly Fault[],
  { isWarm = IS_WARM, moments = MOMENTS }: {
    readonly isWarm?: boolean;
    /** Whose cells are played. */
    readonly moments?: readonly Moment[];
  } = {},
): void {
  for (const fault of faults) {
    Deno.test(unlessLacking(fault.lack, {
      name: `whenever ${fault.name}, the run ends, says why and leaves nothing behind${
        isWarm ? ", with a child that has waited" : ""
      }`,
      fn: () =>
        concurrently(runsOf(fault, { isWarm, moments }), {
          limit: LIMIT,
          each: (together) => check(fault, { moments: together, isWarm }),
        }),
    }));
  }
}

/** The moments of each run that a row takes, those without sense left out. */
function runsOf(
  { cells, together = [], goesBefore = false }: Fault,
  { isWarm, moments }: { readonly isWarm: boolean; readonly moments: readonly Moment[] },
): readonly Moments[] {
  // What is done to a child before anybody has it is done before the run.
  const sensible = moments.filter((moment) =>
    !("senseless" in cells[moment]) && !(isWarm && goesBefore && EARLY.includes(moment))
  );
  const [first, ...others] = sensible.filter((moment) => together.includes(moment));
  const single = sensible.filter((moment) => !together.includes(moment));
  return [
    ...first === undefined ? [] : [[first, ...others] as const],
    ...single.map((moment) => [moment] as const),
  ];
}

async function check(
  fault: Fault,
  { moments, isWarm }: { readonly moments: Moments; readonly isWarm: boolean },
): Promise<void> {
  const [ends, ...others] = moments.map((moment) => fault.cells[moment]);
  if (ends === undefined || "senseless" in ends) return;
  for (const other of others) assertEquals(other, ends);
  const { code, stderr, result, waited } = await play(fault, { moments, ends, isWarm });
  const when = moments.join(", ");
  if (isWarm && !EARLY.includes(moments[0]) && !ends.outdates) {
    assertEquals(waited, 1, `${when}: ${stderr}`);
  }
  assertEquals([code, result["subtype"]], [ends.code, ends.subtype], `${when}: ${stderr}`);
  if (ends.code === 0) assertEquals(result["result"], "Hello from the stand-in.", when);
  const [first = ""] = stderr.split("\n");
  // A run that was answered may warn of something.
  assertMatch(first, ends.says === undefined ? /^(?:claude-print: Warning: .*)?$/ : CAUSE, when);
  if (ends.says !== undefined) assertMatch(first.replace(CAUSE, ""), ends.says, when);
}

const CAUSE = /^claude-print: /;
