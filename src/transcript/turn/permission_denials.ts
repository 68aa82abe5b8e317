import { isJsonObject } from "../../json_object.ts";
import { wholePath } from "../../whole_path.ts";
import { isDenialWords } from "./denial_words.ts";
import { isDeferral, type ToolResult, type ToolUse, type Turn } from "./turn.ts";

/** A call that was refused, as `claude -p` lists it in `permission_denials`. */
export interface PermissionDenial {
  readonly tool_name: string;
  readonly tool_use_id: string;
  readonly tool_input: unknown;
}

/** What somebody has decided on calls, by their ids. */
type Decisions = Pick<ReadonlyMap<string, string>, "get">;

/** What a deny rule says, or the mode `dontAsk`. */
const BY_RULE = /^Permission to use .* has been denied/s;

/**
 * Lists the calls of a turn that were refused.
 *
 * Since Claude Code 2.1.330 the transcript marks them; before, they are known by their text.
 *
 * @param decisions what somebody has decided on calls, by their ids
 */
export function permissionDenialsOf(
  turn: Turn,
  decisions?: Decisions,
): readonly PermissionDenial[] {
  const denied = new Map(
    turn.toolResults.filter((result) => isDenial(result, decisions))
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

function isDenial(result: ToolResult, decisions: Decisions | undefined): boolean {
  if (!result.isError || isDeferral(result.entry)) return false;
  const decision = decisions?.get(result.toolUseId);
  if (decision !== undefined) return decision !== "accepted" && decision !== "late";
  // An interrupt leaves a `toolDenialKind` as well, but nobody decided.
  return result.entry.permissionDecision?.decision === "reject" ||
    isDenialWords(result.text) || BY_RULE.test(result.text);
}
