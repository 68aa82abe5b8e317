import { openToReplay } from "../../recording/cassette/read/open_cassette.ts";
import { replayCassette } from "../../recording/cassette/replay_cassette.ts";
import type { CassetteOptions } from "../arguments/parsed_arguments.ts";
import type { Frame } from "../../claude/wire/frame.ts";
import { createOutputWriter } from "../../claude/wire/output_writer.ts";
import { print } from "../report/print.ts";

/**
 * Prints what a recorded run printed, or without a tape what it would, and on stderr where this program would act otherwise.
 *
 * @returns the exit code: 1 if it would
 */
export function replayToStdout(
  { dir, split }: Extract<CassetteOptions, { readonly action: "replay" }>,
): number {
  const opened = openToReplay(dir);
  const { frames, output, differences } = replayCassette(opened, { split });
  const writer = createOutputWriter(output?.format ?? "stream-json", {
    verbose: output?.verbose ?? false,
    write: (text) => print(Deno.stdout, text),
  });
  // Whatever is on a tape was a frame of a run.
  for (const { frame } of frames) writer.frame(frame as Frame);
  writer.end();
  if (opened.tape === undefined) {
    print(Deno.stderr, "There is no tape.jsonl: what was printed is not compared\n");
  }
  for (const difference of differences) print(Deno.stderr, `${difference}\n`);
  return differences.length === 0 ? 0 : 1;
}
