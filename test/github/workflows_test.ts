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

/** All that a workflow may have. */
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

Deno.test("there are workflows for changes, releases and drift", () => {
  assertEquals(WORKFLOWS.map(({ name }) => name).toSorted(), ["ci", "daily", "drift", "release"]);
});

const ALL_STEPS = WORKFLOWS.flatMap(({ jobs }) => Object.values(jobs).flatMap((job) => job.steps));

Deno.test("every action is pinned to a commit with its version", () => {
  const uses = WORKFLOWS.flatMap(({ text }) => [...text.matchAll(/uses: (.*)$/gmu)]);
  assertEquals(uses.length, ALL_STEPS.filter((step) => step.uses !== undefined).length);
  for (const [, action = ""] of uses) {
    assertMatch(action, /^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/u);
  }
});

Deno.test("a workflow may read the sources and keeps no token", () => {
  for (const { permissions } of WORKFLOWS) {
    if (Object.keys(permissions).length > 0) assertEquals(permissions, { contents: "read" });
  }
  for (const { uses = "", with: inputs } of ALL_STEPS) {
    if (uses.startsWith("actions/checkout@")) {
      assertEquals(inputs, { "persist-credentials": false });
    }
  }
});

Deno.test("scripts have no foreign text, builds no cache", () => {
  for (const { run = "", uses = "", with: inputs = {} } of ALL_STEPS) {
    assert(!run.includes("${{"), run);
    assert(!uses.includes("cache"), uses);
    assertEquals(Object.keys(inputs).filter((input) => input.includes("cache")), []);
  }
});

Deno.test("workflows run existing tasks with the Deno of the README", () => {
  for (const { name, text } of WORKFLOWS) {
    for (const [, task = ""] of text.matchAll(/(?:\bdeno@[\d.]+|\bdeno) task ([\w:]+)/gu)) {
      assert(Object.hasOwn(deno.tasks, task), task);
    }
    const versions = [...text.matchAll(/(?:deno-version: |[ "]deno@)([\d.]+)/gu)];
    assertEquals(new Set(versions.map(([, version]) => version)), new Set(["2.9.6"]), name);
  }
});

Deno.test("a job that reports drift runs nothing else", () => {
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
  // The version is kept last, so that a version whose check failed is checked again.
  const last = newest?.steps.at(-1);
  assertEquals([last?.with?.["name"], last?.if], ["version-seen", undefined]);
  const looks = newest?.steps.filter(({ if: when }) =>
    when === "steps.versions.outputs.new == 'true'"
  );
  assertEquals(looks?.length, 4);
  // A profile comes from a program that was not reviewed: with a right to write, nothing of it runs.
  assertEquals(propose?.permissions, { contents: "write", "pull-requests": "write" });
  const proposes = propose?.steps.map(({ uses = "", run = "" }) => uses.replace(/@.*/u, "") + run);
  assertEquals(proposes?.slice(0, -1), ["actions/checkout", "actions/download-artifact"]);
  assertMatch(
    proposes?.at(-1) ?? "",
    /^git apply --include='src\/claude\/versions\/\*' --include=docs\/explanation\/versions\.md profile\.patch\n/u,
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

/** All that may run with a right to write: nothing that others wrote. */
const BESIDE_RIGHTS: readonly RegExp[] = [
  /^actions\/(?:checkout|download-artifact|attest-build-provenance)@/u,
  /^echo "\$\{[A-Z]+%% \*\} {2}\S+" (?:\| sha256sum --check --strict|>"release\/\$ASSET\.sha256")$/u,
  /^gh release (?:create|edit) "\$GITHUB_REF_NAME" --draft[^;&|]*$/u,
];

/** All that may run with the right to publish: Deno and one script of the project, too. */
const BESIDE_PUBLISHING: readonly RegExp[] = [
  ...BESIDE_RIGHTS,
  /^denoland\/setup-deno@/u,
  /^deno run --no-config --no-lock --no-remote --no-npm --allow-read=\. --allow-write=\. \.github\/scripts\/drop_links\.ts$/u,
  /^cp release\/deno\.lock deno\.lock$/u,
  /^deno publish --allow-dirty$/u,
];

Deno.test("only release jobs without tests have rights", () => {
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

Deno.test("a release has the checksums from before its tests", () => {
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
  // Tests run in another job, so that none can change the files with checksums.
  const built = jobs["build"]?.steps.map(({ run = "" }) => run).join("\n") ?? "";
  assert(!/deno (?:task )?(?:test|ok|bench)/u.test(built), built);
});
