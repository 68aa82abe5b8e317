import type { FolderFile } from "../../sandbox/folder/folder_contents.ts";
import { cutTranscript } from "../../transcript/cut_transcript.ts";
import { CliError } from "../../cli_error.ts";
import type { FoundSessions } from "./plan_facts.ts";
import type { RunOrder } from "./run_order.ts";

/**
 * What is left of the transcript of a session that is resumed in part; undefined where all of it is resumed, or there
 * is none.
 *
 * @throws {CliError} when there is no such part of it
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
  if (cut.by === "turn") {
    throw new CliError(`Cannot honour --resume-drops-turn: ${cut.reason}`, {
      suggestion: "Leave it out, or resume at the end of the turn before",
    });
  }
  throw new CliError(`Cannot honour --resume-session-at: ${cut.reason}`, {
    suggestion: "Use the uuid of an assistant message that ended an answer, or run claude -p",
  });
}
