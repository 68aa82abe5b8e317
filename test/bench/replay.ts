import { encodeTape } from "../../fixtures/encode_whole.ts";
import { pythonCassette } from "../../fixtures/programs/agent_cassette.ts";
import { usablePython } from "../../fixtures/programs/python_packages.ts";
import type { TapeEntry } from "../../src/recording/cassette/cassette_format.ts";
import { parseTape } from "../../src/recording/cassette/read/read_tape.ts";
import { shellQuote } from "../../src/shell_quote.ts";
import { CLAUDE_PRINT_CACHED } from "../claude_print.ts";
import { startProgram } from "../start_program.ts";
import { median } from "./median.ts";
import type { Row } from "./row.ts";
import type { World } from "./world.ts";

const TAPE = new URL(
  "../../fixtures/recordings/sdk/python/partial-messages/1.jsonl",
  import.meta.url,
).pathname;
/** How many frames the long conversation has. */
const MANY = 20_000;

/** Measures a replayed conversation beside claude-agent-cassette, which replays within the SDK and starts no program. */
export async function measureReplay(
  { homes: { claudePrint: { env, tmp } } }: World,
  { runs, onRound }: { readonly runs: number; readonly onRound: (text: string) => void },
): Promise<readonly Row[]> {
  const python = usablePython();
  if (python === undefined) return [];
  const interpreter = await pythonCassette(python);
  const tape = parseTape(await Deno.readTextFile(TAPE), { path: TAPE });
  const rows: Row[] = [];
  for (
    const [what, entries] of [
      ["a replayed conversation", tape],
      [`one of ${MANY} frames`, lengthened(tape)],
    ] as const
  ) {
    onRound(what);
    const path = `${tmp}/tape.jsonl`;
    await Deno.writeTextFile(path, encodeTape(entries));
    const executable = `${tmp}/replay`;
    const words = [...CLAUDE_PRINT_CACHED, "cassette", "replay", path].map(shellQuote).join(" ");
    await Deno.writeTextFile(executable, `#!/bin/sh\nexec ${words} -- "$@"\n`, { mode: 0o755 });
    const program = `${import.meta.dirname}/replayed_tape.py`;
    const told = JSON.stringify({ tape: path, executable, rounds: runs + 1 });
    const { code, stdout, stderr } = await startProgram([interpreter, "-B", program, told], {
      env,
      cwd: tmp,
    }).ended;
    if (code !== 0) throw new Error(stderr);
    const took: Readonly<Record<"program" | "package", readonly number[]>> = JSON.parse(stdout);
    const [ours, theirs] = [took.program, took.package].map((times) => median(times.slice(1))) as [
      number,
      number,
    ];
    rows.push({
      what,
      value: `${ours.toFixed(0)} ms`,
      against: `claude-agent-cassette, ${theirs.toFixed(0)} ms`,
      ratio: ours / theirs,
    });
  }
  return rows;
}

/** The same conversation with one of its frames so often that it has as many as are wanted. */
function lengthened(tape: readonly TapeEntry[]): readonly TapeEntry[] {
  const at = tape.findIndex((entry) => entry.dir === "read" && entry.frame.type === "stream_event");
  const frame = tape[at];
  if (frame === undefined) throw new Error(`${TAPE} has no events`);
  return tape.toSpliced(at, 0, ...Array(MANY - tape.length).fill(frame));
}
