import { isJsonObject } from "../../../json_object.ts";
import { wholePath } from "../../../whole_path.ts";
import type { UserEntry } from "../entry.ts";
import { isDeferral, type ToolResult, type ToolUse, type Turn } from "./turn.ts";

/** A call that was refused, as `claude -p` lists it in `permission_denials`. */
export interface PermissionDenial {
  readonly tool_name: string;
  readonly tool_use_id: string;
  readonly tool_input: unknown;
}

/** What somebody has decided on calls, by their ids. */
type Decisions = Pick<ReadonlyMap<string, string>, "get">;

/** How Claude Code words that a rule has denied a call, or the mode `dontAsk`. */
const BY_RULE = /^Permission to use (\S+) .*has been denied/su;
/** How it words that a hook has. */
const BY_HOOK = /^PreToolUse:\S+ hook error: /u;

/** Whether a call was refused, and what kind of reason that had. */
export interface Refusal {
  readonly reasonType: unknown;
}

/**
 * The refusal that the result of a call tells of; undefined if the call was not refused. The transcript of 2.1.285 has no
 * decision, so the reason is known by the words. An interrupt is no refusal, though it leaves a kind of denial.
 */
export function refusalIn(
  { permissionDecision: decision, toolDenialKind: kind }: UserEntry,
  text: string,
): Refusal | undefined {
  if (decision !== undefined) {
    return decision.decision === "reject" ? { reasonType: decision.reasonType } : undefined;
  }
  if (typeof kind === "string" && kind.startsWith("automode-")) {
    return { reasonType: "classifier" };
  }
  if (kind !== "permission-rule") return undefined;
  if (BY_HOOK.test(text)) return { reasonType: "hook" };
  const [, tool] = BY_RULE.exec(text) ?? [];
  return { reasonType: tool === "Bash" ? "subcommandResults" : tool && "rule" };
}

/**
 * Lists the calls of a turn that were refused.
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

/** Tools whose `file_path` is whole by the time that somebody decides on the call . */
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
  return refusalIn(result.entry, result.text) !== undefined;
}
