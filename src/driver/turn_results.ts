import type { Entry } from "../transcript/entry.ts";
import { permissionDenialsOf } from "../transcript/permission_denials.ts";
import { sessionListingOf } from "../transcript/session_listing.ts";
import { turnsOf } from "../transcript/turn.ts";
import type { ResultFrame } from "../wire/frame.ts";
import { resultFrame } from "../wire/result_frame.ts";

/** Whose turns they are, and which of them have been told already. */
export interface TurnResultsOptions {
  readonly version: string;
  readonly sessionId: string;
  /** How many results of the run have been printed. */
  readonly printed: number;
  /** Ids of lines that are not this run's. */
  readonly known?: ReadonlySet<string>;
  /** The texts with which this run refuses what somebody should be asked. */
  readonly denialMessages: readonly string[];
}

/**
 * The results of the turns that have ended while the run goes on, in order. They have no cost: the child tells it at
 * its end.
 */
export function turnResults(
  entries: readonly Entry[],
  options: TurnResultsOptions,
): readonly ResultFrame[] {
  const { version, sessionId, printed, known, denialMessages } = options;
  const turns = turnsOf(entries, known === undefined ? {} : { known });
  const { maxOutputTokens } = sessionListingOf(entries);
  return turns.slice(printed).map((turn, index) =>
    resultFrame({
      version,
      sessionId,
      uuid: crypto.randomUUID(),
      outcome: { kind: "answered" },
      turns: turns.slice(0, printed + index + 1),
      permissionDenials: permissionDenialsOf(turn, denialMessages),
      maxOutputTokens,
    })
  );
}
