import type { Cassette, CastReader } from "../../../src/recording/cassette/cassette_format.ts";
import { openCassette } from "../../../src/recording/cassette/read/open_cassette.ts";
import { castSteps } from "../../../src/recording/cassette/cast_steps.ts";
import type { Input } from "../../../src/conversation/control/input.ts";

const RUNS = new URL("../../../fixtures/recordings/runs/", import.meta.url).pathname;

/** A recorded run of the real Claude Code. */
export interface RecordedRun {
  /** Its version and subject, such as `2.1.332/tools`. */
  readonly name: string;
  readonly folder: string;
  readonly cassette: Cassette;
}

/** All recorded runs, by name. */
export const RECORDED_RUNS: readonly RecordedRun[] = foldersIn(RUNS).flatMap((version) =>
  foldersIn(`${RUNS}${version}`).map((run) => {
    const name = `${version}/${run}`;
    const folder = `${RUNS}${name}`;
    let read: Cassette | undefined;
    return {
      name,
      folder,
      // Read on demand: most tests need a few.
      get cassette(): Cassette {
        return read ??= readCassette(folder);
      },
    };
  })
);

function foldersIn(folder: string): readonly string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
}

/** Reads a cassette with all of its events. */
export function readCassette(folder: string): Cassette {
  const { cast: { header, events }, ...rest } = openCassette(folder);
  return { ...rest, cast: { header, events: [...events] } };
}

/** All inputs of a recorded session. */
export function castInputs(cast: CastReader): readonly Input[] {
  return Array.from(castSteps(cast), ({ input }) => input);
}
