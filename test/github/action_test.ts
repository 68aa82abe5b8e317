import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { parse } from "yaml";
import { z } from "zod/mini";
import { startProgram } from "../start_program.ts";

const step = z.strictObject({
  id: z.optional(z.string()),
  if: z.optional(z.string()),
  uses: z.optional(z.string()),
  with: z.optional(z.record(z.string(), z.string())),
  shell: z.optional(z.literal("sh")),
  env: z.optional(z.record(z.string(), z.string())),
  run: z.optional(z.string()),
});

const action = z.strictObject({
  name: z.string(),
  description: z.string(),
  inputs: z.record(z.string(), z.strictObject({ description: z.string(), default: z.string() })),
  outputs: z.record(z.string(), z.strictObject({ description: z.string(), value: z.string() })),
  runs: z.strictObject({ using: z.literal("composite"), steps: z.array(step) }),
});

const TEXT = Deno.readTextFileSync(new URL("../../action.yml", import.meta.url));
const { inputs, outputs, runs: { steps } } = action.parse(parse(TEXT));

Deno.test("the action pins what it uses, and puts no text from elsewhere into a script", () => {
  for (const [, used = ""] of TEXT.matchAll(/uses: (.*)$/gmu)) {
    assertMatch(used, /^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/u);
  }
  for (const { run = "" } of steps) assert(!run.includes("${{"), run);
});

/** What a job has after the action. */
interface Job {
  readonly code: number;
  readonly said: string;
  /** What install.sh was given, where it was called. */
  readonly installed?: readonly string[];
  readonly path: string;
  readonly env: string;
}

/** Runs the steps of the action as a runner does, with nothing kept of an earlier job, and what stands in for install.sh. */
async function job(
  given: Readonly<Record<string, string>>,
  { claude = false }: { readonly claude?: boolean } = {},
): Promise<Job> {
  const folder = await Deno.makeTempDir();
  try {
    const files = ["output", "path", "env"].map((name) => `${folder}/${name}`);
    const [output = "", path = "", env = ""] = files;
    for (const file of files) await Deno.writeTextFile(file, "");
    const bin = `${folder}/own`;
    await Deno.mkdir(bin);
    if (claude) await Deno.writeTextFile(`${bin}/claude`, "#!/bin/sh\n", { mode: 0o755 });
    await Deno.writeTextFile(
      `${folder}/install.sh`,
      `for each; do printf '%s\\n' "$each"; done > ${folder}/installed\n`,
    );
    const values: Record<string, string> = {
      "github.action_path": folder,
      ...Object.fromEntries(
        Object.entries(inputs).map(([name, input]) => [
          `inputs.${name}`,
          given[name] ?? input.default,
        ]),
      ),
    };
    const filled = (text: string) =>
      text.replace(/\$\{\{ ([\w.-]+) \}\}/gu, (_, name) => {
        const value = values[name];
        assert(value !== undefined, `nothing is known of ${name}`);
        return value;
      });
    let [code, said] = [0, ""];
    for (const { id, run, env: own = {} } of steps) {
      if (run === undefined || code !== 0) continue;
      const ended = await startProgram(["/bin/sh", "-e", "-c", run], {
        env: {
          PATH: `${bin}:/usr/bin:/bin`,
          RUNNER_TEMP: `${folder}/temp`,
          GITHUB_OUTPUT: output,
          GITHUB_PATH: path,
          GITHUB_ENV: env,
          ...Object.fromEntries(Object.entries(own).map(([name, text]) => [name, filled(text)])),
        },
        cwd: folder,
      }).ended;
      code = ended.code;
      said += ended.stdout + ended.stderr;
      for (const line of (await Deno.readTextFile(output)).split("\n")) {
        const [name = "", value = ""] = line.split("=");
        values[`steps.${id}.outputs.${name}`] = value;
      }
    }
    const installed = await Deno.readTextFile(`${folder}/installed`).catch(() => undefined);
    const plain = (text: string) => text.replaceAll(folder, "");
    return {
      code,
      said,
      ...(installed === undefined ? {} : { installed: plain(installed).trimEnd().split("\n") }),
      path: plain(await Deno.readTextFile(path)),
      env: await Deno.readTextFile(env),
    };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("the action installs the newest claude-print, or the one that is named, and puts it on PATH", async () => {
  const prefix = ["--prefix", "/temp/claude-print"];
  const newest = await job({});
  assertEquals(newest, {
    code: 0,
    said: "",
    installed: prefix,
    path: "/temp/claude-print/bin\n",
    env: "RECORD=\n",
  });
  const named = await job({ version: "0.1.0" });
  assertEquals(named.installed, [...prefix, "--version", "0.1.0"]);
  const kept = steps.find(({ uses }) => uses?.startsWith("actions/cache@"));
  assertStringIncludes(kept?.with?.["key"] ?? "", "inputs.version");
  assertEquals(kept?.with?.["path"], "${{ steps.places.outputs.prefix }}");
  assertEquals(outputs["path"]?.value, "${{ steps.places.outputs.prefix }}/bin/claude-print");
});

Deno.test("with mode record what is missing is recorded, if there is a claude to do so", async () => {
  const recording = await job({ mode: "record" }, { claude: true });
  assertEquals([recording.code, recording.env], [0, "RECORD=1\n"]);
  const without = await job({ mode: "record" });
  assertEquals([without.code, without.installed], [1, undefined]);
  assertStringIncludes(without.said, "::error::Cannot record: there is no claude on PATH");
});

Deno.test("a mode that there is not is refused before anything is installed", async () => {
  const wrong = await job({ mode: "rec; echo hacked" });
  assertEquals([wrong.code, wrong.installed], [1, undefined]);
  assertEquals(wrong.said, "::error::Cannot set up cassettes: mode takes replay or record\n");
});
