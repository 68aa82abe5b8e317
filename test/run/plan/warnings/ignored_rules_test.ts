import { assertEquals } from "@std/assert";
import { IGNORED_CELLS, layIgnoredCell } from "../../../../fixtures/permissions/ignored_cells.ts";
import measured from "../../../../fixtures/permissions/ignored_rules.json" with { type: "json" };
import { makeThrowawayHome } from "../../../../fixtures/throwaway_home.ts";
import { distrustOf } from "../../../../src/run/facts/distrust_of.ts";
import { ignoredRules } from "../../../../src/run/plan/warnings/ignored_rules.ts";
import type { Settings } from "../../../../src/sandbox/child/read_settings.ts";
import { readOwnJsonObject } from "../../../../src/sandbox/read_json_object.ts";
import { lackOf } from "../../../find_tool.ts";
import { unlessLacking } from "../../../unless_lacking.ts";
import { readCell } from "../read_cell.ts";

Deno.test(unlessLacking(lackOf("git"), {
  name: "ignoredRules() of what is read is what claude -p 2.1.332 says, in every cell",
  fn: async () => {
    const said: Record<string, readonly string[]> = {};
    for (const cell of IGNORED_CELLS) {
      await using home = await makeThrowawayHome();
      await layIgnoredCell(home, cell);
      const { cwd, settings } = await readCell(cell, { home, version: "2.1.332" });
      const claudeJson = `${home.path}/.claude.json`;
      const distrust = await distrustOf(settings, {
        cwd,
        projectRoot: cwd,
        isAlone: false,
        env: home.env,
        userDir: home.config,
        claudeJson: readOwnJsonObject(claudeJson),
      });
      said[cell.name] = ignoredRules(settings, { distrust, claudeJson })
        .map((line) => line.replaceAll(home.path, "HOME"));
    }
    assertEquals(said, { ...measured });
  },
}));

const RULED: readonly Settings[] = [{
  source: "project",
  values: { permissions: { allow: ["Edit"] } },
}];

Deno.test("distrustOf() names a project that has rules and no trust", async () => {
  await using home = await makeThrowawayHome();
  const of = async (settings: readonly Settings[], trusts = false) =>
    await distrustOf(settings, {
      cwd: home.project,
      projectRoot: home.project,
      isAlone: false,
      env: home.env,
      userDir: home.config,
      claudeJson: { projects: { [home.project]: { hasTrustDialogAccepted: trusts } } },
    });
  assertEquals(await of([]), undefined);
  assertEquals(await of([{ source: "user", values: RULED[0]?.values ?? {} }]), undefined);
  assertEquals(await of(RULED, true), undefined);
  assertEquals(await of(RULED), { folder: home.project, sources: ["project"] });
});

Deno.test(unlessLacking(lackOf("git"), {
  name:
    "distrustOf() takes local settings for the user's own where there is no git to say otherwise",
  fn: async () => {
    await using home = await makeThrowawayHome();
    const local = { source: "local", values: RULED[0]?.values ?? {} } as const;
    const of = async (path: string) =>
      (await distrustOf([local], {
        cwd: home.project,
        projectRoot: home.project,
        isAlone: false,
        env: { ...home.env, PATH: path },
        userDir: home.config,
        claudeJson: {},
      }))?.sources;
    assertEquals(await of(`bin:${home.path}`), []);
    await Deno.writeTextFile(`${home.path}/git`, "#!/bin/sh\nexit 128\n", { mode: 0o755 });
    assertEquals(
      await of(`bin:${home.path}`),
      ["local"],
      "what git cannot tell is not the user's",
    );
  },
}));

Deno.test(unlessLacking(lackOf("git"), {
  name:
    "distrustOf() takes local settings for what they are where they lie, and trust from the working directory",
  fn: async () => {
    await using home = await makeThrowawayHome();
    const { project, path } = home;
    Deno.mkdirSync(`${path}/trusted/sub/.claude`, { recursive: true });
    Deno.mkdirSync(`${path}/trusted/.claude`);
    for (const dir of [`${path}/trusted`, `${path}/trusted/sub`]) {
      Deno.writeTextFileSync(`${dir}/.claude/settings.local.json`, "{}");
    }
    for (const args of [["init", "-q"], ["add", "-f", ".claude"]]) {
      await new Deno.Command("git", { args, cwd: `${path}/trusted` }).output();
    }
    const local = { source: "local", values: RULED[0]?.values ?? {} } as const;
    const of = (dir: string, isAlone: boolean) =>
      distrustOf([local], {
        cwd: project,
        projectRoot: `${path}/${dir}`,
        isAlone,
        env: home.env,
        userDir: home.config,
        claudeJson: {},
      });
    assertEquals(await of("trusted", true), { folder: project, sources: ["local"] });
    assertEquals(await of("trusted/sub", true), { folder: project, sources: [] });
    assertEquals(await of("trusted/sub", false), { folder: project, sources: ["local"] });
  },
}));

Deno.test("ignoredRules() counts rules of any length in no time", () => {
  const allow = ["mcp__", "mcp__a__b", "mcp__a__*", "mcp__*", "mcp__a(b)", "Bash(x)", "bash"]
    .concat(`mcp__${"_".repeat(300_000)}(`, `mcp__${"_".repeat(300_000)}`);
  const [line = ""] = ignoredRules([{ source: "project", values: { permissions: { allow } } }], {
    distrust: { folder: "/w", sources: ["project"] },
    claudeJson: "/home/.claude.json",
  });
  assertEquals(line.split(" from ")[0], "Ignoring 5 permissions.allow entries");
});
