import { CliError } from "../../cli_error.ts";
import type { RunRequest } from "./run_request.ts";

/** How `claude -p` refuses a prompt beside `--rewind-files`. */
export const WITH_PROMPT =
  "Error: --rewind-files is a standalone operation and cannot be used with a prompt";

/** What to do instead. */
export const SUGGESTION = "Restore files by a run of its own, without a prompt, and go on after it";

/**
 * Which message files are to be restored before, if that is all that is asked for.
 *
 * @throws {CliError} for what `claude -p` refuses beside it, and for lists, of which each line is a prompt
 */
export function rewindingOf(
  message: string | undefined,
  { named, promptArgument, readsMessages, jsonl }: {
    /** The session, as `--resume` names it. */
    readonly named: string | undefined;
    readonly promptArgument: string | undefined;
    readonly readsMessages: boolean;
    readonly jsonl: boolean;
  },
): Pick<RunRequest, "rewindsTo"> {
  // As to `claude -p`, an empty one is none.
  if (message === undefined || message === "") return {};
  if (named === undefined) {
    throw new CliError("Error: --rewind-files requires --resume", {
      suggestion: "Add --resume <id>, or leave it out",
    });
  }
  if (readsMessages || jsonl || (promptArgument ?? "") !== "") {
    throw new CliError(WITH_PROMPT, { suggestion: SUGGESTION });
  }
  return { rewindsTo: message };
}
