import type { ToolResult, Turn } from "./turn.ts";

/** A call that was refused, as `claude -p` lists it in `permission_denials`. */
export interface PermissionDenial {
  readonly tool_name: string;
  readonly tool_use_id: string;
  readonly tool_input: unknown;
}

/** What is known of denials beside the transcript. */
export interface KnownDenials {
  readonly denialMessages: readonly string[];
  readonly decisions?: ReadonlyMap<string, string>;
}

const DENIED = [
  // A deny rule, or the mode `dontAsk`.
  /^Permission to use .* has been denied/s,
  // `claude -p` itself, when nobody can be asked.
  /^Claude requested permissions to .*, but you haven't granted it yet\.$/s,
];

/**
 * Lists the calls of a turn that were refused.
 *
 * Since Claude Code 2.1.330 the transcript marks them; before, they are known by their text.
 *
 * @param known.denialMessages the texts with which the run itself refuses what somebody should be asked
 * @param known.decisions what somebody has decided on calls, by their ids
 */
export function permissionDenialsOf(
  turn: Turn,
  known: KnownDenials,
): readonly PermissionDenial[] {
  const denied = new Set(
    turn.toolResults.filter((result) => isDenial(result, known))
      .map((result) => result.toolUseId),
  );
  return turn.toolUses.filter((use) => denied.has(use.id)).map((use) => ({
    tool_name: use.name,
    tool_use_id: use.id,
    tool_input: use.input,
  }));
}

function isDenial(result: ToolResult, { denialMessages, decisions }: KnownDenials): boolean {
  if (!result.isError) return false;
  const decision = decisions?.get(result.toolUseId);
  if (decision !== undefined) return decision !== "accepted" && decision !== "late";
  // An interrupt leaves a `toolDenialKind` as well, but nobody decided.
  return result.entry.permissionDecision?.decision === "reject" ||
    denialMessages.includes(result.text) ||
    DENIED.some((pattern) => pattern.test(result.text));
}
