import type { Cassette } from "../../../src/recording/cassette/cassette.ts";
import { openCassette } from "../../../src/recording/cassette/read/open_cassette.ts";

/** Reads a cassette with all of its events. */
export function readCassette(folder: string): Cassette {
  const { cast: { header, events }, ...rest } = openCassette(folder);
  return { ...rest, cast: { header, events: [...events] } };
}
