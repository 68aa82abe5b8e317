import { assertEquals } from "@std/assert";
import type { Moment as StandInMoment, Scenario } from "../../fixtures/mock/scenario.ts";
import type { Run } from "../standin/run.ts";
import { StandIn } from "../standin/stand_in.ts";
import type { Ends, Fault, Moment } from "./fault.ts";
import { warmCell } from "./warm_cell.ts";

/** What has become of a run, and how many got a child that had waited, where a server could begin. */
export interface FaultyRun extends Run {
  readonly waited: number | undefined;
}

/** What the stand-in calls a moment, and what has to be unusual about it for the moment to come. */
const SCENES: Readonly<Record<Moment, { at: StandInMoment; scenario: Partial<Scenario> }>> = {
  "before start": { at: "start", scenario: {} },
  "at the dialog": { at: "dialog", scenario: { dialogs: [{ show: "trust_yes" }] } },
  "at the prompt": { at: "prompt", scenario: {} },
  "in a tool": {
    at: "tool",
    scenario: {
      turns: [[
        { text: "Let me see.", tools: [{ name: "Bash", input: { command: "sleep 0.3" } }] },
        { text: "Hello from the stand-in." },
      ]],
    },
  },
  "at Stop": { at: "stop", scenario: {} },
  "while forwarding": { at: "exit", scenario: {} },
};

/**
 * Runs `claude-print` once with a fault at a moment, or at each of several.
 *
 * `StandIn` checks that the output is what its format promises and that nothing is left: no process, no file, no FIFO.
 */
export async function play(
  { scenario }: Fault,
  { moments, ends, isWarm }: {
    readonly moments: readonly [Moment, ...Moment[]];
    readonly ends: Ends;
    /** Whether a child is started ahead for it, in a server. */
    readonly isWarm: boolean;
  },
): Promise<FaultyRun> {
  const scenes = moments.map((moment) => SCENES[moment]);
  const faulty = scenes.map(({ at }) => scenario(at));
  const sabotage = faulty.flatMap((each) => each.sabotage ?? []);
  await using claude = await StandIn.set(Object.assign(
    {},
    ...scenes.map((scene) => scene.scenario),
    ...faulty,
    { sabotage },
    ends.scenario,
  ));
  const args = ["--output-format", "json", ...ends.args ?? [], "hello"];
  const { wrap } = ends;
  await using cell = isWarm ? await warmCell(moments[0]) : undefined;
  const run = wrap === undefined && cell === undefined
    ? await claude.printHere(args, { warns: true })
    : await claude.print(args, {
      warns: true,
      wrap: (command) => {
        const inCell = cell?.wrap(command) ?? command;
        return wrap?.(inCell) ?? inCell;
      },
    });
  const waited = await cell?.waited();
  if (moments.length > 1) {
    const reached = (await claude.journal("sabotage")).map(({ at }) => at);
    const expected = sabotage.map(({ at }) => at);
    // Others that were started ahead have come to the first or the last of them.
    if (isWarm) assertEquals(expected.filter((at) => !reached.includes(at)), []);
    else assertEquals(reached, expected);
  }
  return { ...run, waited };
}
