import { Choices } from "./choices.ts";
import { Coverage, kindOf } from "./coverage.ts";
import { type Violation, violationsOf } from "./invariants.ts";
import { writeHistory } from "./record_history.ts";
import { shrink } from "./shrink.ts";
import { type Advance, type History, simulate } from "./simulate.ts";

/** Of so many seeds, one is checked for what takes long to check. */
const THOROUGH = 50;

/** A seed that fails, and the simplest world that was found to fail in the same way. */
export interface Failure {
  readonly seed: number;
  readonly violation: Violation;
  readonly choices: readonly number[];
  readonly history: History;
}

/** What seeds have come to. */
export interface Campaign {
  readonly ran: number;
  readonly seconds: number;
  readonly coverage: Coverage;
  readonly failure?: Failure;
}

interface SeedOptions {
  /** The first seed. */
  readonly from: number;
  /** How many there are at most. */
  readonly count: number;
  /** After how many minutes no further one is begun. */
  readonly minutes: number;
  /** What takes the inputs, where it is not the conversation itself. */
  readonly advance?: Advance;
  /** Whether a failure is shrunk, as it is unless this is false. */
  readonly shrinks?: boolean;
}

/** Runs seeds until one fails. */
export function trySeeds(
  { from, count, minutes, shrinks = true, ...options }: SeedOptions,
): Campaign {
  const coverage = new Coverage();
  const begun = performance.now();
  const until = begun + 60_000 * minutes;
  let ran = 0;
  const seconds = () => (performance.now() - begun) / 1000;
  for (let seed = from; ran < count && performance.now() < until; seed++) {
    const isThorough = isChecked(seed, options);
    const { history, violation } = tryWorld(new Choices(seed), { ...options, isThorough });
    ran++;
    for (const { input, phase } of history?.steps ?? []) coverage.add(input, phase);
    if (violation !== undefined) {
      const result = { ran, seconds: seconds(), coverage };
      const failure = shrinks || history === undefined
        ? shrunk(seed, violation, options)
        : { seed, violation, choices: [], history };
      return { ...result, failure };
    }
  }
  return { ran, seconds: seconds(), coverage };
}

/** Whether a seed is checked for what takes long: of a conversation that is broken, a recording never holds. */
function isChecked(seed: number, { advance }: WorldOptions): boolean {
  return advance === undefined && seed % THOROUGH === 0;
}

interface WorldOptions {
  readonly advance?: Advance;
  readonly isThorough?: boolean;
}

/** Runs a world; an error that is thrown is a violation too. */
function tryWorld(
  choices: Choices,
  { isThorough = false, ...options }: WorldOptions,
): { readonly history?: History; readonly violation: Violation | undefined } {
  try {
    const history = simulate(choices, options);
    return { history, violation: violationsOf(history, { isThorough })[0] };
  } catch (error) {
    const text = error instanceof Error ? error.stack ?? error.message : `${error}`;
    return { violation: { invariant: "throws", text } };
  }
}

function shrunk(seed: number, violation: Violation, options: WorldOptions): Failure {
  const original = new Choices(seed);
  tryWorld(original, options);
  const isThorough = isChecked(seed, options);
  const choices = shrink(original.made, (candidate) => {
    const { violation: other } = tryWorld(new Choices(candidate), { ...options, isThorough });
    return other?.invariant === violation.invariant;
  });
  const { history, violation: last } = tryWorld(new Choices(choices), { ...options, isThorough });
  return {
    seed,
    violation: last ?? violation,
    choices,
    history: history ?? simulate(new Choices(seed), options),
  };
}

/** Runs seeds and says what they have come to. Writes a cassette of the one that fails into a folder. */
export async function runSeeds(
  { folder, ...options }: SeedOptions & { readonly folder: string },
): Promise<{ readonly text: string; readonly hasFailed: boolean }> {
  const { ran, seconds, coverage, failure } = trySeeds(options);
  const speed = `${ran} seeds from ${options.from}, ${Math.round(ran / seconds)} a second\n`;
  if (failure === undefined) return { text: `${speed}${coverage.describe()}`, hasFailed: false };
  const { seed, history } = failure;
  const path = `${folder}/${seed}`;
  await writeHistory(history, path);
  const text = `${speed}${describeFailure(failure)}\nThe cassette of these events: ${path}\n`;
  return { text, hasFailed: true };
}

/** A failure with its events, a line each. */
export function describeFailure({ seed, violation, choices, history }: Failure): string {
  const events = history.steps.map(({ input, phase, effects }) => {
    const done = effects.flatMap((effect) => {
      if (effect.type === "frame") return [effect.frame.subtype ?? effect.frame.type];
      return ["trace", "deadline", "named"].includes(effect.type) ? [] : [effect.type];
    });
    const outcome = done.length === 0 ? "" : ` → ${done.join(", ")}`;
    return `${String(input.at).padStart(8)}  ${phase.padEnd(12)} ${kindOf(input)}${outcome}\n`;
  });
  return `Seed ${seed} fails: ${violation.invariant}: ${violation.text}\n${events.join("")}` +
    `Choices: ${JSON.stringify(choices)}\n`;
}
