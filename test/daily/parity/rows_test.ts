import { assertEquals } from "@std/assert";
import { concurrently } from "../../concurrently.ts";
import { differences } from "../../parity/differences.ts";
import { readRecording, type RowResult } from "../../parity/recording.ts";
import { rowsOf } from "../../parity/rows.ts";
import { REAL_VERSIONS } from "../../real/for_each_version.ts";
import { maskedRequests } from "./bodies.ts";
import { resultOf, ROWS_AT_A_TIME, runRow } from "./run_row.ts";
import { canWait, COLD, IS_WARM } from "./warm_server.ts";

/**
 * Compares `claude-print` in every row of the table with what is recorded of `claude -p`: what both print, and what they
 * ask the API. Where they differ, or nothing is recorded, `claude -p` is run: the recording holds little more than hashes
 * of requests, and is of another machine.
 */
for (const version of REAL_VERSIONS) {
  Deno.test(`${version}: claude-print does the same as claude -p in every row`, async () => {
    const recording = readRecording(version);
    const rows = rowsOf(version);
    // In auto mode, and in headers about thinking, the interactive program of older versions asks differently.
    const comparesRequests = version === REAL_VERSIONS.at(-1);
    const comparable = (result: RowResult) =>
      comparesRequests ? result : { ...result, asked: undefined };
    const cold: string[] = [];
    const outdated: string[] = [];
    const printed: string[] = [];
    const stderr: string[] = [];
    const asked: string[] = [];
    await concurrently(rows, {
      limit: ROWS_AT_A_TIME,
      each: async (row) => {
        const { name, code, told = [] } = row;
        const ours = await runRow(row, { version, who: "claude-print" });
        const result = resultOf(ours, row);
        const recorded = recording.get(name);
        if (IS_WARM && canWait(row) && !ours.isWarm) cold.push(name);
        for (const words of told) {
          if (!ours.stderr.includes(words)) stderr.push(`${name}: stderr lacks "${words}"`);
        }
        if (code !== undefined && code !== ours.code) {
          stderr.push(`${name}: exit code ${ours.code}`);
        }
        if (ours.requests.some(({ text }) => !text.includes("cc_entrypoint=cli;"))) {
          asked.push(`${name}: a request hides which program makes it`);
        }
        if (
          recorded !== undefined &&
          differences(name, [comparable(result), comparable(recorded)]).length === 0
        ) return;
        const theirs = await runRow(row, { version, who: "claude -p" });
        const [said, expected, before] = [result, resultOf(theirs, row), recorded]
          .map((each) => each && { ...each, asked: undefined });
        if (before !== undefined) outdated.push(...differences(name, [before, expected], " -> "));
        printed.push(...differences(name, [said, expected]));
        if (comparesRequests) {
          const requests = [ours, theirs].map((run) => maskedRequests(run, { row: name }));
          asked.push(...differences(name, [requests[0], requests[1]]));
        }
      },
    });
    if (IS_WARM) {
      const expected = COLD.filter((name) => rows.some((row) => row.name === name && canWait(row)));
      assertEquals(cold.toSorted(), expected, "rows for which no child has waited");
    }
    assertEquals(outdated, [], "claude -p has changed: deno task record-parity");
    assertEquals(
      printed,
      [],
      "claude-print prints something else; once it is mended: deno task record-parity",
    );
    assertEquals(stderr, [], "stderr and exit codes");
    assertEquals(asked, [], "what the API is asked");
  });
}
