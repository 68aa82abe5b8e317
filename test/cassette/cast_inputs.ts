import type { PlayedCast } from "../../src/cassette/cast.ts";
import { castSteps } from "../../src/cassette/replay/cast_steps.ts";
import type { Input } from "../../src/session/input.ts";

/** All inputs of a recorded session. */
export function castInputs(cast: PlayedCast): readonly Input[] {
  return Array.from(castSteps(cast), ({ input }) => input);
}
