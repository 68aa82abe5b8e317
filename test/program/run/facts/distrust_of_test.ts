import { assertEquals } from "@std/assert";
import { IGNORED_CELLS, layIgnoredCell } from "../../../../fixtures/permissions/ignored_cells.ts";
import ignored from "../../../../fixtures/permissions/ignored_rules.json" with { type: "json" };
import { makeThrowawayHome, type ThrowawayHome } from "../../../../fixtures/throwaway_home.ts";
import { distrustOf } from "../../../../src/run/facts/project_facts.ts";
import { definedFields } from "../../../../src/defined_fields.ts";
import { ignoredRules } from "../../../../src/run/plan/warnings.ts";
import { type Settings, soundSettings } from "../../../../src/sandbox/child/read_settings.ts";
import { readOwnJsonObject } from "../../../../src/sandbox/read_json_object.ts";
import { missingTool } from "../../../missing_tool.ts";
import { readCell } from "../../../run/plan/permission_mode_test.ts";
import { skipIfLacking } from "../../../skip_if_lacking.ts";
import { writeScript } from "../../../write_script.ts";
import { git } from "../../../git.ts";

const RULES = { permissions: { allow: ["Edit"] } };

/** The distrust of a home's project, and where it differs from the usual. */
const distrustIn = (
  home: ThrowawayHome,
  source: Settings["source"],
  { path, trusts = false, ...more }: {
    readonly path?: string;
    readonly trusts?: boolean;
    readonly projectRoot?: string;
    readonly isAlone?: boolean;
  } = {},
) =>
  distrustOf([{ source, values: RULES }], {
    order: { cwd: home.project, env: { ...home.env, ...definedFields({ PATH: path }) } },
    places: { projectRoot: home.project, isAlone: false, userDir: home.config, ...more },
    claudeJson: { projects: { [home.project]: { hasTrustDialogAccepted: trusts } } },
  });

Deno.test("a project with rules needs trust", async () => {
  await using home = await makeThrowawayHome({ loggedIn: false });
  assertEquals(await distrustIn(home, "user"), undefined);
  assertEquals(await distrustIn(home, "project", { trusts: true }), undefined);
  assertEquals(await distrustIn(home, "project"), { folder: home.project, sources: ["project"] });
  // Without git, local settings are the user's; if git fails, they may be the project's.
  const path = `bin:${home.path}`;
  assertEquals((await distrustIn(home, "local", { path }))?.sources, []);
  await writeScript(`${home.path}/git`, "#!/bin/sh\nexit 128\n");
  assertEquals((await distrustIn(home, "local", { path }))?.sources, ["local"]);
});

Deno.test(skipIfLacking(missingTool("git"), {
  name: "ignored rules are those of claude -p",
  fn: async () => {
    for (const cell of IGNORED_CELLS) {
      await using home = await makeThrowawayHome({ loggedIn: false });
      await layIgnoredCell(home, cell);
      const { cwd, documentsFor } = await readCell(cell, home.path);
      const settings = soundSettings(documentsFor("2.1.332"));
      const claudeJson = `${home.path}/.claude.json`;
      const distrust = await distrustOf(settings, {
        order: { cwd, env: home.env },
        places: { projectRoot: cwd, isAlone: false, userDir: home.config },
        claudeJson: readOwnJsonObject(claudeJson),
      });
      const lines = ignoredRules(settings, { distrust, claudeJson })
        .map((line) => line.replaceAll(home.path, "HOME"));
      assertEquals(lines, ignored[cell.name as keyof typeof ignored], cell.name);
    }
    assertEquals(Object.keys(ignored).toSorted(), IGNORED_CELLS.map(({ name }) => name).toSorted());
  },
}));

Deno.test(skipIfLacking(missingTool("git"), {
  name: "tracked local settings belong to the project",
  fn: async () => {
    await using home = await makeThrowawayHome({ loggedIn: false });
    const trusted = `${home.path}/trusted`;
    for (const dir of [trusted, `${trusted}/sub`]) {
      Deno.mkdirSync(`${dir}/.claude`, { recursive: true });
      Deno.writeTextFileSync(`${dir}/.claude/settings.local.json`, "{}");
    }
    for (const args of [["init", "-q"], ["add", "-f", ".claude"]]) {
      await git({ ...home, project: trusted }, ...args);
    }
    const rows = [["", true, ["local"]], ["/sub", true, []], ["/sub", false, ["local"]]] as const;
    for (const [sub, isAlone, sources] of rows) {
      const projectRoot = `${trusted}${sub}`;
      assertEquals(await distrustIn(home, "local", { projectRoot, isAlone }), {
        folder: home.project,
        sources: [...sources],
      });
    }
  },
}));
