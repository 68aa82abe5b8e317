import { replayCassette } from "../cassette/replay_cassette.ts";
import type { CassetteOptions } from "../cli/parsed_arguments.ts";
import { jsonLine } from "../wire/json_line.ts";
import { print } from "./print.ts";

/**
 * Replays or draws a recorded run.
 *
 * @returns the exit code: of a replay 1 when this program acts otherwise than the recorded one
 */
export async function cassette({ action, dir }: CassetteOptions): Promise<number> {
  switch (action) {
    case "replay": {
      const { frames, differences } = replayCassette(dir);
      for (const { frame } of frames) if (!print(Deno.stdout, `${jsonLine(frame)}\n`)) break;
      for (const difference of differences) print(Deno.stderr, `${difference}\n`);
      return differences.length === 0 ? 0 : 1;
    }
    case "svg": {
      const [{ readCassette }, { drawCassette }] = await Promise.all([
        import("../cassette/read_cassette.ts"),
        import("../cassette/draw_cassette.ts"),
      ]);
      print(Deno.stdout, await drawCassette(readCassette(dir)));
      return 0;
    }
    default:
      return action satisfies never;
  }
}
