import { STARTS_PROGRAM } from "./in_process.ts";
import { leap } from "./leaping_clock.ts";

/**
 * What runs have as `--timeout`, in seconds: after a leap they give every other limit its time again, as after a stop.
 * Another process than this one has to wait for it, for longer than it takes to come to where the limit is tested.
 */
export const LIMIT_S = STARTS_PROGRAM ? 20 : 600;

/**
 * Has the time of a run inside this process be up as soon as it has come far enough: on a busy machine no limit that is
 * waited for would be long enough for that. No other run may be under way.
 */
export async function timeOut<Run>(run: Promise<Run>, reached: Promise<void>): Promise<Run> {
  const up = async () => {
    await reached;
    if (!STARTS_PROGRAM) leap(LIMIT_S * 1000);
  };
  const [output] = await Promise.all([run, up()]);
  return output;
}

/** What runs have as another limit than `--timeout`, in seconds, whose time is let pass: of another process it passes by itself. */
export const PASSING_S = STARTS_PROGRAM ? 1 : 60;

/** A step of time, in milliseconds: a longer one would be a stop of this program, for which limits are put off. */
const STEP_MS = 1500;
/** How long a run has to notice each step: it looks around every 50 ms. */
const NOTICE_MS = 60;

/**
 * Has time pass, once a run inside this process has come far enough, until the run is over: so a limit that is far off ends
 * it soon. No other run may be under way.
 */
export async function passTime<Run>(run: Promise<Run>, reached: Promise<void>): Promise<Run> {
  let isOver = false;
  const pass = async () => {
    await reached;
    while (!isOver && !STARTS_PROGRAM) {
      leap(STEP_MS);
      await new Promise((noticed) => setTimeout(noticed, NOTICE_MS));
    }
  };
  const [output] = await Promise.all([run.finally(() => isOver = true), pass()]);
  return output;
}
