import { CliError, UnsupportedError } from "../../cli_error.ts";
import type { FoundSessions } from "./plan_facts.ts";
import type { RunOrder } from "./run_order.ts";
import type { FolderFile } from "../../sandbox/folder/folder_contents.ts";
import { cutTranscript } from "../../claude/transcript/files/cut_transcript.ts";

/**
 * What is left of the transcript of a session that is resumed in part; undefined where all of it is resumed, or there
 * is none.
 *
 * @throws {CliError} when there is no such part of it
 */
export function resumedPart(
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
  if (cut.kind === "absent") {
    throw new CliError(`No message found with message.uuid of: ${upTo}`, {
      suggestion: "Use the uuid of an assistant message that ended an answer",
      isUnbegun: true,
    });
  }
  if (cut.by === "turn") {
    // Whoever uses an Agent SDK knows it by its first words.
    throw new CliError(`Resume rejected by --resume-drops-turn: ${cut.reason}`, {
      suggestion: "Leave it out, or resume at the end of the turn before",
      isUnbegun: true,
    });
  }
  throw new UnsupportedError(`Cannot honour --resume-session-at: ${cut.reason}`, {
    suggestion: "Use the uuid of an assistant message that ended an answer, or run claude -p",
  });
}
