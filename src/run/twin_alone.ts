import { HeadlessTwin } from "../driver/effects/headless_twin.ts";
import type { PreparedRun } from "./prepare_run.ts";

/**
 * A headless Claude Code that does all of a run by itself: there is no child beside it.
 *
 * @param onArrival called when it has said something that was asked
 */
export function twinAlone(
  { twin: plan, binary, sandbox, sessionId, options: { cwd } }: PreparedRun,
  onArrival: (twin: HeadlessTwin) => void = () => {},
): HeadlessTwin {
  if (plan === undefined) {
    throw new Error("A run without a child has a plan for who carries it out");
  }
  const twin: HeadlessTwin = new HeadlessTwin({
    plan,
    binary,
    cwd,
    configDir: sandbox.configDir,
    sessionId,
    isResumed: sandbox.resumed.size > 0,
    transcript: () => undefined,
    model: () => undefined,
    costNote: () => undefined,
    onArrival: () => onArrival(twin),
  });
  return twin;
}
