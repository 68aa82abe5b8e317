import { assert, assertEquals, assertMatch } from "@std/assert";
import deno from "../../deno.json" with { type: "json" };

const FOLDER = new URL("../../.github/workflows/", import.meta.url);
const WORKFLOWS = [...Deno.readDirSync(FOLDER)].map(({ name }) => ({
  name,
  text: Deno.readTextFileSync(new URL(name, FOLDER)),
}));

Deno.test("there is a workflow for changes, for releases and for new versions of Claude Code", () => {
  assertEquals(WORKFLOWS.map(({ name }) => name).toSorted(), [
    "ci.yml",
    "drift.yml",
    "release.yml",
  ]);
});

for (const { name, text } of WORKFLOWS) {
  Deno.test(`${name} pins every action to a commit and says which version that is`, () => {
    const uses = [...text.matchAll(/uses: (.*)$/gmu)].map(([, action = ""]) => action);
    assert(uses.length > 0);
    for (const action of uses) {
      assertMatch(action, /^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/u);
    }
  });

  Deno.test(`${name} grants nothing to all jobs but to read the sources`, () => {
    assertMatch(text, /^permissions:(?: \{\}$|\n {2}contents: read\n(?! ))/mu);
    assertMatch(text, /^concurrency:\n {2}group: /mu);
    for (const checkout of text.split("actions/checkout@").slice(1)) {
      assertMatch(checkout, /^[^\n]*\n +with:\n +persist-credentials: false\n/u);
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
