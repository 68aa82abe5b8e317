import { IS_ELSEWHERE } from "./inside.ts";
import { leap } from "./leaping_clock.ts";

/**
 * What runs have as `--timeout`, in seconds: after a leap they give every other limit its time again, as after a stop.
 * Another process than this one has to wait for it, for longer than it takes to come to where the limit is tested.
 */
export const LIMIT_S = IS_ELSEWHERE ? 20 : 600;

/**
 * Has the time of a run inside this process be up as soon as it has come far enough: on a busy machine no limit that is
 * waited for would be long enough for that. No other run may be under way.
 */
export async function timeOut<Run>(run: Promise<Run>, reached: Promise<void>): Promise<Run> {
  const up = async () => {
    await reached;
    if (!IS_ELSEWHERE) leap(LIMIT_S * 1000);
  };
  const [output] = await Promise.all([run, up()]);
  return output;
}
