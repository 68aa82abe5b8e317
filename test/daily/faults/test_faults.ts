import { assertEquals, assertMatch } from "@std/assert";
import type { Moment as StandInMoment, Scenario } from "../../../fixtures/mock/scenario.ts";
import { IS_WARM } from "../parity/warm_server.ts";
import type { Run } from "../../program/run.ts";
import { StandIn } from "../../program/stand_in.ts";
import { skipIfLacking } from "../../skip_if_lacking.ts";
import { concurrently } from "../../concurrently.ts";

/** The moments of a run at which a fault strikes, in order. */
export const MOMENTS = [
  "before start",
  "at the dialog",
  "at the prompt",
  "in a tool",
  "at Stop",
  "while forwarding",
] as const;

/** One of {@link MOMENTS}. */
export type Moment = typeof MOMENTS[number];

/** Makes another command out of the one that would be run. */
export type Wrap = (command: readonly string[]) => readonly string[];

/** The end of a run with a fault at a moment. */
export interface Ends {
  /** The exit code, and the `subtype` of the result object. */
  readonly code: number;
  readonly subtype: string;
  /** The line on stderr that names the cause, if there is one. */
  readonly says?: RegExp;
  /** Flags of the run: the limits that end it. */
  readonly args?: readonly string[];
  /** Further scenario of the child. */
  readonly scenario?: Partial<Scenario>;
  readonly wrap?: Wrap;
  /** Whether the fault may outdate a warm child. */
  readonly outdates?: true;
}

/** A cell of the table: the end of the run, or why the fault cannot strike. */
type Cell = Ends | { readonly senseless: string };

/** A row of the table: a fault, and the end of the run at each moment. */
export interface Fault {
  readonly name: string;
  /** What happens to the stand-in at a moment. */
  readonly scenario: (at: StandInMoment) => Partial<Scenario>;
  /** What this machine lacks to have the fault. */
  readonly lack?: string | undefined;
  /** Moments with the same cell, which one run goes through. */
  readonly together?: readonly Moment[];
  /** Whether the fault lasts, so that it also strikes later runs. */
  readonly goesBefore?: boolean;
  readonly cells: Readonly<Record<Moment, Cell>>;
}

/** Moments before the child can take a prompt. */
const EARLY: readonly Moment[] = ["before start", "at the dialog"];

/** The surroundings of a run with a server and a warm child. */
interface WarmCell extends AsyncDisposable {
  /** Makes a command that starts the server first and stops it last. */
  readonly wrap: Wrap;
  /** How many runs got a warm child; undefined without a server. */
  readonly waited: () => Promise<number | undefined>;
}

/** Starts a server with a warm child. For an early moment the run comes while the child starts. */
async function warmCell(moment: Moment): Promise<WarmCell> {
  const folder = await Deno.makeTempDir({ prefix: "x" });
  const program = [
    ...[Deno.execPath(), "run", "-A", "--quiet", "--no-code-cache", "--no-check"],
    ...[
      "--config",
      `${import.meta.dirname}/../../../deno.json`,
      `${import.meta.dirname}/warm_run.ts`,
    ],
  ];
  const waits = EARLY.includes(moment) ? "started" : "ready";
  return {
    wrap: (command) => [...program, folder, waits, ...command],
    waited: async () => {
      const text = await Deno.readTextFile(`${folder}/waited`).catch(() => undefined);
      return text === undefined ? undefined : Number(text);
    },
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}

/** The end of a run, and how many runs got a warm child from the server. */
interface FaultyRun extends Run {
  readonly waited: number | undefined;
}

/** The stand-in's name of a moment, and the scenario in which the moment comes. */
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
async function play(
  { scenario }: Fault,
  { moments, ends, isWarm }: {
    readonly moments: readonly [Moment, ...Moment[]];
    readonly ends: Ends;
    /** Whether a server has a warm child for the run. */
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
    ? await claude.printInProcess(args, { warns: true })
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
    // Further warm children have come to the first or the last moment.
    if (isWarm) assertEquals(expected.filter((at) => !reached.includes(at)), []);
    else assertEquals(reached, expected);
  }
  return { ...run, waited };
}

/** How many runs there are at a time. */
const LIMIT = 4;

/** Moments of one run. */
type Moments = readonly [Moment, ...Moment[]];

/**
 * Registers a test for each row of a table, in which all its cells are played.
 *
 * @param options.isWarm whether each run has a server with a warm child
 */
export function testFaults(
  faults: readonly Fault[],
  { isWarm = IS_WARM, moments = MOMENTS }: {
    readonly isWarm?: boolean;
    /** The moments to play; all by default. */
    readonly moments?: readonly Moment[];
  } = {},
): void {
  for (const fault of faults) {
    Deno.test(skipIfLacking(fault.lack, {
      name: `a run survives or reports: ${fault.name}${isWarm ? ", with a warm child" : ""}`,
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
  // A fault of a warm child that lasts strikes before the run.
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
