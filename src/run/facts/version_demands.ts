import { CliError, UnsupportedError } from "../../cli_error.ts";
import { isVersionAtLeast } from "../../claude/versions/compare_versions.ts";
import type { RunOrder } from "../plan/run_order.ts";

/** Asks Claude Code for its version, once, which takes up to 90 ms. */
export type AskVersion = () => Promise<string | undefined>;

/** The first version whose rendezvous socket has been measured message by message. */
const CONVERSES = "2.1.197";

/** The first version that was seen to know some flags. */
export const RECENT = "2.1.330";
/** Those of them that it is given as they are: an earlier one ends at once, and says why on its screen alone. */
const RECENT_FLAGS = [
  "--project-config-root",
  "--restricted",
  "--autocompact",
  "--fast-mode",
  "--include-unsupported-models",
  "--system-prompt-snapshot",
];

/** Whether it is known to be one before those. */
export function isOlder(version: string | undefined): boolean {
  return version !== undefined && !isVersionAtLeast(version, RECENT);
}

/**
 * Refuses what the Claude Code that is there does not know.
 *
 * @throws {CliError} for the first of such flags
 */
export async function refuseUnknownFlags(
  { noTurns, forwarded }: RunOrder,
  version: AskVersion,
): Promise<void> {
  if (noTurns !== undefined) refuseTurns(noTurns, await version());
  const recent = RECENT_FLAGS.find((flag) =>
    forwarded.some((argument) => argument.split("=", 1)[0] === flag)
  );
  if (recent !== undefined) requireVersion(recent, await version());
}

function refuseTurns(value: string, version: string | undefined): void {
  if (isOlder(version)) return;
  throw new CliError(`Cannot read the command line: --max-turns does not take "${value}"`, {
    suggestion: "Use a number of requests to the model, 0 for no limit",
  });
}

/** @throws {CliError} when the version does not know a flag, or is not known itself */
export function requireVersion(flag: string, version: string | undefined): void {
  if (version !== undefined && isVersionAtLeast(version, RECENT)) return;
  throw new CliError(
    `Cannot honour ${flag}: Claude Code ${version ?? "of an unknown version"} lacks it`,
    { suggestion: `Update Claude Code to ${RECENT} or later, or leave it out` },
  );
}

/** @throws {CliError} when the version holds no conversation, or is not known itself */
export function requireConversation(version: string | undefined): void {
  if (version !== undefined && isVersionAtLeast(version, CONVERSES)) return;
  throw new UnsupportedError(
    `Cannot hold a conversation with Claude Code ${
      version ?? "of an unknown version"
    }: it needs ${CONVERSES} or later`,
    {
      suggestion: "Update Claude Code, or send one prompt a run without --input-format stream-json",
    },
  );
}
