import measured from "../../../../fixtures/permissions/permission_modes.json" with { type: "json" };
import {
  layPermissionCell,
  PERMISSION_CELLS,
} from "../../../../fixtures/permissions/permission_cells.ts";
import { assertEquals } from "@std/assert";
import { makeThrowawayHome } from "../../../../fixtures/throwaway_home.ts";
import { permissionMode } from "../../../../src/run/plan/decisions/permission_mode.ts";
import type { Settings } from "../../../../src/sandbox/child/read_settings.ts";
import { readCell } from "../read_cell.ts";

/** Only root can give files to another user. */
const CELLS = PERMISSION_CELLS.filter(({ foreign }) => foreign === undefined || Deno.uid() === 0);

for (const [at, version] of ["2.1.285", "2.1.332"].entries()) {
  Deno.test(`permissionMode() of what is read is the mode of claude -p ${version}, in every cell`, async () => {
    const decided: Record<string, string> = {};
    for (const cell of CELLS) {
      await using home = await makeThrowawayHome();
      await layPermissionCell(home, cell);
      const { request, settings } = await readCell(cell, { home, version });
      decided[cell.name] = permissionMode({
        asked: request.permissionMode,
        skipped: request.dangerouslySkipPermissions,
        settings,
        remote: false,
        version,
      });
    }
    const expected = CELLS.map(({ name }) => {
      // A word for each version where they differ.
      const modes = measured[name as keyof typeof measured].split(" ");
      return [name, modes[at] ?? modes[0]];
    });
    assertEquals(decided, Object.fromEntries(expected));
  });
}

const naming = (source: Settings["source"], defaultMode: string): Settings => ({
  source,
  values: { permissions: { defaultMode } },
});

Deno.test("permissionMode() takes an administrator's word over all others", () => {
  const settings = [naming("flags", "acceptEdits"), naming("managed", "auto")];
  assertEquals(permissionMode({ skipped: false, settings, remote: false }), "auto");
});

Deno.test("a project cannot have permissions bypassed", () => {
  const settings = [naming("project", "bypassPermissions")];
  assertEquals(permissionMode({ skipped: false, settings, remote: false }), "default");
});

Deno.test("permissionMode() heeds on the web only what Claude Code heeds there", () => {
  for (
    const [mode, expected] of [["dontAsk", "default"], ["acceptEdits", "acceptEdits"]] as const
  ) {
    const settings = [naming("user", mode)];
    assertEquals(permissionMode({ skipped: false, settings, remote: true }), expected);
  }
  assertEquals(
    permissionMode({ skipped: false, settings: [naming("user", "manual")], remote: false }),
    "default",
  );
});
