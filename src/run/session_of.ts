import type { RunOrder } from "./run_order.ts";

/** The session that a run goes on in. */
export interface RunSession {
  readonly id: string;
  /** Whether the caller chose the id for a session that is yet to begin: then nobody may have had it before. */
  readonly isNew: boolean;
}

/**
 * Whose session a run goes on in: the one the caller names, the one that is resumed unless a fork of it is wanted, or
 * one of its own.
 *
 * @param options.freshId the id of a session of its own
 */
export function sessionOf(
  { sessionId, resume, forkSession }: Pick<RunOrder, "sessionId" | "resume" | "forkSession">,
  { freshId }: { readonly freshId: string },
): RunSession {
  const continued = forkSession ? undefined : resume;
  return {
    id: sessionId ?? continued ?? freshId,
    isNew: sessionId !== undefined && continued === undefined,
  };
}
