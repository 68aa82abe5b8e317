import { DENIAL_MESSAGE } from "../sandbox/hooks.ts";
import { parseEntry } from "../transcript/entry.ts";
import type { ResultFrame } from "../wire/frame.ts";
import type { PreparedRun } from "./prepare_run.ts";
import { transcriptLines } from "./transcript_lines.ts";
import { turnResults } from "./turn_results.ts";

/**
 * Reads from a transcript the results of the turns that are over; none as long as something else is in its place.
 *
 * @param options.lastLine the line with which the last of them ended: what comes after it belongs to the next
 * @param options.printed how many results have been printed
 */
export function readTurnResults(
  prepared: PreparedRun,
  options: {
    readonly path: string;
    readonly lastLine: string;
    readonly version: string;
    readonly printed: number;
  },
): readonly ResultFrame[] {
  const lines = transcriptLines(options.path);
  const entries = lines.slice(0, lines.lastIndexOf(options.lastLine) + 1).map(parseEntry)
    .filter((entry) => entry !== undefined);
  return turnResults(entries, {
    version: options.version,
    sessionId: prepared.sessionId,
    printed: options.printed,
    known: prepared.known,
    denialMessages: [DENIAL_MESSAGE],
  });
}
