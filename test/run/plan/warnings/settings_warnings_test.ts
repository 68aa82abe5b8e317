import { assertEquals } from "@std/assert";
import { layIgnoredCell } from "../../../../fixtures/permissions/ignored_cells.ts";
import { SETTINGS_CELLS } from "../../../../fixtures/permissions/settings_cells.ts";
import measured from "../../../../fixtures/permissions/settings_warnings.json" with {
  type: "json",
};
import { makeThrowawayHome } from "../../../../fixtures/throwaway_home.ts";
import { settingsWarnings } from "../../../../src/run/plan/warnings/settings_warnings.ts";
import type { SettingsDocument } from "../../../../src/sandbox/child/read_settings.ts";
import { judgeFor, readSettingsValue } from "../../../../src/settings/judged_settings.ts";
import { readCell } from "../read_cell.ts";

/** All that the oldest version says, of what the newest one does. */
const OLD = /^(?:Permission (?:deny|ask) rule .* matches no known|Ignoring .*: Wildcard )/u;

for (const [version, isSaid] of [["2.1.285", OLD], ["2.1.332", /^/u]] as const) {
  Deno.test(`settingsWarnings() of what is read is what claude -p ${version} says, in every cell`, async () => {
    const said: Record<string, readonly string[]> = {};
    for (const cell of SETTINGS_CELLS) {
      await using home = await makeThrowawayHome();
      await layIgnoredCell(home, cell);
      const { request, documents } = await readCell(cell, { home, version });
      const answerAlone = request.outputFormat === "text";
      said[cell.name] = settingsWarnings({ ...request, answerAlone }, { documents, version })
        .flatMap((text) => text.replaceAll(home.path, "HOME").split("\n")).toSorted();
    }
    // Faults of a document come in an order of their own.
    assertEquals(
      said,
      Object.fromEntries(
        Object.entries(measured).map((
          [name, lines],
        ) => [name, lines.filter((line) => isSaid.test(line)).toSorted()]),
      ),
    );
  });
}

/** A document of the user's, as if a file held that value. */
const user = (settings: unknown): SettingsDocument => ({
  source: "user",
  name: "/h/settings.json",
  ...judgeFor(readSettingsValue(settings), NEWEST),
});
const NEWEST = "2.1.332";

const ALONE = { answerAlone: true, disallowedTools: [], forwarded: [] };

Deno.test("nothing is told of an unknown version, nor of tools of a new one", () => {
  const documents = [user({ permissions: { deny: ["Bogus", "x"] } }), user({ model: 5 })];
  assertEquals(settingsWarnings(ALONE, { documents, version: undefined }), []);
  const [line = "", ...others] = settingsWarnings(ALONE, { documents, version: "2.1.400" });
  assertEquals(line.split("\n").length, 5);
  assertEquals(others, []);
});

Deno.test("settingsWarnings() tells of an effort that is none, beside frames too", () => {
  const told = (effort: string, version = NEWEST) =>
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
  }, { documents, version: NEWEST });
  const lines = said.flatMap((text) => text.split("\n"));
  assertEquals(
    lines.filter((line) => !/^(?:Permission|Ignoring|--|These settings|Fix| {2}\S)/u.test(line)),
    [],
  );
});
