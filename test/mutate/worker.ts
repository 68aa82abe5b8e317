import { dirname } from "node:path";
import { denoDir } from "../../fixtures/programs/deno_dir.ts";
import type { Mutant } from "./mutants_of.ts";

/** How a run of tests ended; one that took too long has failed. */
export interface TestRun {
  readonly result: "passed" | "failed" | "not loaded";
  readonly output: string;
}

/** A copy of the checkout in which mutants are tried. */
export interface Worker extends AsyncDisposable {
  /** Changes a file of the copy until the result is disposed of. */
  change(mutant: Mutant): Disposable;
  /** Runs test files in one process, for so many milliseconds at most, and by default until a test fails. */
  run(
    tests: readonly string[],
    options: { readonly limit: number; readonly more?: readonly string[] },
  ): Promise<TestRun>;
  /** Whether a module loads by itself. */
  loads(path: string): Promise<boolean>;
  /** Whether modules have the right types; names may be unused. */
  compiles(paths: readonly string[]): Promise<boolean>;
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
    const timer = setTimeout(() => child.kill("SIGKILL"), limit);
    const { success, stdout, stderr } = await child.output();
    clearTimeout(timer);
    const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    return { success, output: `${out}${err}` };
  };
  return {
    change({ path, changed }) {
      const file = `${folder}/${path}`;
      const text = Deno.readTextFileSync(file);
      Deno.writeTextFileSync(file, changed);
      return { [Symbol.dispose]: () => Deno.writeTextFileSync(file, text) };
    },
    async run(tests, { limit, more = ["--fail-fast"] }) {
      const imports = tests.map((test) => `import "../${test}";\n`.replace("../test/", "./"));
      await Deno.writeTextFile(`${folder}/${ONLY}`, SAME_VALUES + imports.join(""));
      const how = ["-A", "--no-check", "--frozen", "--config", "deno.json"];
      const sane = ["--sanitize-ops", "--sanitize-resources"];
      // A mutant may fill the memory in an endless loop.
      const memory = "--v8-flags=--max-old-space-size=2048";
      const { success, output } = await deno(
        ["test", ...how, ...sane, memory, ...more, ONLY],
        limit,
      );
      if (success) return { result: "passed", output };
      const isLoaded = / \.\.\. (?:ok|FAILED|ignored)|\b[1-9]\d* passed/u.test(output);
      return { result: isLoaded ? "failed" : "not loaded", output };
    },
    async loads(path) {
      const load = `await import("./${path}")`;
      return (await deno(["eval", "--no-check", "--config", "deno.json", load], 60_000)).success;
    },
    async compiles(paths) {
      return (await deno(["check", "--frozen", "--config", LENIENT, ...paths], 600_000)).success;
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
