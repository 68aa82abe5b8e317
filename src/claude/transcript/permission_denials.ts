import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { wholePath } from "../../paths.ts";
import type { UserEntry } from "./entry.ts";
import { isDeferral, type ToolResult, type ToolUse, type Turn } from "./turn.ts";

/** A refused call in the result's `permission_denials`. */
export interface PermissionDenial {
  readonly tool_name: string;
  readonly tool_use_id: string;
  readonly tool_input: unknown;
}

/** Decisions on calls, by the ids of the calls. */
type Decisions = Pick<ReadonlyMap<string, string>, "get">;

/** The result of a call that a rule or the mode `dontAsk` denied. */
const BY_RULE = /^Permission to use (\S+) .*has been denied/su;
/** The result of a call that a hook denied. */
const BY_HOOK = /^PreToolUse:\S+ hook error: /u;

/** Why a call was refused. */
interface Refusal {
  readonly reasonType: unknown;
}

/**
 * Reads from a call's result why the call was refused; undefined if it was not. The transcript of 2.1.285 has no decision,
 * so the reason follows from the text. An interrupt leaves a denial kind too, but is no refusal.
 */
export function readRefusal(
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
 * @param decisions the caller's decisions, by the ids of the calls
 */
export function collectPermissionDenials(
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

/** Tools whose `file_path` is absolute when the permission is asked for. */
const FILE_TOOLS: readonly string[] = ["Edit", "Read", "Write"];

/** The input of a call with the absolute path of its file. A path with `~` stays, because the home is not known. */
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
  return readRefusal(result.entry, result.text) !== undefined;
}

/** A call that needs a permission, from the PermissionRequest hook. */
interface AskedCall {
  readonly tool: string;
  readonly input: JsonObject;
  /** The child's working directory. */
  readonly cwd: string;
}

/** Tools that run a command. For some commands `claude -p` names the part that needs the permission. */
const SHELLS: ReadonlySet<string> = new Set(["Bash", "Monitor", "PowerShell"]);
const COMMAND_WORDS = "This command requires approval";

/** What tools do with a file, and the field that has its path. */
const FILES: ReadonlyMap<string, readonly [doing: string, field: string]> = new Map([
  ["Edit", ["write to", "file_path"]],
  ["Glob", ["read from", "path"]],
  ["Grep", ["read from", "path"]],
  ["NotebookEdit", ["write to", "notebook_path"]],
  ["Read", ["read from", "file_path"]],
  ["Write", ["write to", "file_path"]],
]);

/** The beginning of the message with `--permission-prompts none`. */
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
  // From recordings of earlier versions of claude-print.
  /^This tool use requires approval, and nobody is there to give it\.$/,
];

/**
 * Returns the result for a call whose permission nobody can give, in the words of `claude -p`. For some commands
 * `claude -p` also names the part or the path, which the call alone does not tell.
 *
 * @param options.unattended true with `--permission-prompts none`
 */
export function denialText(
  { tool, input, cwd }: AskedCall,
  { unattended }: { readonly unattended?: true | undefined } = {},
): string {
  const words = wordsOf({ tool, input, cwd });
  return unattended ? `${UNATTENDED} What required approval: ${words}` : words;
}

/** Whether the result of a call says that nobody could give the permission. */
export function isDenialText(text: string): boolean {
  return isUnattendedDenial(text) || OWN.some((pattern) => pattern.test(text));
}

/** Whether the result of a call is one of `--permission-prompts none`. */
export function isUnattendedDenial(text: string): boolean {
  return text.startsWith(UNATTENDED);
}

/** Whether the result of a call is that of a command, for which `claude -p` may give a reason. */
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
