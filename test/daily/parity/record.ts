/**
 * `deno task record-parity`: records both sides of each row, what `claude -p` prints and asks and the inputs of
 * `claude-print`, and what `claude -p` does in tests that compare with it. Names of rows and paths of tests record those
 * alone. Prints what has changed.
 *
 * @module
 */
import type { Cast } from "../../../src/recording/cassette/cassette_format.ts";
import { differences, printChanges } from "../../parity/differences.ts";
import { type MaskedOutput, maskedOutput } from "../../parity/mask.ts";
import {
  readCasts,
  readRecording,
  type RowResult,
  writeCasts,
  writeRecording,
} from "../../parity/recording.ts";
import { replayCasts } from "../../parity/replay_casts.ts";
import { type Row, rowsOf } from "../../parity/rows.ts";
import { concurrently } from "../../concurrently.ts";
import { REAL_VERSIONS } from "../../real/for_each_version.ts";
import { resultOf, ROWS_AT_A_TIME, runRow } from "./run_row.ts";

/** Records both sides of rows, and keeps what is recorded of the others. */
async function recordRows(isWanted: (name: string) => boolean): Promise<void> {
  for (const version of REAL_VERSIONS) {
    const recorded = new Map(readRecording(version));
    const rows = rowsOf(version);
    await concurrently(rows.filter(({ name }) => isWanted(name)), {
      limit: ROWS_AT_A_TIME,
      each: async (row) => {
        try {
          recorded.set(row.name, await recordRow(version, row));
        } catch (error) {
          print(`${version} ${row.name}: ${(error as Error).message}\n`);
          Deno.exitCode = 1;
        }
        const inOrder = rows.flatMap(({ name }) => {
          const result = recorded.get(name);
          return result === undefined ? [] : [[name, result] as const];
        });
        // At once: an interrupted task keeps what it has recorded.
        writeRecording(version, new Map(inOrder));
      },
    });
  }
}

async function recordRow(version: string, row: Row): Promise<RowResult> {
  const theirs = resultOf(await runRow(row, { version, who: "claude -p" }), row);
  const record = row.unrecorded === undefined;
  const run = await runRow(row, { version, who: "claude-print", record });
  const ours = resultOf(run, row);
  const before = readRecording(version).get(row.name);
  const printed = replayed(readCasts(version, row.name), row);
  writeCasts(version, row.name, run.casts);
  const name = `${version} ${row.name}`;
  if (before !== undefined) printChanges(`${name}, claude -p`, [before, theirs]);
  if (printed !== undefined) {
    printChanges(`${name}, claude-print`, [printed, replayed(run.casts, row)]);
  }
  const unequal = differences(name, [withoutRequests(ours), withoutRequests(theirs)]);
  if (unequal.length > 0) {
    print(
      `${name}: claude-print is not the same as claude -p\n${unequal.join("\n")}\n${run.stderr}`,
    );
  }
  return theirs;
}

/** What the recorded inputs of a row print. */
function replayed(casts: readonly Cast[], { name }: Row): MaskedOutput | undefined {
  return casts.length === 0 ? undefined : maskedOutput(replayCasts(casts), { row: name });
}

/** A result without what the API was asked, which older versions ask differently. */
function withoutRequests({ asked: _, ...result }: RowResult): RowResult {
  return result;
}

function print(text: string): void {
  Deno.stderr.writeSync(new TextEncoder().encode(text));
}

/** Runs tests, which record what `claude -p` does in them; returns their exit code. */
async function recordTests(paths: readonly string[]): Promise<number> {
  const { code } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--frozen", "test/main.ts", "--all", ...paths],
    env: { RECORD_PARITY: "1" },
  }).spawn().status;
  return code;
}

const isTest = (name: string) => name.startsWith("test/");
const isAll = Deno.args.length === 0;
const names = Deno.args.filter((name) => !isTest(name));
const known = REAL_VERSIONS.flatMap(rowsOf).map(({ name }) => name);
const unknown = names.filter((name) => !known.includes(name));
if (unknown.length > 0) throw new Error(`No row is called ${unknown.join(", ")}`);
if (isAll || names.length > 0) await recordRows((name) => isAll || names.includes(name));
const tests = isAll ? ["test/real/", "test/daily/"] : Deno.args.filter(isTest);
if (tests.length > 0) Deno.exitCode = await recordTests(tests);
