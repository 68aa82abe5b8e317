import { CliError } from "../cli_error.ts";
import { isKnownSession } from "./facts/known_session.ts";

/**
 * Refuses a session that is there already: the sandbox knows no other sessions, so Claude Code itself would not notice
 * that the id is taken.
 *
 * @param configDir the user's config dir
 * @throws {CliError} when there is a transcript of it
 */
export function refuseKnownSession(sessionId: string, configDir: string): void {
  if (!isKnownSession(sessionId, configDir)) return;
  throw new CliError(`Cannot begin the session ${sessionId}: its id is already in use`, {
    suggestion: `Give another --session-id, or go on with it: --resume ${sessionId}`,
  });
}
