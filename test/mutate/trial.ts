import type { Mutant } from "./mutants_of.ts";
import type { TestRun, Worker } from "./worker.ts";

/** A mutant is invalid if it does not load, or if the compiler notices what no test does. */
export type Fate = "killed" | "survived" | "invalid";

/** What became of a mutant. */
export interface Outcome {
  readonly mutant: Mutant;
  readonly fate: Fate;
  /** The test files that ran. */
  readonly tests: readonly string[];
}

/** Tries mutants, and whether tests that notice a mutant pass without it. */
export class Trial {
  /** Test files that fail without a mutant. */
  readonly failing = new Set<string>();

  readonly #runs = new Map<string, Promise<TestRun>>();
  readonly #compiled = new Map<string, Promise<boolean>>();

  /**
   * Tries a mutant.
   *
   * @param options.stages test files that run one after the other until a test fails
   */
  async try(
    mutant: Mutant,
    { worker, stages }: {
      readonly worker: Worker;
      readonly stages: readonly (readonly string[])[];
    },
  ): Promise<Outcome> {
    for (const tests of stages) {
      const fate = await this.#fateIn(tests, { mutant, worker });
      if (fate !== "survived") return { mutant, fate, tests };
    }
    const isValid = await worker.within(mutant, () => worker.compiles(mutant.path)) ||
      !await this.#compiles(mutant.path, worker);
    return { mutant, fate: isValid ? "survived" : "invalid", tests: stages.flat() };
  }

  async #fateIn(
    stage: readonly string[],
    { mutant, worker }: { readonly mutant: Mutant; readonly worker: Worker },
  ): Promise<Fate> {
    for (let limit = 60_000 + 5_000 * stage.length;;) {
      const tests = stage.filter((test) => !this.failing.has(test));
      if (tests.length === 0) return "survived";
      const run = await worker.within(mutant, () => worker.run(tests, limit));
      if (run.result === "passed") return "survived";
      // Tests that call the code while they load end in the same way as a module that does not load.
      if (run.result === "not loaded") {
        if (!await worker.within(mutant, () => worker.loads(mutant.path))) return "invalid";
      }
      const without = await this.#without(run.failed === undefined ? tests : [run.failed], worker);
      if (without.result !== "passed") {
        if (without.failed === undefined) throw new Error(`Cannot run tests:\n${without.output}`);
        this.failing.add(without.failed);
      } else if (run.result !== "late" || limit > 4 * without.milliseconds) return "killed";
      // The machine is busy.
      limit = Math.max(limit, 5 * without.milliseconds);
    }
  }

  /** Runs tests without a mutant, once. */
  #without(tests: readonly string[], worker: Worker): Promise<TestRun> {
    const key = tests.join(" ");
    const run = this.#runs.get(key) ?? worker.run(tests, 900_000);
    this.#runs.set(key, run);
    return run;
  }

  #compiles(path: string, worker: Worker): Promise<boolean> {
    const compiled = this.#compiled.get(path) ?? worker.compiles(path);
    this.#compiled.set(path, compiled);
    return compiled;
  }
}
