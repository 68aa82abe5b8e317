import type { Frame } from "../../claude/wire/frame.ts";
import { print } from "../report/print.ts";
import type { CassetteOptions } from "../arguments/parsed_arguments.ts";

/**
 * Carries out an action of `cassette`.
 *
 * @returns the exit code: 1 for a difference or a problem in the recording
 */
export async function cassette(options: CassetteOptions): Promise<number> {
  switch (options.action) {
    case "replay": {
      if (options.asProgram !== undefined) {
        const { replayAsProgram } = await import("./replay_as_program.ts");
        return await replayAsProgram({ dir: options.dir, ...options.asProgram });
      }
      return await replayToStdout(options);
    }
    case "program": {
      const { printProgram } = await import("./replay_as_program.ts");
      return printProgram(options);
    }
    case "svg":
      return await printPicture(options);
    case "info": {
      const { printInfo } = await import("./inspect_cassette.ts");
      return printInfo(options);
    }
    case "diff": {
      const { printDifference } = await import("./inspect_cassette.ts");
      return printDifference(options);
    }
    case "fork": {
      const { forkConversation } = await import("./fork_conversation.ts");
      return await forkConversation(options);
    }
    case "scrub": {
      const { scrubCassettes } = await import("./scrub_and_lint.ts");
      return scrubCassettes(options);
    }
    case "lint": {
      const { lintCassettes } = await import("./scrub_and_lint.ts");
      return lintCassettes(options);
    }
    default:
      return options satisfies never;
  }
}

/**
 * Replays a recorded run through this program and prints its frames. Differences from the recording are printed on stderr.
 *
 * @returns the exit code: 1 for a difference
 */
async function replayToStdout(
  { dir, split }: Extract<CassetteOptions, { readonly action: "replay" }>,
): Promise<number> {
  const [{ openForReplay }, { replayCassette }, { createOutputWriter }] = await Promise.all([
    import("../../recording/cassette/read/open_cassette.ts"),
    import("../../recording/cassette/replay_cassette.ts"),
    import("../../claude/wire/output_writer.ts"),
  ]);
  const opened = openForReplay(dir);
  const { frames, output, differences } = replayCassette(opened, { split });
  const writer = createOutputWriter(output?.format ?? "stream-json", {
    verbose: output?.verbose ?? false,
    write: (text) => print(Deno.stdout, text),
  });
  // A tape contains only frames that a run has printed.
  for (const { frame } of frames) writer.frame(frame as Frame);
  writer.end();
  if (opened.tape === undefined) {
    print(Deno.stderr, "There is no tape.jsonl: what was printed is not compared\n");
  }
  for (const difference of differences) print(Deno.stderr, `${difference}\n`);
  return differences.length === 0 ? 0 : 1;
}

/** Prints the recorded terminal as an animated SVG. */
async function printPicture({ dir }: { readonly dir: string }): Promise<number> {
  const [{ openRereadable }, { drawCassette }] = await Promise.all([
    import("../../recording/cassette/read/open_cassette.ts"),
    import("../../recording/picture/draw_cassette.ts"),
  ]);
  print(Deno.stdout, await drawCassette(openRereadable(dir)));
  return 0;
}
