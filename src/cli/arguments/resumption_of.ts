import type { Resumption, RunRequest } from "./run_request.ts";
import { READING } from "./tokenize.ts";
import { CliError, UnsupportedError } from "../../cli_error.ts";

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const SUGGESTION = "Use --resume <id>, with the session_id of an earlier json result";

/**
 * Which session a run goes on with: an id alone is resumed as it is, all else has to be looked up.
 *
 * Beside `--continue` the rest counts only when there is no latest session, as for `claude -p`.
 *
 * @throws {CliError} for what can never lead to a session
 */
export function resumptionOf(
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
  return {
    resumption: {
      latest,
      ...(named === undefined ? {} : { named }),
      ...(upTo === undefined ? {} : { upTo }),
      ...(dropsTurn === undefined ? {} : { dropsTurn }),
    },
  };
}

function checkTurn(turn: string, { upTo }: { readonly upTo: string | undefined }): void {
  if (upTo === undefined) {
    throw new CliError(
      `${READING}: --resume-drops-turn needs --resume-session-at`,
      { suggestion: "Add --resume-session-at <message>, or leave it out" },
    );
  }
  if (UUID.test(turn)) return;
  throw new CliError(`${READING}: --resume-drops-turn "${turn}" is not a UUID`, {
    suggestion: "Use the uuid of the prompt that began the turn",
  });
}

/** `claude -p` also takes a transcript's path and an address: neither names a session that is the user's. */
function checkName(named: string): void {
  const what = /\.jsonl$/iu.test(named)
    ? "a file"
    : /^[a-z][a-z0-9+.-]*:\/\//iu.test(named)
    ? "an address"
    : undefined;
  if (what === undefined) return;
  throw new UnsupportedError(
    `Cannot honour --resume: "${named}" is ${what}, not a session id or a title`,
    { suggestion: SUGGESTION },
  );
}
