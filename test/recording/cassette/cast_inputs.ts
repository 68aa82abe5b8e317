import type { PlayedCast } from "../../../src/recording/cassette/cast.ts";
import { castSteps } from "../../../src/recording/cassette/replay/cast_steps.ts";
import type { Input } from "../../../src/conversation/control/input.ts";

/** All inputs of a recorded session. */
export function castInputs(cast: PlayedCast): readonly Input[] {
  return Array.from(castSteps(cast), ({ input }) => input);
}
