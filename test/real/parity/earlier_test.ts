import { REAL_VERSIONS } from "../for_each_version.ts";
import { readRecording } from "./recording.ts";
import { rowsOf } from "./rows.ts";
import { testTable } from "./table.ts";

const newest = await readRecording(REAL_VERSIONS.at(-1) ?? "");

// A file of its own: files are tested at the same time.
for (const version of REAL_VERSIONS.slice(0, -1)) {
  const recording = await readRecording(version);
  const isAsked = (name: string) =>
    JSON.stringify(recording?.get(name)) !== JSON.stringify(newest?.get(name));
  // Where claude -p does the same in both, so does this program: it is usage that is wrong, and nothing is asked.
  testTable(version, rowsOf(version).filter((row) => !row.isOfNewest && isAsked(row.name)));
}
