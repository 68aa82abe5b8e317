import { dirname } from "node:path";
import { denoDir } from "../../fixtures/programs/deno_dir.ts";
import type { Mutant } from "./mutants_of.ts";

/** How a run of tests ended. */
export interface TestRun {
  readonly result: "passed" | "failed" | "late" | "not loaded";
  /** A test file that failed, if the output names one. */
  readonly failed?: string | undefined;
  readonly output: string;
  readonly milliseconds: number;
}

/** A copy of the checkout in which mutants are tried. */
export interface Worker extends AsyncDisposable {
  /** Does something while a file of the copy is changed; without a mutant no file is. */
  within<T>(mutant: Mutant | undefined, action: () => Promise<T>): Promise<T>;
  /** Runs test files in one process until a test fails, for so many milliseconds at most. */
  run(tests: readonly string[], limit: number): Promise<TestRun>;
  /** Whether a module loads by itself. */
  loads(path: string): Promise<boolean>;
  /** Whether a module has the right types; names may be unused. */
  compiles(path: string): Promise<boolean>;
}

/** What the copy does without. */
const LEFT_OUT = /^(?:\.git|\.cache|\.ci|dist|coverage)$/u;

const ONLY = "test/of_mutant_test.ts";

const LENIENT = "lenient.json";

/** Properties are tried with the same values each time, or a mutant would be killed by chance. */
const SAME_VALUES =
  'import { configureGlobal } from "fast-check";\nconfigureGlobal({ seed: 1 });\n';

/** Copies the checkout. */
export async function makeWorker(root: string): Promise<Worker> {
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "mutate-" }));
  const entries = [...Deno.readDirSync(root)].map(({ name }) => name);
  const copied = entries.filter((name) => !LEFT_OUT.test(name)).map((name) => `${root}/${name}`);
  await new Deno.Command("cp", { args: ["-r", ...copied, folder] }).output();
  const { compilerOptions, ...config } = JSON.parse(Deno.readTextFileSync(`${root}/deno.json`));
  const lenient = { ...compilerOptions, noUnusedLocals: false, noUnusedParameters: false };
  const text = JSON.stringify({ ...config, compilerOptions: lenient });
  await Deno.writeTextFile(`${folder}/${LENIENT}`, text);
  const deno = async (args: readonly string[], limit: number) => {
    const child = new Deno.Command(Deno.execPath(), {
      args: [...args],
      cwd: folder,
      env: { NO_COLOR: "1" },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      child.kill("SIGKILL");
    }, limit);
    const { success, stdout, stderr } = await child.output();
    clearTimeout(timer);
    const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    return { success, isLate, output: `${out}${err}` };
  };
  return {
    async within(mutant, action) {
      if (mutant === undefined) return await action();
      const file = `${folder}/${mutant.path}`;
      const text = await Deno.readTextFile(file);
      await Deno.writeTextFile(file, mutant.changed);
      try {
        return await action();
      } finally {
        await Deno.writeTextFile(file, text);
      }
    },
    async run(tests, limit) {
      const imports = tests.map((test) => `import "../${test}";\n`.replace("../test/", "./"));
      await Deno.writeTextFile(`${folder}/${ONLY}`, SAME_VALUES + imports.join(""));
      const how = ["-A", "--no-check", "--frozen", "--fail-fast", "--config", "deno.json"];
      const sane = ["--sanitize-ops", "--sanitize-resources"];
      // A mutant may fill the memory in an endless loop.
      const memory = "--v8-flags=--max-old-space-size=2048";
      const before = performance.now();
      const run = await deno(["test", ...how, ...sane, memory, ONLY], limit);
      const { output, isLate, success } = run;
      const isLoaded = / \.\.\. (?:ok|FAILED|ignored)|\b[1-9]\d* passed/u.test(output);
      const failure = isLoaded ? "failed" : "not loaded";
      return {
        result: success ? "passed" : isLate ? "late" : failure,
        failed: / => \.\/(test\/\S+?):/u.exec(output)?.[1],
        output,
        milliseconds: performance.now() - before,
      };
    },
    async loads(path) {
      const load = `await import("./${path}")`;
      return (await deno(["eval", "--no-check", "--config", "deno.json", load], 60_000)).success;
    },
    async compiles(path) {
      return (await deno(["check", "--frozen", "--config", LENIENT, path], 600_000)).success;
    },
    async [Symbol.asyncDispose]() {
      await Deno.remove(folder, { recursive: true });
      // Deno keeps what it has made of the copy's sources.
      const made = `${await denoDir()}/gen/file${folder}`;
      await Deno.remove(made, { recursive: true }).catch(() => {});
      await Deno.remove(dirname(made)).catch(() => {});
    },
  };
}
