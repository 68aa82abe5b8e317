import { assertEquals } from "@std/assert";
import { maskedRequests } from "./bodies.ts";
import { differences } from "./differences.ts";
import { inTurns } from "./in_turns.ts";
import { type Masked, masked } from "./mask.ts";
import { REAL_VERSIONS } from "../for_each_version.ts";
import { readRecording, type Recording } from "./recording.ts";
import { type Row, rowsOf } from "./rows.ts";
import { runRow } from "./run_row.ts";
import { canWait, IS_WARM } from "./warm_server.ts";

/**
 * Rows that go on with a session or name one, whose caller cannot be asked as it wants, that ask no model or say nothing,
 * and one with a goal, for which a child is started otherwise.
 */
const COLD = [
  ...["betas", "slash-asked", "goal"],
  ...["input-empty", "input-type"],
];

/**
 * The rows that are run of a version: of an earlier one those are not in which no model is asked, no child tells anything
 * and `claude -p` does the same as the newest one, which says what there is to be said of both.
 */
async function rowsToRun(
  version: string,
  recording: Recording | undefined,
): Promise<readonly Row[]> {
  const rows = rowsOf(version);
  const newest = REAL_VERSIONS.at(-1);
  if (newest === undefined || version === newest) return rows;
  const recordingOfNewest = await readRecording(newest);
  return rows.filter(({ name, told }) => {
    const [own, others] = [recording?.get(name), recordingOfNewest?.get(name)];
    return told !== undefined || own === undefined || others === undefined || own.requests > 0 ||
      differences(name, [own, others]).length > 0;
  });
}

/**
 * Registers the test that `claude-print` does what `claude -p` of that version does, in every row of the table: what is
 * printed, and what the API is asked.
 *
 * What `claude -p` does is recorded, because it does not change and to run it each time would take half as long as the
 * runs that are tested. Where a row does not do what is recorded, or nothing is, `claude -p` is run: the recording
 * holds little more than hashes of requests, and is of another machine.
 */
export function testTable(version: string): void {
  Deno.test(`${version}: claude-print does what claude -p does, in every row`, async () => {
    const recording = await readRecording(version);
    const toRun = await rowsToRun(version, recording);
    // In auto mode, and in headers about thoughts, the interactive program of older versions asks otherwise.
    const comparesRequests = version === REAL_VERSIONS.at(-1);
    const comparable = (run: Masked) => comparesRequests ? run : { ...run, asked: undefined };
    const rows = await inTurns(toRun, async (row) => {
      const options = { row: row.name };
      const ours = await runRow(row, { version, who: "claude-print" });
      const recorded = recording?.get(row.name);
      const isSame = recorded !== undefined &&
        differences(row.name, [comparable(masked(ours, options)), comparable(recorded)]).length ===
          0;
      const about = {
        cold: IS_WARM && canWait(row) && !ours.isWarm ? [row.name] : [],
        outdated: [],
        printed: [],
        asked: [],
        untold: row.told?.filter((words) => !ours.stderr.includes(words)) ?? [],
        codes: row.code === undefined || row.code === ours.code
          ? []
          : [`${row.name}: ${ours.code}`],
        foreign: ours.requests.filter(({ text }) => !text.includes("cc_entrypoint=cli;"))
          .map(() => row.name),
      };
      if (isSame) return about;
      const theirs = await runRow(row, { version, who: "claude -p" });
      const [said, expected, before] = [masked(ours, options), masked(theirs, options), recorded]
        .map((run) => run && { ...run, asked: undefined });
      return {
        ...about,
        outdated: before === undefined ? [] : differences(row.name, [expected, before]),
        printed: differences(row.name, [said, expected]),
        asked: comparesRequests
          ? differences(row.name, [
            maskedRequests(ours, options),
            maskedRequests(theirs, options),
          ])
          : [],
      };
    });
    const all = <Key extends keyof typeof rows[number]>(key: Key) =>
      rows.flatMap((row) => row[key]);
    if (IS_WARM) {
      const cold = COLD.filter((name) => toRun.some((row) => row.name === name));
      assertEquals(all("cold"), cold, "rows for which no Claude Code has waited");
    }
    assertEquals(
      all("outdated"),
      [],
      "claude -p does not do what is recorded: deno task record-parity",
    );
    assertEquals(all("printed"), [], "what is printed");
    assertEquals(all("untold"), [], "what is told of failures");
    assertEquals(all("codes"), [], "exit codes");
    assertEquals(all("foreign"), [], "requests that hide what makes them");
    assertEquals(all("asked"), [], "what the API is asked");
  });
}
