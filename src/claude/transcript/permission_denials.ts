import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { wholePath } from "../../whole_path.ts";
import type { UserEntry } from "./entry.ts";
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
interface Refusal {
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

/** A call that somebody should be asked about, as the hook PermissionRequest tells of it. */
interface AskedCall {
  readonly tool: string;
  readonly input: JsonObject;
  /** The child's working directory. */
  readonly cwd: string;
}

/** Tools that are given a command: `claude -p` says at times which part of it it is, or why. */
const SHELLS: ReadonlySet<string> = new Set(["Bash", "Monitor", "PowerShell"]);
const COMMAND_WORDS = "This command requires approval";

/** What tools do with the file that they are given, and the field with its path. */
const FILES: ReadonlyMap<string, readonly [doing: string, field: string]> = new Map([
  ["Edit", ["write to", "file_path"]],
  ["Glob", ["read from", "path"]],
  ["Grep", ["read from", "path"]],
  ["NotebookEdit", ["write to", "notebook_path"]],
  ["Read", ["read from", "file_path"]],
  ["Write", ["write to", "file_path"]],
]);

/** Where nobody is ever asked (`--permission-prompts none`), what comes before the words that say what it is. */
const UNATTENDED =
  "Permission for this tool use was denied. It requires approval, and this session has no approval surface — nobody " +
  "can answer a permission prompt here — so it was denied automatically. The action was NOT performed; do not claim it " +
  "succeeded, and do not retry it: this action, and anything else that requires approval, will be denied the same way " +
  "for the rest of this session. Tell the user what was blocked and why you needed it, then continue with the parts of " +
  "the task that do not require approval.";

const OWN: readonly RegExp[] = [
  /^Claude requested permissions to .*, but you haven't granted it yet\.$/s,
  /^This command requires approval$/,
  /^Execute skill: [^\n]*$/,
  // What was said in its place when recordings of earlier versions were made.
  /^This tool use requires approval, and nobody is there to give it\.$/,
];

/**
 * What the model is told of a call that needs a permission which nobody is there to give: the words of `claude -p`, as far
 * as they follow from the call. Of a command it says more at times: which of its parts it is, or which path.
 *
 * @param options.unattended whether this is a run in which nobody is ever asked
 */
export function denialWords(
  { tool, input, cwd }: AskedCall,
  { unattended }: { readonly unattended?: true | undefined } = {},
): string {
  const words = wordsOf({ tool, input, cwd });
  return unattended ? `${UNATTENDED} What required approval: ${words}` : words;
}

/** Whether an error that the model was told of a call is that nobody was there to give a permission. */
export function isDenialWords(text: string): boolean {
  return isUnattendedDenial(text) || OWN.some((pattern) => pattern.test(text));
}

/** Whether it is that in a run in which nobody is ever asked. */
export function isUnattendedDenial(text: string): boolean {
  return text.startsWith(UNATTENDED);
}

/** Whether it is that of a command, of which `claude -p` tells why. */
export function isCommandDenial(text: string): boolean {
  return text === COMMAND_WORDS;
}

function wordsOf({ tool, input, cwd }: AskedCall): string {
  if (SHELLS.has(tool)) return COMMAND_WORDS;
  const { skill } = input;
  if (tool === "Skill" && typeof skill === "string") return skillWords(skill);
  const [doing, field] = FILES.get(tool) ?? [];
  const path = field === undefined ? undefined : input[field];
  const what = typeof path === "string" ? `${doing} ${wholePath(path, cwd)}` : `use ${tool}`;
  return `Claude requested permissions to ${what}, but you haven't granted it yet.`;
}

function skillWords(skill: string): string {
  return `Execute skill: ${skill}. The user can add the allow rule Skill(${skill}) to .claude/settings.local.json to let it run without asking.`;
}
