import { readCassette } from "../read_cassette.ts";
import { type RecordedTurns, recordedTurns } from "../../../src/cassette/turns/recorded_turns.ts";

const RUNS = new URL("../../../fixtures/recordings/runs/", import.meta.url).pathname;

/** The turns of a recorded run, such as `2.1.332/conversation`. */
export function fixtureTurns(name: string): RecordedTurns {
  return recordedTurns(readCassette(`${RUNS}${name}`).cast);
}
