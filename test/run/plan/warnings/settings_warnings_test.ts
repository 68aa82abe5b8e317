import { assertEquals } from "@std/assert";
import { layIgnoredCell } from "../../../../fixtures/permissions/ignored_cells.ts";
import { SETTINGS_CELLS } from "../../../../fixtures/permissions/settings_cells.ts";
import measured from "../../../../fixtures/permissions/settings_warnings.json" with {
  type: "json",
};
import { makeThrowawayHome } from "../../../../fixtures/throwaway_home.ts";
import {
  settingsWarnings,
  warningsHangOnVersion,
} from "../../../../src/run/plan/warnings/settings_warnings.ts";
import type { SettingsDocument } from "../../../../src/sandbox/child/read_settings.ts";
import { judgedSettings } from "../../../../src/settings/judged_settings.ts";
import { readCell } from "../read_cell.ts";

for (const [version, lines] of Object.entries(measured)) {
  Deno.test(`settingsWarnings() of what is read is what claude -p ${version} says, in every cell`, async () => {
    const said: Record<string, readonly string[]> = {};
    for (const cell of SETTINGS_CELLS) {
      await using home = await makeThrowawayHome();
      await layIgnoredCell(home, cell);
      const { request, documents } = await readCell(cell, { home, version });
      const answerAlone = request.outputFormat === "text";
      said[cell.name] = settingsWarnings({ ...request, answerAlone }, { documents, version })
        .flatMap((text) => text.replaceAll(home.path, "HOME").split("\n"));
    }
    assertEquals(said, { ...lines });
  });
}

/** A document of the user's, as if a file held that value. */
const user = (settings: unknown): SettingsDocument => ({
  source: "user",
  name: "/h/settings.json",
  ...judgedSettings(settings),
});

const ALONE = { answerAlone: true, disallowedTools: [], forwarded: [] };

Deno.test("settingsWarnings() tells nothing of versions that say nothing, nor of tools that nobody has looked at", () => {
  const documents = [user({ permissions: { deny: ["Bogus", "x"] } }), user({ model: 5 })];
  for (const version of [undefined, "2.1.168"]) {
    assertEquals(settingsWarnings(ALONE, { documents, version }), []);
  }
  assertEquals(settingsWarnings(ALONE, { documents, version: "2.1.200" }), []);
  const [line = "", ...others] = settingsWarnings(ALONE, { documents, version: "2.1.400" });
  assertEquals(line.split("\n").length, 5);
  assertEquals(others, []);
});

Deno.test("settingsWarnings() tells of an effort that is none, beside frames too", () => {
  const told = (effort: string, version = "2.1.330") =>
    settingsWarnings({ ...ALONE, answerAlone: false, forwarded: [`--effort=${effort}`] }, {
      documents: [],
      version,
    });
  for (const known of ["low", "med", " HIGH ", "max", "ultracode"]) assertEquals(told(known), []);
  const said = (effort: string) => [
    `Unknown --effort value '${effort}' — ignoring it and using the default effort. ` +
    "Valid values: low, medium, high, xhigh, max.",
  ];
  for (const unknown of ["", "auto", "constructor"]) assertEquals(told(unknown), said(unknown));
  assertEquals(told("a\nb"), said("a b"));
  assertEquals(told("ultracode", "2.1.197"), said("ultracode"));
  assertEquals(told("nonesuch", "2.1.168"), []);
});

Deno.test("warningsHangOnVersion() where there is something to tell, and nowhere else", () => {
  for (const permissions of [{}, { deny: ["Bash", "mcp__a"], allow: ["Bogus"] }, { ask: [] }]) {
    assertEquals(warningsHangOnVersion(ALONE, [user({ permissions })]), false);
  }
  const documents = [user({ permissions: { allow: ["x"] } })];
  assertEquals(warningsHangOnVersion(ALONE, documents), true);
  // Beside frames nobody tells of that.
  assertEquals(warningsHangOnVersion({ ...ALONE, answerAlone: false }, documents), false);
  assertEquals(warningsHangOnVersion({ ...ALONE, disallowedTools: ["Bogus"] }, []), true);
});

Deno.test("settingsWarnings() comes to the end of hostile settings, with a line for each thing it tells", () => {
  const long = 100_000;
  const rules = [
    ...["(", ")", "\\", "*", "_", "\n", "mcp__"].flatMap((each) => {
      const many = each.repeat(long / each.length);
      return [many, `X${many}`, `Bash(${many}`, `Bash(${many})`, `mcp__${many}(`];
    }),
    ...Array.from({ length: long / 100 }, () => 5),
  ];
  const hooks = { ["x\n".repeat(long)]: 5 };
  const documents = [user({ permissions: { deny: rules, allow: rules, ask: rules }, hooks })];
  const lists = rules.filter((rule) => typeof rule === "string");
  const said = settingsWarnings({
    answerAlone: true,
    disallowedTools: lists,
    forwarded: lists.map((list) => `--allowedTools=${list}`),
  }, { documents, version: "2.1.330" });
  const lines = said.flatMap((text) => text.split("\n"));
  assertEquals(
    lines.filter((line) => !/^(?:Permission|Ignoring|--|These settings|Fix| {2}\S)/u.test(line)),
    [],
  );
});
