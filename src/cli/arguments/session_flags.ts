import { CliError, UnsupportedError } from "../../cli_error.ts";
import { usageError } from "./usage_errors.ts";
import type { Resumption, RunRequest } from "./run_request.ts";
import type { FlagValues } from "./tokenize.ts";
import { definedFields } from "../../defined_fields.ts";

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Reads which session a run uses or continues. */
export function readSession(
  { last, given }: FlagValues,
): Pick<RunRequest, "sessionId" | "resume" | "resumption" | "forkSession"> {
  const resuming = readResumption(definedFields({
    latest: given("--continue"),
    named: last("--resume"),
    upTo: last("--resume-session-at") || undefined,
    dropsTurn: last("--resume-drops-turn"),
  }));
  const forkSession = given("--fork-session");
  const sessionId = last("--session-id") || undefined;
  const goesOn = ["--resume", "--continue"].some(given);
  if (sessionId !== undefined && goesOn && !forkSession) {
    throw new CliError(
      "Error: --session-id with --continue or --resume also needs --fork-session.",
      {
        suggestion: "Add --fork-session, or leave --session-id out",
      },
    );
  }
  if (sessionId !== undefined && !UUID.test(sessionId)) {
    throw new CliError("Error: Invalid session ID. Must be a valid UUID.", {
      suggestion: "Use an id such as 123e4567-e89b-42d3-a456-426614174000",
    });
  }
  return definedFields({ sessionId, ...resuming, forkSession });
}

const USE_SESSION_ID = "Use --resume <id>, with the session_id of an earlier json result";

/**
 * Reads which session a run continues. A single id needs no lookup. With `--continue`, the other flags count only if
 * there is no latest session, as in `claude -p`.
 *
 * @throws {CliError} for flags that can never name a session
 */
function readResumption(
  { latest, named: given, upTo, dropsTurn }: Resumption,
): Pick<RunRequest, "resume" | "resumption"> {
  const named = given?.trim();
  if (upTo !== undefined && named === undefined) {
    throw new CliError("Error: --resume-session-at requires --resume", {
      suggestion: "Add --resume <id>, or leave it out",
    });
  }
  if (dropsTurn !== undefined) checkTurn(dropsTurn, { upTo });
  if (named !== undefined && !latest) checkName(named);
  if (!latest && upTo === undefined && (named === undefined || UUID.test(named))) {
    return named === undefined ? {} : { resume: named };
  }
  return { resumption: definedFields({ latest, named, upTo, dropsTurn }) };
}

function checkTurn(turn: string, { upTo }: { readonly upTo: string | undefined }): void {
  if (upTo === undefined) {
    throw usageError(
      "--resume-drops-turn needs --resume-session-at",
      "Add --resume-session-at <message>, or leave it out",
    );
  }
  if (UUID.test(turn)) return;
  throw usageError(
    `--resume-drops-turn "${turn}" is not a UUID`,
    "Use the uuid of the prompt that began the turn",
  );
}

/**
 * Refuses the path of a transcript and a URL, which `claude -p` accepts. Neither is a session in the user's history.
 */
function checkName(named: string): void {
  const what = /\.jsonl$/iu.test(named)
    ? "a file"
    : /^[a-z][a-z0-9+.-]*:\/\//iu.test(named)
    ? "an address"
    : undefined;
  if (what === undefined) return;
  throw new UnsupportedError(
    `Cannot honour --resume: "${named}" is ${what}, not a session id or a title`,
    { suggestion: USE_SESSION_ID },
  );
}

/** The error for `--rewind-files` with a prompt, in the words of `claude -p`. */
export function rewindWithPromptError(): CliError {
  return new CliError(
    "Error: --rewind-files is a standalone operation and cannot be used with a prompt",
    { suggestion: "Restore files by a run of its own, without a prompt, and go on after it" },
  );
}

/**
 * Reads `--rewind-files`: the message before which files are restored.
 *
 * @throws {CliError} for flags that `claude -p` refuses with it, and for lists, whose lines are prompts
 */
export function readRewind(
  message: string | undefined,
  { named, promptArgument, readsMessages, jsonl }: {
    /** The value of `--resume`. */
    readonly named: string | undefined;
    readonly promptArgument: string | undefined;
    readonly readsMessages: boolean;
    readonly jsonl: boolean;
  },
): Pick<RunRequest, "rewindsTo"> {
  // `claude -p` also ignores an empty value.
  if (message === undefined || message === "") return {};
  if (named === undefined) {
    throw new CliError("Error: --rewind-files requires --resume", {
      suggestion: "Add --resume <id>, or leave it out",
    });
  }
  if (readsMessages || jsonl || (promptArgument ?? "") !== "") {
    throw rewindWithPromptError();
  }
  return { rewindsTo: message };
}
