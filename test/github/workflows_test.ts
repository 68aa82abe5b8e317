import { assert, assertEquals, assertMatch } from "@std/assert";
import { parse } from "yaml";
import { z } from "zod/mini";
import deno from "../../deno.json" with { type: "json" };

const permissions = z.record(z.string(), z.enum(["read", "write"]));

const step = z.strictObject({
  name: z.optional(z.string()),
  id: z.optional(z.string()),
  if: z.optional(z.string()),
  uses: z.optional(z.string()),
  with: z.optional(z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]))),
  run: z.optional(z.string()),
  env: z.optional(z.record(z.string(), z.string())),
});

/** What a workflow may have; what is not here would have to be thought about first. */
const workflow = z.strictObject({
  name: z.string(),
  on: z.partialRecord(
    z.enum(["push", "pull_request", "schedule", "workflow_dispatch"]),
    z.unknown(),
  ),
  permissions,
  concurrency: z.strictObject({ group: z.string(), "cancel-in-progress": z.boolean() }),
  env: z.record(z.string(), z.union([z.string(), z.number()])),
  jobs: z.record(
    z.string(),
    z.strictObject({
      needs: z.optional(z.union([z.string(), z.array(z.string())])),
      if: z.optional(z.string()),
      "runs-on": z.literal("ubuntu-24.04"),
      "timeout-minutes": z.number(),
      permissions: z.optional(permissions),
      outputs: z.optional(z.record(z.string(), z.string())),
      steps: z.array(step),
    }),
  ),
});

const FOLDER = new URL("../../.github/workflows/", import.meta.url);
const WORKFLOWS = [...Deno.readDirSync(FOLDER)].map(({ name }) => {
  const text = Deno.readTextFileSync(new URL(name, FOLDER));
  return { text, ...workflow.parse(parse(text)) };
});

Deno.test("there is a workflow for changes, for releases and for new versions of Claude Code", () => {
  const names = WORKFLOWS.map(({ name }) => name);
  assertEquals(names.toSorted(), ["ci", "drift", "release"]);
});

for (const { name, text, permissions, jobs } of WORKFLOWS) {
  const steps = Object.values(jobs).flatMap(({ steps }) => steps);

  Deno.test(`${name} pins every action to a commit and says which version that is`, () => {
    const uses = [...text.matchAll(/uses: (.*)$/gmu)].map(([, action = ""]) => action);
    assertEquals(uses.length, steps.filter(({ uses }) => uses !== undefined).length);
    for (const action of uses) {
      assertMatch(action, /^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/u);
    }
  });

  Deno.test(`${name} grants nothing to all jobs but to read the sources, and leaves no token there`, () => {
    if (Object.keys(permissions).length > 0) assertEquals(permissions, { contents: "read" });
    for (const { uses = "", with: inputs } of steps) {
      if (uses.startsWith("actions/checkout@")) {
        assertEquals(inputs, { "persist-credentials": false });
      }
    }
  });

  Deno.test(`${name} puts no text from elsewhere into a script, and no cache of another run into a build`, () => {
    for (const { run = "", uses = "", with: inputs = {} } of steps) {
      assert(!run.includes("${{"), run);
      assert(!uses.includes("cache"), uses);
      assertEquals(Object.keys(inputs).filter((input) => input.includes("cache")), []);
    }
  });

  Deno.test(`${name} runs tasks that there are, with the Deno that the README names`, () => {
    for (const [, task = ""] of text.matchAll(/(?:\bdeno@[\d.]+|\bdeno) task ([\w:]+)/gu)) {
      assert(Object.hasOwn(deno.tasks, task), task);
    }
    const versions = [...text.matchAll(/(?:deno-version: |[ "]deno@)([\d.]+)/gu)].map(([, v]) => v);
    assertEquals(new Set(versions), new Set(["2.9.6"]));
  });
}

Deno.test("what drifts is told by a job that runs nothing else, and a version is seen once", () => {
  const { jobs = {} } = WORKFLOWS.find(({ name }) => name === "drift") ?? {};
  const { newest, propose, tell } = jobs;
  assertEquals(Object.keys(jobs), ["newest", "propose", "tell"]);
  assertEquals(newest?.permissions, { contents: "read", actions: "read" });
  assertEquals([tell?.needs, tell?.if], ["newest", "needs.newest.outputs.drifted == 'true'"]);
  assertEquals(tell?.permissions, { issues: "write" });
  const told = tell?.steps.map(({ uses = "", run = "" }) => uses.replace(/@.*/u, "") + run) ?? [];
  assertEquals([told.length, told[2]], [3, "exit 1"]);
  assertEquals(told[0], "actions/download-artifact");
  assertMatch(told[1] ?? "", /^gh issue create [^;&|]* --body-file table\.md$/u);
  // The version is kept last, so that one that could not be looked at is looked at again.
  const last = newest?.steps.at(-1);
  assertEquals([last?.with?.["name"], last?.if], ["version-seen", undefined]);
  const looks = newest?.steps.filter(({ if: when }) =>
    when === "steps.versions.outputs.new == 'true'"
  );
  assertEquals(looks?.length, 4);
  // A profile comes from a program that nobody has looked at: beside a right to write, nothing of it runs.
  assertEquals(propose?.permissions, { contents: "write", "pull-requests": "write" });
  const proposes = propose?.steps.map(({ uses = "", run = "" }) => uses.replace(/@.*/u, "") + run);
  assertEquals(proposes?.slice(0, -1), ["actions/checkout", "actions/download-artifact"]);
  assertMatch(
    proposes?.at(-1) ?? "",
    /^git apply --include='src\/claude\/versions\/\*' profile\.patch\n/u,
  );
  assert(!/\b(?:deno|npm|node|sh)\b/u.test(proposes?.at(-1) ?? ""));
});

/** The jobs of a release in the order in which they need each other, and all that each may do. */
const RELEASE_JOBS = {
  build: { contents: "read" },
  test: { contents: "read" },
  draft: { contents: "write", "id-token": "write", attestations: "write" },
  publish: { contents: "read", "id-token": "write" },
  show: { contents: "write" },
} as const;

/** All that may run beside a right to write: nothing that others wrote, and of the project's own one script. */
const BESIDE_RIGHTS: readonly RegExp[] = [
  /^actions\/(?:checkout|download-artifact|attest-build-provenance)@/u,
  /^echo "\$\{[A-Z]+%% \*\} {2}\S+" (?:\| sha256sum --check --strict|>"release\/\$ASSET\.sha256")$/u,
  /^gh release (?:create|edit) "\$GITHUB_REF_NAME" --draft[^;&|]*$/u,
];

/** What may run beside the right to publish and no other: Deno, and of the project's own one script. */
const BESIDE_PUBLISHING: readonly RegExp[] = [
  ...BESIDE_RIGHTS,
  /^denoland\/setup-deno@/u,
  /^deno run --no-config --no-lock --no-remote --no-npm --allow-read=\. --allow-write=\. \.github\/scripts\/drop_links\.ts$/u,
  /^cp release\/deno\.lock deno\.lock$/u,
  /^deno publish --allow-dirty$/u,
];

Deno.test("a release is built and tested without a right, and what has one runs nothing else", () => {
  const { permissions, jobs = {} } = WORKFLOWS.find(({ name }) => name === "release") ?? {};
  assertEquals(permissions, {});
  const granted = Object.entries(jobs).map(([name, { permissions }]) => [name, permissions]);
  assertEquals(Object.fromEntries(granted), RELEASE_JOBS);
  for (const [name, { permissions = {}, steps }] of Object.entries(jobs)) {
    if (!Object.values(permissions).includes("write")) continue;
    const allowed = permissions["contents"] === "write" ? BESIDE_RIGHTS : BESIDE_PUBLISHING;
    for (const { uses, run = "" } of steps) {
      for (const line of uses === undefined ? run.trim().split("\n") : [uses]) {
        assert(allowed.some((may) => may.test(line)), `${name}: ${line}`);
      }
    }
  }
});

Deno.test("a release is what was built and passed the tests, by the checksums from before them", () => {
  const { jobs = {} } = WORKFLOWS.find(({ name }) => name === "release") ?? {};
  const needs = Object.entries(jobs).map(([name, { needs = [] }]) => [name, [needs].flat()]);
  assertEquals(Object.fromEntries(needs), {
    build: [],
    test: ["build"],
    draft: ["build", "test"],
    publish: ["build", "draft"],
    show: ["publish"],
  });
  for (const [name, { steps }] of Object.entries(jobs)) {
    const runs = steps.map(({ uses = "", run = "" }) => uses + run);
    const downloaded = runs.findIndex((line) => line.startsWith("actions/download-artifact@"));
    if (downloaded < 0 || name === "test") continue;
    const verified = runs.findIndex((line) => line.includes("sha256sum --check --strict"));
    const used = runs.findIndex((line) => /^(?:actions\/attest|gh |deno publish)/u.test(line));
    assert(downloaded < verified && verified < used, `${name}: ${runs.join("\n")}`);
    for (const sum of Object.values(steps[verified]?.env ?? {})) {
      assertMatch(sum, /^\$\{\{ needs\.build\.outputs\.(?:executable|lock) \}\}$/u);
    }
  }
  // Tests run in another job, so that none can touch what is summed up.
  const built = jobs["build"]?.steps.map(({ run = "" }) => run).join("\n") ?? "";
  assert(!/deno (?:task )?(?:test|ok|bench)/u.test(built), built);
});
