/**
 * `deno task record-parity`: writes down what `claude -p` does in every row and in the tests that compare with it; with
 * names of rows and paths of tests, in those alone.
 *
 * @module
 */
import { REAL_VERSIONS } from "../for_each_version.ts";
import { inTurns } from "./in_turns.ts";
import { type Masked, masked } from "./mask.ts";
import { readRecording, writeRecording } from "./recording.ts";
import { rowsOf } from "./rows.ts";
import { runRow } from "./run_row.ts";

/** Runs `claude -p` on rows and writes down what it makes of them; keeps what is known of the others. */
async function recordRows(isWanted: (name: string) => boolean): Promise<void> {
  for (const version of REAL_VERSIONS) {
    const before = await readRecording(version);
    const rows = await inTurns(rowsOf(version), async (row): Promise<readonly [string, Masked]> => {
      const known = isWanted(row.name) ? undefined : before?.get(row.name);
      return [
        row.name,
        known ?? masked(await runRow(row, { version, who: "claude -p" }), { row: row.name }),
      ];
    });
    await writeRecording(version, new Map(rows));
  }
}

/** Runs tests, which write down what `claude -p` does in them; gives their exit code. */
async function recordTests(paths: readonly string[]): Promise<number> {
  const { code } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--frozen", "test/main.ts", ...paths],
    env: { RECORD_PARITY: "1" },
  }).spawn().status;
  return code;
}

const isTest = (name: string) => name.startsWith("test/");
const isAll = Deno.args.length === 0;
const names = Deno.args.filter((name) => !isTest(name));
if (isAll || names.length > 0) await recordRows((name) => isAll || names.includes(name));
const tests = isAll ? ["test/real/", "test/security/"] : Deno.args.filter(isTest);
if (tests.length > 0) Deno.exitCode = await recordTests(tests);
