/**
 * `deno task mutate [MODULE|PATH…]`: changes the pure modules of `src` in one place at a time and runs the pure tests that
 * load the changed file. A mutant that no test notices survives, and is listed.
 *
 * ```sh
 * deno task mutate                       # a sample of every pure module
 * deno task mutate frames run/plan       # of these modules
 * deno task mutate src/claude/wire/json_text.ts # of this file
 * deno task mutate src/claude/wire/json_text.ts:41 --count 100 # all mutants of a line
 * ```
 *
 * `--count N` takes N mutants of each module (10), `--seed N` takes others (1), `--minutes N` stops after that time (10), and
 * `--list` prints the mutants without running a test. Mutants that do not load, or that survive and do not compile, do not
 * count. The exit code is 0 if at least 85 % of the others are killed, 1 if fewer are, and 2 if nothing could be run.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { sourcesBelow } from "../import_graph.ts";
import { type Mutant, mutantsOf } from "./mutants_of.ts";
import { testsFor } from "./tests_for.ts";
import { type Fate, type Outcome, Trial } from "./trial.ts";
import { makeWorker, type Worker } from "./worker.ts";

const ROOT = resolve(import.meta.dirname ?? ".", "../..");

/** The modules whose tests start no process; `test` has a folder with the tests of each. */
const MODULES: readonly string[] = [
  ...["cli/arguments", "cli/help", "conversation/output", "conversation/control"],
  ...["conversation/protocol", "conversation/terminal", "claude/settings", "claude/transcript"],
  ...["claude/wire", "recording/cassette", "recording/drift", "recording/lint"],
  ...["recording/redaction", "recording/relay", "run/plan"],
];

/** The share of mutants that tests have to kill. */
const THRESHOLD = 0.85;

/** How many mutants run at a time. */
const WORKERS = 2;

/** The module of a file: its row in MODULES, or its folder in `src`. */
function moduleOf(path: string): string {
  return MODULES.find((each) => path.startsWith(`src/${each}/`)) ?? path.split("/")[1] ?? path;
}

/** Whether an argument names a mutant, by its module, its file or folder, its place, or its id. */
function names(argument: string, { id }: Mutant): boolean {
  return [argument, `src/${argument}`].some((each) =>
    id === each || id.startsWith(`${each}:`) || id.startsWith(`${each.replace(/\/$/u, "")}/`)
  );
}

/** Returns a sample of each module, the modules in turns, so that a run that is cut short has some of each. */
function sampleOf(
  mutants: readonly Mutant[],
  { seed, count }: { readonly seed: string; readonly count: number },
): readonly Mutant[] {
  const key = ({ id }: Mutant) => createHash("sha256").update(`${seed} ${id}`).digest("hex");
  const modules = Map.groupBy(mutants, ({ path }) => moduleOf(path));
  return [...modules.values()].flatMap((ofModule) =>
    ofModule.map((mutant) => ({ mutant, key: key(mutant) }))
      .toSorted((one, other) => one.key < other.key ? -1 : 1)
      .slice(0, count)
      .map(({ mutant }, turn) => ({ mutant, turn }))
  ).toSorted((one, other) => one.turn - other.turn).map(({ mutant }) => mutant);
}

function describe({ id, before, after }: Mutant): string {
  return `${id}\n  - ${before}\n  + ${after}`;
}

function describeSurvivor({ mutant, tests }: Outcome): string {
  const ran = tests.length === 0 ? "none" : tests.join(" ");
  return `${describe(mutant)}\n  tests: ${ran}\n  again: deno task mutate ${mutant.id}\n`;
}

function print(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
}

/** Shows a person how far the run is; what follows is printed over it. */
function showProgress(text: string): void {
  if (!Deno.stderr.isTerminal()) return;
  Deno.stderr.writeSync(new TextEncoder().encode(`${text}\r`));
}

function scoreOf(outcomes: readonly Outcome[]): { readonly score: number; readonly text: string } {
  const count = (fate: Fate) => outcomes.filter((each) => each.fate === fate).length;
  const [killed, survived, invalid] = [count("killed"), count("survived"), count("invalid")];
  const score = killed + survived === 0 ? 1 : killed / (killed + survived);
  const percent = `${Math.floor(100 * score)} %`.padStart(5);
  const aside = invalid === 0 ? "" : `, ${invalid} invalid`;
  return { score, text: `${percent}  ${killed} of ${killed + survived} killed${aside}` };
}

async function main(args: readonly string[]): Promise<number> {
  const { _: given, ...options } = parseArgs([...args], {
    string: ["seed", "count", "minutes"],
    boolean: ["list"],
  });
  const { seed = "1", count = "10", minutes = "10" } = options;
  const until = performance.now() + Number(minutes) * 60_000;
  const wanted = given.length === 0 ? MODULES : given.map(String);
  const sources = sourcesBelow("src").filter((path) =>
    wanted.some((each) =>
      `${path}:`.startsWith(`${/^src\b/u.test(each) ? "" : "src/"}${each.replace(/:.*/u, "")}`)
    )
  );
  const mutants = (await mutantsOf(sources)).filter((mutant) =>
    wanted.some((each) => names(each, mutant))
  );
  const sample = sampleOf(mutants, { seed, count: Number(count) });
  if (options.list) {
    for (const mutant of sample) print(describe(mutant));
    return 0;
  }
  await using stack = new AsyncDisposableStack();
  const workers: Worker[] = [];
  for (let made = 0; made < WORKERS; made++) workers.push(stack.use(await makeWorker(ROOT)));
  const trial = new Trial();
  const outcomes: Outcome[] = [];
  const left = [...sample];
  await Promise.all(workers.map(async (worker) => {
    for (let mutant = left.shift(); mutant !== undefined; mutant = left.shift()) {
      if (performance.now() > until) return;
      const { path } = mutant;
      const stages = testsFor(path, moduleOf(path));
      const outcome = await trial.try(mutant, { worker, stages });
      outcomes.push(outcome);
      showProgress(`${outcomes.length} of ${sample.length}`);
      if (outcome.fate === "survived") print(describeSurvivor(outcome));
    }
  }));
  for (const test of trial.failing) print(`left out, as it fails without a mutant: ${test}`);
  const modules = Map.groupBy(outcomes.toSorted(byId), ({ mutant }) => moduleOf(mutant.path));
  for (const [module, of] of modules) print(`${module.padEnd(16)} ${scoreOf(of).text}`);
  const { score, text } = scoreOf(outcomes);
  print(
    `${"all".padEnd(16)} ${text}; at least ${100 * THRESHOLD} % have to be (seed ${seed})`,
  );
  if (outcomes.length < sample.length) {
    print(`${sample.length - outcomes.length} more did not run in time: see --minutes`);
  }
  return score >= THRESHOLD ? 0 : 1;
}

function byId({ mutant: { id: one } }: Outcome, { mutant: { id: other } }: Outcome): number {
  return one.localeCompare(other, "en", { numeric: true });
}

try {
  Deno.exitCode = await main(Deno.args);
} catch (error) {
  print(error instanceof Error ? error.message : `${error}`);
  Deno.exitCode = 2;
}
