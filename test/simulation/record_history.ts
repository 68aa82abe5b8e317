import { collectCassette } from "../../fixtures/collected_cassette.ts";
import { encodeCast, encodeTape } from "../../fixtures/encode_whole.ts";
import {
  type Cassette,
  CASSETTE_FORMAT,
  encodeMeta,
} from "../../src/recording/cassette/cassette_format.ts";
import { Recorder } from "../../src/recording/cassette/record/recorder.ts";
import { VERSION } from "./lines.ts";
import type { History } from "./simulate.ts";

/** The cassette that a run with this history would have recorded. */
export function recordHistory({ options, steps }: History): Cassette {
  const collected = collectCassette();
  const recording = new Recorder({
    conversation: options,
    output: { format: "stream-json", verbose: true },
    term: "xterm-256color",
    redactor: { text: (text) => text, openFrom: () => Infinity },
    sink: collected.sink,
  });
  for (const { input, effects } of steps) {
    recording.addInput(input);
    for (const effect of effects) recording.addEffect(effect);
  }
  recording.end();
  const cassette = collected.cassette();
  if (cassette === undefined) throw new Error("Nothing has happened");
  return cassette;
}

/** Writes a cassette that `claude-print cassette replay` takes. */
export async function writeHistory(history: History, folder: string): Promise<void> {
  const { cast, tape } = recordHistory(history);
  await Deno.mkdir(folder, { recursive: true });
  await Deno.writeTextFile(`${folder}/child.cast`, encodeCast(cast));
  await Deno.writeTextFile(`${folder}/tape.jsonl`, encodeTape(tape));
  const { width: cols, height: rows, timestamp } = cast.header;
  await Deno.writeTextFile(
    `${folder}/meta.json`,
    encodeMeta({
      ...{ format: CASSETTE_FORMAT, claude_print: "0.1.0", claude_code: VERSION },
      ...{ platform: "linux-x86_64", size: { cols, rows }, scrubbed: {} },
      when: new Date(1000 * timestamp).toISOString(),
    }),
  );
}
