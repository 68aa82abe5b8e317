import type { JsonObject } from "../../../json_object.ts";
import { wholePath } from "../../../whole_path.ts";

/** A call that somebody should be asked about, as the hook PermissionRequest tells of it. */
export interface AskedCall {
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
