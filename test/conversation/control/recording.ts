import { castInputs, readCassette } from "../../recording/cassette/recorded_runs.ts";
import type { Input } from "../../../src/conversation/control/input.ts";

/** What a recorded run was told, by the version and the name of the run, such as `2.1.332/answer`, but for its message. */
export function readRecording(name: string): readonly Input[] {
  const { pathname } = new URL(`../../../fixtures/recordings/runs/${name}`, import.meta.url);
  return castInputs(readCassette(pathname).cast)
    .filter(({ type }) => type !== "message" && type !== "closed");
}
