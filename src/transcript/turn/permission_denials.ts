import { isJsonObject } from "../../json_object.ts";
import { wholePath } from "../../whole_path.ts";
import { isDeferral, type ToolResult, type ToolUse, type Turn } from "./turn.ts";

/** A call that was refused, as `claude -p` lists it in `permission_denials`. */
export interface PermissionDenial {
  readonly tool_name: string;
  readonly tool_use_id: string;
  readonly tool_input: unknown;
}

/** What is known of denials beside the transcript. */
export interface KnownDenials {
  readonly denialMessages: readonly string[];
  readonly decisions?: Pick<ReadonlyMap<string, string>, "get">;
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
  const denied = new Map(
    turn.toolResults.filter((result) => isDenial(result, known))
      .map((result) => [result.toolUseId, result.entry.cwd]),
  );
  return turn.toolUses.filter((use) => denied.has(use.id)).map((use) => ({
    tool_name: use.name,
    tool_use_id: use.id,
    tool_input: inputOf(use, denied.get(use.id)),
  }));
}

/** Tools whose `file_path` is whole by the time that somebody decides on the call (2.1.197 and 2.1.330). */
const FILE_TOOLS: readonly string[] = ["Edit", "Read", "Write"];

/** What a call was given, with the whole path of its file. One that
 * begins with `~` is left as it is: no transcript tells whose home that is. */
function inputOf({ name, input }: ToolUse, cwd: string | undefined): unknown {
  if (!FILE_TOOLS.includes(name) || !isJsonObject(input)) return input;
  const { file_path: path } = input;
  if (typeof path !== "string" || cwd === undefined || /^~|\0/u.test(path)) return input;
  return { ...input, file_path: wholePath(path.trim(), cwd) };
}

function isDenial(result: ToolResult, { denialMessages, decisions }: KnownDenials): boolean {
  if (!result.isError || isDeferral(result.entry)) return false;
  const decision = decisions?.get(result.toolUseId);
  if (decision !== undefined) return decision !== "accepted" && decision !== "late";
  // An interrupt leaves a `toolDenialKind` as well, but nobody decided.
  return result.entry.permissionDecision?.decision === "reject" ||
    denialMessages.includes(result.text) ||
    DENIED.some((pattern) => pattern.test(result.text));
}
