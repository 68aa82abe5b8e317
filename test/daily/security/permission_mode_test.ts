import { assert, assertEquals } from "@std/assert";
import measured from "../../../fixtures/permissions/permission_modes.json" with { type: "json" };
import {
  PERMISSION_CELLS,
  type PermissionCell,
} from "../../../fixtures/permissions/permission_cells.ts";
import { printPermissionMode } from "../../../fixtures/permissions/print_permission_mode.ts";
import { concurrently } from "../../concurrently.ts";
import { forNewestVersion } from "../../real/for_each_version.ts";
import { namedClaude } from "../../real/named_claude.ts";
import { writeFiles } from "../../write_files.ts";

/** Cells in which versions differ. */
const DIFFERING = ['project: "bypassPermissions"', 'repository: "plan"'];

/** A cell of each outcome, for a version that is not pinned. */
const SAMPLE = [
  ...[...DIFFERING, "project: null", 'project: "auto"'],
  ...['user: "auto"', 'parent: "acceptEdits"', "bypass asked for, and disabled by local"],
];

const cellOf = (name: string): PermissionCell => {
  const cell = PERMISSION_CELLS.find((each) => each.name === name);
  if (cell === undefined) throw new Error(`There is no cell "${name}"`);
  return cell;
};

forNewestVersion("claude -p begins in the recorded modes", async (real) => {
  const modes: Readonly<Record<string, string>> = measured;
  await concurrently(namedClaude === undefined ? DIFFERING : SAMPLE, {
    limit: 2,
    each: async (name) => {
      const measuredLast = modes[name]?.split(" ").at(-1);
      assertEquals(await printPermissionMode(real.binary, cellOf(name)), measuredLast, name);
    },
  });
});

forNewestVersion("an invalid mode of a project allows no tool", async (real) => {
  const { project } = real.home;
  const folder = `${project}/sub`;
  // No folder above is asked.
  await writeFiles(project, {
    "sub/.claude/settings.json": { permissions: { defaultMode: null } },
    ".claude/settings.json": { permissions: { defaultMode: "acceptEdits" } },
  });
  const made = `${folder}/made`;
  const prompt =
    `Hi [[tool Write {"file_path":"${made}","content":"x"}]] [[bash touch made2]] [[say done]]`;
  const args = ["--output-format=stream-json", "--verbose", "--", prompt];
  for (
    const { code, stdout } of [
      await real.printInProcess(args, { cwd: folder }),
      await real.claudeP(args, { cwd: folder, recorded: "permission_mode/none" }),
    ]
  ) {
    assertEquals(code, 0);
    assert(stdout.includes('"permissionMode":"default"'));
    assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name), [".claude"]);
    const denials = JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "").permission_denials;
    assertEquals(denials.map((each: { tool_name: string }) => each.tool_name), ["Write", "Bash"]);
  }
});
