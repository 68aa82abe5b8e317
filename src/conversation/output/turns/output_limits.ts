import type { FramesState } from "../telling/frames_state.ts";

/** The most that each model may answer, as far as requests tell: not where the user has set it, which `claude -p` leaves out. */
export function outputLimits(
  { options, kept }: FramesState,
): ReadonlyMap<string, number> | undefined {
  return options.limitsOutput ? undefined : kept.notes.maxOutputTokens;
}
