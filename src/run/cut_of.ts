import type { FolderFile } from "../sandbox/folder/folder_contents.ts";
import { cutTranscript } from "../transcript/cut_transcript.ts";
import { DriverError } from "./driver_error.ts";
import type { FoundSessions } from "./find_sessions.ts";
import type { RunOrder } from "./run_order.ts";

/**
 * What is left of the transcript of a session that is resumed in part; undefined where all of it is resumed, or there
 * is none.
 *
 * @throws {DriverError} when there is no such part of it
 */
export function cutOf(
  { resume, resumption: { upTo, dropsTurn } = { latest: false } }: Pick<
    RunOrder,
    "resume" | "resumption"
  >,
  { found: { latest, transcript } }: { readonly found: FoundSessions },
): FolderFile | undefined {
  if (resume !== undefined || latest !== undefined) return undefined;
  if (upTo === undefined || transcript === undefined) return undefined;
  const cut = cutTranscript(transcript.text, { upTo, dropsTurn });
  if (cut.kind === "cut") return { path: transcript.path, text: cut.text };
  throw new DriverError(`Cannot resume a part of the session: ${cut.reason}`, {
    suggestion: dropsTurn === undefined
      ? "Give --resume-session-at the uuid of an assistant message with which an answer ended"
      : "Leave --resume-drops-turn out, or give both flags uuids that fit together",
  });
}
