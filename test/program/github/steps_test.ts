import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { parse } from "yaml";
import { z } from "zod/mini";
import { startProgram } from "../../start_program.ts";
import { writeScript } from "../../write_script.ts";
import { tempFolder } from "../../temp_folder.ts";

const textOf = (path: string) =>
  Deno.readTextFileSync(new URL(`../../../${path}`, import.meta.url));
const text = z.optional(z.string());

const job = z.object({ steps: z.array(z.object({ id: text, name: text, run: text })) });
const { newest, propose, tell } = z.object({
  jobs: z.object({ newest: job, propose: job, tell: job }),
}).parse(parse(textOf(".github/workflows/drift.yml"))).jobs;
const driftSteps = [...newest.steps, ...propose.steps, ...tell.steps];

const ACTION = textOf("action.yml");
const { inputs, outputs, runs: { steps } } = z.strictObject({
  name: z.string(),
  description: z.string(),
  inputs: z.record(z.string(), z.strictObject({ description: z.string(), default: z.string() })),
  outputs: z.record(z.string(), z.strictObject({ description: z.string(), value: z.string() })),
  runs: z.strictObject({
    using: z.literal("composite"),
    steps: z.array(z.strictObject({
      ...{ id: text, if: text, uses: text, run: text, shell: z.optional(z.literal("sh")) },
      with: z.optional(z.record(z.string(), z.string())),
      env: z.optional(z.record(z.string(), z.string())),
    })),
  }),
}).parse(parse(ACTION));

/** A folder in which steps run as on a runner, with programs in the place of those on PATH. */
async function inRunner<T>(
  programs: Readonly<Record<string, string>>,
  use: (runner: {
    readonly folder: string;
    readonly run: (
      command: readonly string[],
      env: Readonly<Record<string, string>>,
    ) => Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }>;
    /** The text of a file that steps write to, such as `output`. */
    readonly written: (file: string) => string;
  }) => Promise<T>,
): Promise<T> {
  using temp = tempFolder();
  const folder = temp.path;
  for (const made of ["bin", "temp"]) Deno.mkdirSync(`${folder}/${made}`);
  const files = ["output", "path", "env", "step_summary"];
  for (const file of files) Deno.writeTextFileSync(`${folder}/${file}`, "");
  for (const [name, script] of Object.entries(programs)) {
    await writeScript(`${folder}/bin/${name}`, `#!/bin/sh\n${script}\n`);
  }
  const variables = files.map((file) => [`GITHUB_${file.toUpperCase()}`, `${folder}/${file}`]);
  return await use({
    folder,
    run: (command, env) =>
      startProgram(command, {
        env: {
          PATH: `${folder}/bin:/usr/bin:/bin`,
          RUNNER_TEMP: `${folder}/temp`,
          ...Object.fromEntries(variables),
          ...env,
        },
        cwd: folder,
      }).ended,
    written: (file) => Deno.readTextFileSync(`${folder}/${file}`),
  });
}

/** Runs a step of the drift workflow. */
function step(called: string, programs: Readonly<Record<string, string>> = {}) {
  const script = driftSteps.find(({ id, name }) => (id ?? name) === called)?.run ?? "exit 99";
  return inRunner(programs, async ({ run, written }) => {
    const bash = ["/bin/bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script];
    const { code } = await run(bash, {
      GITHUB_REPOSITORY: "o/r",
      GITHUB_SERVER_URL: "https://github.example",
      GITHUB_RUN_ID: "7",
      CLAUDE_CODE: "/claude",
      VERSION: "2.1.400",
    });
    return { code, output: written("output"), summary: written("step_summary") };
  });
}

/** Two earlier runs; the older one has kept the version that it has seen. */
const seen = (version: string) =>
  `case "$*" in
"run list"*) printf '2\\n1\\n' ;;
"run download 1 "*) mkdir "$9" && printf '${version}\\n' > "$9/version-seen" ;;
*) exit 1 ;;
esac`;

Deno.test("a version is new that was not seen last", async () => {
  const npm = "echo 2.1.400";
  const isNew = "newest=2.1.400\nnew=true\n";
  assertEquals(await step("versions", { npm, gh: seen("2.1.330") }), {
    code: 0,
    output: isNew,
    summary: "Claude Code 2.1.400, seen last: 2.1.330\n",
  });
  assertEquals((await step("versions", { npm, gh: seen("2.1.400") })).output, "newest=2.1.400\n");
  const never = await step("versions", { npm, gh: "exit 1" });
  assertEquals([never.code, never.output], [0, isNew]);
  const odd = await step("versions", { npm: "echo '2.1.400; x'", gh: seen("2.1.330") });
  assertEquals([odd.code, odd.output], [1, ""]);
});

Deno.test("a version is measured, and fails if it lacks capabilities", async () => {
  const measure = (code: number, patch: string) =>
    step("learn", {
      deno: `[ "$*" != "task docs" ] || exit 0
[ "$*" = "task learn" ] || exit 98
echo "0/5 frames"; echo "2.1.400: learnt in 90 s"; echo "  + hookEvents: New"; exit ${code}`,
      git: `[ "$1" != diff ] || printf '${patch}'`,
    });
  const summary = "```\n2.1.400: learnt in 90 s\n  + hookEvents: New\n```\n";
  assertEquals(await measure(0, "a patch"), { code: 0, output: "profiled=true\n", summary });
  assertEquals(await measure(0, ""), { code: 0, output: "", summary });
  assertEquals(await measure(1, "a patch"), { code: 1, output: "profiled=true\n", summary });
});

/** A program that writes its arguments into the summary. */
const NOTE = `for each; do printf '<%s>' "$each"; done >> "$GITHUB_STEP_SUMMARY"`;

Deno.test("a profile is proposed, or left as a patch", async () => {
  const open = (git: string, gh: string) => step("Open a pull request", { git, gh });
  const isAuth = '[ "$1" = auth ]';
  const proposed = await open(`case "$1" in push) ${NOTE} ;; esac`, `${isAuth} || ${NOTE}`);
  assertEquals([proposed.code, proposed.summary], [
    0,
    "<push><--force><origin><profile-2.1.400><pr><create><--repo><o/r><--head>" +
    "<profile-2.1.400><--title><claude: learn Claude Code 2.1.400><--body-file><change.md>",
  ]);
  const refused = await open(":", isAuth);
  assertEquals(refused.code, 0);
  assertStringIncludes(refused.summary, "git apply profile.patch");
  assertEquals((await open('[ "$1" != apply ]', ":")).code, 1);
});

Deno.test("drift is reported with its table and its run", async () => {
  const look = (drift: number, tests: number) =>
    step("look", {
      deno: `case "$*" in
*" drift "*) echo "The table" >> "$GITHUB_STEP_SUMMARY"; exit ${drift} ;;
"task test:all") exit ${tests} ;;
esac
exit 98`,
    });
  const summary = "The table\nThe run: https://github.example/o/r/actions/runs/7\n";
  assertEquals(await look(0, 0), { code: 0, output: "", summary });
  assertEquals(await look(1, 0), { code: 0, output: "drifted=true\n", summary });
  const failing = await look(0, 1);
  assertEquals([failing.code, failing.output], [0, "drifted=true\n"]);
  assertStringIncludes(failing.summary, "The tests fail with it.");
  assertEquals((await look(2, 0)).code, 2);
});

Deno.test("an issue has the version and the table", async () => {
  const { code, summary } = await step("Open an issue", { gh: NOTE });
  assertEquals([code, summary], [
    0,
    "<issue><create><--repo><o/r><--title><Claude Code 2.1.400 drifts><--body-file><table.md>",
  ]);
  assertEquals((await step("Open an issue", { gh: "exit 4" })).code, 4);
  assertEquals((await step("Be red")).code, 1);
});

Deno.test("the action pins what it uses and fills no script", () => {
  for (const [, used = ""] of ACTION.matchAll(/uses: (.*)$/gmu)) {
    assertMatch(used, /^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/u);
  }
  for (const { run = "" } of steps) assert(!run.includes("${{"), run);
});

/** Runs the steps of the action, with nothing kept of an earlier job, and a program in the place of install.sh. */
function action(given: Readonly<Record<string, string>>, programs = {}) {
  return inRunner(programs, async ({ folder, run, written }) => {
    Deno.writeTextFileSync(
      `${folder}/install.sh`,
      `for each; do printf '%s\\n' "$each"; done > ${folder}/installed\n`,
    );
    const values: Record<string, string> = { "github.action_path": folder };
    for (const [name, input] of Object.entries(inputs)) {
      values[`inputs.${name}`] = given[name] ?? input.default;
    }
    const filled = (template: string) =>
      template.replace(/\$\{\{ ([\w.-]+) \}\}/gu, (_, name) => {
        const value = values[name];
        assert(value !== undefined, `nothing is known of ${name}`);
        return value;
      });
    let [code, printed] = [0, ""];
    for (const { id, run: script, env = {} } of steps) {
      if (script === undefined || code !== 0) continue;
      const own = Object.entries(env).map(([name, value]) => [name, filled(value)]);
      const ended = await run(["/bin/sh", "-e", "-c", script], Object.fromEntries(own));
      code = ended.code;
      printed += ended.stdout + ended.stderr;
      for (const line of written("output").split("\n")) {
        const [name = "", value = ""] = line.split("=");
        values[`steps.${id}.outputs.${name}`] = value;
      }
    }
    const plain = (written: string) => written.replaceAll(folder, "");
    let installed: readonly string[] | undefined;
    try {
      installed = plain(written("installed")).trimEnd().split("\n");
    } catch {
      // The action has failed before.
    }
    return { code, printed, installed, path: plain(written("path")), env: written("env") };
  });
}

Deno.test("the action installs a version and puts it on PATH", async () => {
  const prefix = ["--prefix", "/temp/claude-print"];
  assertEquals(await action({}), {
    code: 0,
    printed: "",
    installed: prefix,
    path: "/temp/claude-print/bin\n",
    env: "RECORD=\n",
  });
  const named = await action({ version: "0.1.0" });
  assertEquals(named.installed, [...prefix, "--version", "0.1.0"]);
  const kept = steps.find(({ uses }) => uses?.startsWith("actions/cache@"));
  assertStringIncludes(kept?.with?.["key"] ?? "", "inputs.version");
  assertEquals(kept?.with?.["path"], "${{ steps.places.outputs.prefix }}");
  assertEquals(outputs["path"]?.value, "${{ steps.places.outputs.prefix }}/bin/claude-print");
});

Deno.test("the action records with a claude and refuses other modes", async () => {
  const recording = await action({ mode: "record" }, { claude: "" });
  assertEquals([recording.code, recording.env], [0, "RECORD=1\n"]);
  const without = await action({ mode: "record" });
  assertEquals([without.code, without.installed], [1, undefined]);
  assertStringIncludes(without.printed, "::error::Cannot record: there is no claude on PATH");
  const wrong = await action({ mode: "rec; echo hacked" });
  assertEquals([wrong.code, wrong.installed, wrong.printed], [
    1,
    undefined,
    "::error::Cannot set up cassettes: mode takes replay or record\n",
  ]);
});
