import { assertEquals, assertStringIncludes } from "@std/assert";
import { CLAUDE_VERSIONS } from "../../fixtures/programs/claude_binary.ts";
import { parseArguments } from "../../src/cli/arguments/parse_arguments.ts";
import { CliError } from "../../src/cli_error.ts";
import { problemText } from "../../src/cli/report/report_error.ts";
import { differences } from "./differences.ts";
import { maskedOutput } from "./mask.ts";
import { readCasts, readRecording } from "./recording.ts";
import { RECORDED_HOME, replayCasts, type ReplayedRun } from "./replay_casts.ts";
import { type Row, rowsOf } from "./rows.ts";

/** Rows that only a live run compares: they end after their arguments are parsed and before a child is started. */
const LIVE_ALONE = [
  ...["session-in-use", "input-empty", "input-type"],
  ...["usage-no-prompt", "usage-empty-prompt", "usage-resume", "usage-settings", "usage-agents"],
  ...["usage-agents-file", "usage-config-root", "usage-schema", "usage-schema-type"],
  ...["usage-schema-list", "usage-fork", "usage-resume-name", "usage-settings-file"],
];

for (const version of CLAUDE_VERSIONS) {
  const recording = readRecording(version);
  for (const row of rowsOf(version)) {
    const { name, code, told = [], unrecorded } = row;
    if (LIVE_ALONE.includes(name) || unrecorded !== undefined) continue;
    Deno.test(`${version}: ${name} prints the same as claude -p`, async () => {
      const ours = await replayed(row, version);
      const theirs = recording.get(name);
      assertEquals(
        differences(name, [
          { failed: ours.code !== 0, ...maskedOutput(ours, { row: name }) },
          { failed: theirs?.failed, stdout: theirs?.stdout, within: theirs?.within },
        ]),
        [],
      );
      if (code !== undefined) assertEquals(ours.code, code);
      for (const words of told) assertStringIncludes(problemText(ours.problem ?? NONE), words);
    });
  }
}

const NONE = { message: "" };

/** Replays a row: its recorded inputs, or the refusal of its command line where there are none. */
async function replayed({ name, args }: Row, version: string): Promise<ReplayedRun> {
  const casts = readCasts(version, name);
  if (casts.length > 0) return replayCasts(casts);
  try {
    await parseArguments(["-p", ...args]);
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    // Where a result is printed, it is one that claude -p does not have.
    return { stdout: "", home: RECORDED_HOME, code: error.exitCode, problem: error };
  }
  throw new Error("Nothing is recorded: deno task record-parity");
}
