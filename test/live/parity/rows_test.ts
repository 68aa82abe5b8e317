import { assertEquals } from "@std/assert";
import { differences } from "../../parity/differences.ts";
import { readRecording, type RowResult } from "../../parity/recording.ts";
import { rowsOf } from "../../parity/rows.ts";
import { REAL_VERSIONS } from "../../real/for_each_version.ts";
import { maskedRequests } from "./bodies.ts";
import { inTurns, resultOf, runRow } from "./run_row.ts";
import { canWait, IS_WARM } from "./warm_server.ts";

/** Rows for which no child can wait: they resume or name a session, ask on stdin, ask no model, or set a goal. */
const COLD = ["betas", "slash-asked", "goal", "input-empty", "input-type"];

/**
 * Compares `claude-print` in every row of the table with what is recorded of `claude -p`: what both print, and what they
 * ask the API. Where they differ, or nothing is recorded, `claude -p` is run: the recording holds little more than hashes
 * of requests, and is of another machine.
 */
for (const version of REAL_VERSIONS) {
  Deno.test(`${version}: claude-print does the same as claude -p in every row`, async () => {
    const recording = readRecording(version);
    // In auto mode, and in headers about thinking, the interactive program of older versions asks differently.
    const comparesRequests = version === REAL_VERSIONS.at(-1);
    const comparable = (result: RowResult) =>
      comparesRequests ? result : { ...result, asked: undefined };
    const rows = await inTurns(rowsOf(version), async (row) => {
      const { name, code, told = [] } = row;
      const ours = await runRow(row, { version, who: "claude-print" });
      const result = resultOf(ours, row);
      const recorded = recording.get(name);
      const about = {
        cold: IS_WARM && canWait(row) && !ours.isWarm ? [name] : [],
        outdated: [],
        printed: [],
        asked: [],
        untold: told.filter((words) => !ours.stderr.includes(words)),
        codes: code === undefined || code === ours.code ? [] : [`${name}: ${ours.code}`],
        foreign: ours.requests.filter(({ text }) => !text.includes("cc_entrypoint=cli;"))
          .map(() => name),
      };
      const isSame = recorded !== undefined &&
        differences(name, [comparable(result), comparable(recorded)]).length === 0;
      if (isSame) return about;
      const theirs = await runRow(row, { version, who: "claude -p" });
      const [said, expected, before] = [result, resultOf(theirs, row), recorded]
        .map((each) => each && { ...each, asked: undefined });
      return {
        ...about,
        outdated: before === undefined ? [] : differences(name, [before, expected], " -> "),
        printed: differences(name, [said, expected]),
        asked: comparesRequests
          ? differences(name, [
            maskedRequests(ours, { row: name }),
            maskedRequests(theirs, { row: name }),
          ])
          : [],
      };
    });
    const all = <Key extends keyof typeof rows[number]>(key: Key) =>
      rows.flatMap((row) => row[key]);
    if (IS_WARM) {
      const cold = COLD.filter((name) => rowsOf(version).some((row) => row.name === name));
      assertEquals(all("cold"), cold, "rows for which no child has waited");
    }
    assertEquals(all("outdated"), [], "claude -p has changed: deno task record-parity");
    assertEquals(
      all("printed"),
      [],
      "claude-print prints something else; once it is mended: deno task record-parity",
    );
    assertEquals(all("untold"), [], "words that stderr lacks");
    assertEquals(all("codes"), [], "exit codes");
    assertEquals(all("foreign"), [], "requests that hide which program makes them");
    assertEquals(all("asked"), [], "what the API is asked");
  });
}
