import { CliError } from "../../../cli_error.ts";
import type { FoundSessions } from "../plan_facts.ts";
import type { RunOrder } from "../run_order.ts";

/** How `claude -p` refuses what names no session. */
const NO_SESSION =
  "Error: --resume requires a valid session ID or session title when used with --print. " +
  "Usage: claude -p --resume <session-id|title>";

/** The session that a run goes on in. */
export interface RunSession {
  readonly id: string;
  /** Whether the caller chose the id for a session that is yet to begin: then nobody may have had it before. */
  readonly isNew: boolean;
  /** The session with which it begins; absent when it begins with nothing. */
  readonly resumed?: string;
}

/**
 * Whose session a run goes on in: the one the caller names, the one that is resumed unless a fork of it is wanted, or
 * one of its own. With nothing to continue a run begins a session, as `claude -p` does.
 *
 * @param options.freshId the id of a session of its own
 * @param options.found the sessions that were looked for
 * @throws {CliError} when no session has the name that was looked for, or several have it
 */
export function sessionOf(
  order: Pick<RunOrder, "sessionId" | "resume" | "resumption" | "forkSession">,
  { freshId, found }: { readonly freshId: string; readonly found: FoundSessions },
): RunSession {
  const { sessionId, forkSession } = order;
  const resumed = order.resume ?? found.latest ?? namedSession(order, found);
  const continued = forkSession ? undefined : resumed;
  return {
    id: sessionId ?? continued ?? freshId,
    isNew: sessionId !== undefined && continued === undefined,
    ...(resumed === undefined ? {} : { resumed }),
  };
}

function namedSession(
  { resumption }: Pick<RunOrder, "resumption">,
  { named = [] }: FoundSessions,
): string | undefined {
  if (resumption?.named === undefined) return undefined;
  const [id, ...more] = resumption.named === "" ? [] : named;
  if (id === undefined) {
    throw new CliError(
      resumption.named === ""
        ? NO_SESSION
        : `${NO_SESSION}. Provided value "${resumption.named}" is not a UUID and does not match any session title.`,
      {
        suggestion: "Use --resume <id>, with the session_id of an earlier json result",
        isUnbegun: true,
      },
    );
  }
  if (more.length > 0) {
    throw new CliError(
      `Cannot resume a session: ${named.length} sessions have the title "${resumption.named}"`,
      { suggestion: `Use --resume with the id of one of them: ${named.join(", ")}` },
    );
  }
  return id;
}
