import { openCassette, readCassette } from "../cassette/read/read_cassette.ts";
import { replayCassette } from "../cassette/replay/replay_cassette.ts";
import type { CassetteOptions } from "../cli/parsed_arguments.ts";
import type { Frame } from "../wire/frame.ts";
import { createOutputWriter } from "../wire/output_writer.ts";
import { print, reportJson } from "./report/print.ts";

/**
 * Replays or draws a recorded run, or tells what is inside its cassette.
 *
 * @returns the exit code: of a replay 1 when this program acts otherwise than the recorded one
 */
export async function cassette({ action, dir, json }: CassetteOptions): Promise<number> {
  switch (action) {
    case "replay": {
      const { frames, output, differences } = replayCassette(openCassette(dir));
      const writer = createOutputWriter(output?.format ?? "stream-json", {
        verbose: output?.verbose ?? false,
        write: (text) => print(Deno.stdout, text),
      });
      // Whatever is on a tape was a frame of a run.
      for (const { frame } of frames) writer.frame(frame as Frame);
      writer.end();
      for (const difference of differences) print(Deno.stderr, `${difference}\n`);
      return differences.length === 0 ? 0 : 1;
    }
    case "svg": {
      const { drawCassette } = await import("../picture/draw_cassette.ts");
      print(Deno.stdout, await drawCassette(readCassette(dir)));
      return 0;
    }
    case "info": {
      const [{ surveyCassette }, { cassetteInfo }] = await Promise.all([
        import("../cassette/read/survey_cassette.ts"),
        import("./cassette_info.ts"),
      ]);
      const survey = surveyCassette(dir);
      print(Deno.stdout, `${json ? reportJson(survey) : cassetteInfo(survey)}\n`);
      return 0;
    }
    default:
      return action satisfies never;
  }
}
