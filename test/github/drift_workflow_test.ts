import { assertEquals, assertStringIncludes } from "@std/assert";
import { parse } from "yaml";
import { z } from "zod/mini";
import { startProgram } from "../start_program.ts";

const job = z.object({
  steps: z.array(z.object({
    id: z.optional(z.string()),
    name: z.optional(z.string()),
    run: z.optional(z.string()),
  })),
});
const workflow = z.object({ jobs: z.object({ newest: job, propose: job, tell: job }) });
const FILE = new URL("../../.github/workflows/drift.yml", import.meta.url);
const { newest, propose, tell } = workflow.parse(parse(Deno.readTextFileSync(FILE))).jobs;
const steps = [...newest.steps, ...propose.steps, ...tell.steps];

/** What a step of the job has done. */
interface Done {
  readonly code: number;
  readonly output: string;
  readonly summary: string;
}

/** Runs a step as a runner does, with programs of that name in the place of those that ask others. */
async function step(called: string, programs: Readonly<Record<string, string>>): Promise<Done> {
  const folder = await Deno.makeTempDir();
  try {
    const [output, summary, bin, temp] = ["output", "summary", "bin", "temp"].map((name) =>
      `${folder}/${name}`
    ) as [string, string, string, string];
    await Promise.all([output, summary].map((file) => Deno.writeTextFile(file, "")));
    for (const made of [bin, temp]) await Deno.mkdir(made);
    for (const [name, script] of Object.entries(programs)) {
      await Deno.writeTextFile(`${bin}/${name}`, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    }
    const script = steps.find(({ id, name }) => (id ?? name) === called)?.run ?? "exit 99";
    const { code } = await startProgram(
      ["/bin/bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
      {
        env: {
          PATH: `${bin}:/usr/bin:/bin`,
          RUNNER_TEMP: temp,
          GITHUB_OUTPUT: output,
          GITHUB_STEP_SUMMARY: summary,
          GITHUB_REPOSITORY: "o/r",
          GITHUB_SERVER_URL: "https://github.example",
          GITHUB_RUN_ID: "7",
          CLAUDE_CODE: "/claude",
          VERSION: "2.1.400",
        },
        cwd: folder,
      },
    ).ended;
    const [told, shown] = await Promise.all(
      [output, summary].map((file) => Deno.readTextFile(file)),
    ) as [string, string];
    return { code, output: told, summary: shown };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Two earlier runs, of which the older one has kept the version that it has seen. */
const seen = (version: string) =>
  `case "$*" in
"run list"*) printf '2\\n1\\n' ;;
"run download 1 "*) mkdir "$9" && printf '${version}\\n' > "$9/version-seen" ;;
*) exit 1 ;;
esac`;

Deno.test("what is new is a version that was not seen last, and only what is a version", async () => {
  const npm = "echo 2.1.400";
  assertEquals(await step("versions", { npm, gh: seen("2.1.330") }), {
    code: 0,
    output: "newest=2.1.400\nnew=true\n",
    summary: "Claude Code 2.1.400, seen last: 2.1.330\n",
  });
  assertEquals((await step("versions", { npm, gh: seen("2.1.400") })).output, "newest=2.1.400\n");
  const never = await step("versions", { npm, gh: "exit 1" });
  assertEquals([never.code, never.output], [0, "newest=2.1.400\nnew=true\n"]);
  const odd = await step("versions", { npm: "echo '2.1.400; x'", gh: seen("2.1.330") });
  assertEquals([odd.code, odd.output], [1, ""]);
});

Deno.test("a version is measured, and red if it lacks what is needed", async () => {
  const measure = (code: number, patch: string) =>
    step("learn", {
      deno: `[ "$*" = "task learn" ] || exit 98
echo "0/5 frames"; echo "2.1.400: learnt in 90 s"; echo "  + hookEvents: New"; exit ${code}`,
      git: `[ "$1" != diff ] || printf '${patch}'`,
    });
  const summary = "```\n2.1.400: learnt in 90 s\n  + hookEvents: New\n```\n";
  assertEquals(await measure(0, "a patch"), { code: 0, output: "profiled=true\n", summary });
  assertEquals(await measure(0, ""), { code: 0, output: "", summary });
  assertEquals(await measure(1, "a patch"), { code: 1, output: "profiled=true\n", summary });
});

Deno.test("a profile is proposed, or left as a patch", async () => {
  const note = `for each; do printf '<%s>' "$each"; done >> "$GITHUB_STEP_SUMMARY"`;
  const git = `case "$1" in push) ${note} ;; esac`;
  const proposed = await step("Open a pull request", {
    git,
    gh: `[ "$1" = auth ] || ${note}`,
  });
  assertEquals(
    [proposed.code, proposed.summary],
    [
      0,
      "<push><--force><origin><profile-2.1.400><pr><create><--repo><o/r><--head>" +
      "<profile-2.1.400><--title><claude: learn Claude Code 2.1.400><--body-file><change.md>",
    ],
  );
  const refused = await step("Open a pull request", { git: ":", gh: '[ "$1" = auth ]' });
  assertEquals(refused.code, 0);
  assertStringIncludes(refused.summary, "git apply profile.patch");
  const foreign = await step("Open a pull request", { git: '[ "$1" != apply ]', gh: ":" });
  assertEquals(foreign.code, 1);
});

Deno.test("what drifts is told with its table and where it was seen, and what cannot be looked at is red", async () => {
  const look = (drift: number, tests: number) =>
    step("look", {
      deno: `case "$*" in
*" drift "*) echo "The table" >> "$GITHUB_STEP_SUMMARY"; exit ${drift} ;;
"task test") exit ${tests} ;;
esac
exit 98`,
    });
  const run = "The run: https://github.example/o/r/actions/runs/7\n";
  assertEquals(await look(0, 0), { code: 0, output: "", summary: `The table\n${run}` });
  assertEquals(await look(1, 0), {
    code: 0,
    output: "drifted=true\n",
    summary: `The table\n${run}`,
  });
  const failing = await look(0, 1);
  assertEquals([failing.code, failing.output], [0, "drifted=true\n"]);
  assertStringIncludes(failing.summary, "The tests fail with it.");
  assertEquals((await look(2, 0)).code, 2);
});

Deno.test("the issue has the version in its title and the table as its text, and where it cannot be opened that is red", async () => {
  const gh = `for each; do printf '<%s>' "$each"; done >> "$GITHUB_STEP_SUMMARY"`;
  const opened = await step("Open an issue", { gh });
  assertEquals([opened.code, opened.summary], [
    0,
    "<issue><create><--repo><o/r><--title><Claude Code 2.1.400 drifts><--body-file><table.md>",
  ]);
  assertEquals((await step("Open an issue", { gh: "exit 4" })).code, 4);
  assertEquals((await step("Be red", {})).code, 1);
});
