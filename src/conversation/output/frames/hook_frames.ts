import {
  type AttachmentEntry,
  blockedPrompt,
  type Entry,
  type SystemEntry,
  type UserEntry,
} from "../../../claude/transcript/entry.ts";
import { hasCapability } from "../../../claude/versions/profiles.ts";
import { asText, isJsonObject } from "../../../json_object.ts";
import { OUTPUT_REMINDER } from "../../../claude/transcript/structured_output_tool.ts";
import type { SystemFrame } from "../../../claude/wire/system_frames.ts";
import { type FrameContext, systemFrame } from "./frame_context.ts";

/** A hook that ran, as far as a transcript tells. */
export interface HookEnd {
  /** Its event and what it was for, such as `PreToolUse:Bash`. */
  readonly name: string;
  readonly event: string;
  readonly stdout: string;
  readonly stderr: string;
  /** That of an HTTP hook is its status. */
  readonly exitCode: number;
  readonly outcome: "success" | "error" | "cancelled";
}

/** Hooks whose ends `claude -p` prints in stream-json without being asked to. */
const TOLD_ANYWAY: readonly string[] = ["SessionStart", "Setup"];

/** Hooks that run before the turn has begun: what they say stands before `system/init`. */
const AHEAD: readonly string[] = [...TOLD_ANYWAY, "UserPromptSubmit"];

/**
 * How the hooks of this program are started, and were in what earlier releases recorded: nobody is told of them, nor of the
 * callbacks of a caller.
 */
const OWN_COMMAND =
  /^(?:(?:set -- [a-z]+(?: \d+)?; )?\. '.*\/own\/hook'|exec \/bin\/sh '.*\/own\/hook'(?: asks(?: \d+)?)?)$/su;

/** What Claude Code calls a hook of the caller's. */
const CALLBACK = "callback";

/** How a hook of the caller's is named where Claude Code names the command alone. */
const OWN_IN_TEXT = /\[set -- asks \d+; \. '[^\n]*?\/own\/hook'\]/gu;

/** A text with the names that `claude -p` gives hooks of the caller's. */
export function withCallbacks(text: string): string {
  return text.replaceAll(OWN_IN_TEXT, `[${CALLBACK}]`);
}

/** What Claude Code puts before the stderr of a hook that failed, and in its place; it is without its last newline. */
const NOT_BLOCKING = "Failed with non-blocking status code: ";
const NO_STDERR = "No stderr output";

/** How the model, or the user, is told of a hook that blocks with exit code 2. A command may hold newlines. */
const BLOCKED_CALL = /^((PreToolUse):\S+) hook error: \[(.*?)\]: (.*)$/su;
const BLOCKED_STOP = /^((Stop|SubagentStop)) hook feedback:\n\[(.*?)\]: (.*)$/su;
const BLOCKED_PROMPT =
  /^((UserPromptSubmit)) operation blocked by hook:\n\[(.*?)\]: (.*?)\n\nOriginal prompt: /su;

/** What is said of a hook that took too long to say whether a tool may be called. */
const NO_VERDICT = "A hook didn't answer in time, so it didn't check this action.";

/** The hook whose end a line tells; undefined for any other line, and for hooks of this program. */
export function hookEndIn(entry: Entry): HookEnd | undefined {
  switch (entry.type) {
    case "attachment":
      return attachedEnd(entry);
    case "user":
      if (entry.meaning === "remark") return blockingEnd(remarkOf(entry), BLOCKED_STOP);
      return entry.meaning === "tool-result"
        ? blockingEnd(errorOf(entry), BLOCKED_CALL)
        : undefined;
    case "system":
      return blockingEnd(blockedPrompt(entry), BLOCKED_PROMPT);
    default:
      return undefined;
  }
}

/** Whether the end of a hook is told, and whether before `system/init`. */
export function isHookTold({ event }: HookEnd, { all }: { readonly all: boolean }): boolean {
  return all || TOLD_ANYWAY.includes(event);
}

/** Whether what is told of a hook stands before the `system/init` of its turn. */
export function isAhead({ event }: HookEnd): boolean {
  return AHEAD.includes(event);
}

/** The frames about a hook that has ended. When it began, nobody tells. */
export function hookFrames(
  { name, event, stdout, stderr, exitCode, outcome }: HookEnd,
  context: Pick<FrameContext, "sessionId" | "newUuid">,
): readonly SystemFrame[] {
  const hook = { hook_id: context.newUuid(), hook_name: name, hook_event: event };
  return [
    systemFrame("hook_started", hook, context),
    systemFrame("hook_response", {
      ...hook,
      output: `${stdout}${stderr}`,
      stdout,
      stderr,
      exit_code: exitCode,
      outcome,
    }, context),
  ];
}

/** What `claude -p` says of the hooks of a session in any case, other than that they have ended. */
export function hookRemarks(entry: Entry, context: FrameContext): readonly SystemFrame[] {
  if (entry.type === "system") return stopProblem(entry, context);
  if (entry.type !== "attachment") return [];
  const { type, hookName, hookEvent, content, toolUseID, timedOut } = entry.attachment;
  if (type === "hook_system_message" && !TOLD_ANYWAY.includes(asText(hookEvent))) {
    return [
      systemFrame(
        "informational",
        { content: `${asText(hookName)} says: ${asText(content)}`, level: "notice" },
        context,
      ),
    ];
  }
  if (type === "hook_cancelled" && hookEvent === "PreToolUse" && timedOut === true) {
    return [
      systemFrame("informational", {
        content: NO_VERDICT,
        level: "warning",
        tag: "hook_no_verdict",
        hook_no_verdict: { hook_event: hookEvent, tool_use_id: toolUseID, timed_out: true },
      }, context),
    ];
  }
  return [];
}

/** That Stop hooks have failed, or made the turn go on: others than the one that reminds of a structured answer. */
function stopProblem(
  { subtype, hookErrors, hookInfos }: SystemEntry,
  context: FrameContext,
): readonly SystemFrame[] {
  if (subtype !== "stop_hook_summary" || !Array.isArray(hookErrors)) return [];
  if (hookErrors.every((error) => error === OUTPUT_REMINDER)) return [];
  // On a busy machine a child that is told to go stops ours, which has said all by then.
  if (Array.isArray(hookInfos) && hookInfos.length > 0 && hookInfos.every(isOwnHook)) return [];
  return [stopNotice(context)];
}

/** Tells a person that a Stop hook has failed. */
export function stopNotice(
  context: Pick<FrameContext, "sessionId" | "newUuid"> & { readonly version: string | undefined },
): SystemFrame {
  const what = hasCapability(context.version, "saysStopHookProblem")
    ? "stop hook problem"
    : hasCapability(context.version, "saysStopHookReported")
    ? "stop hook reported a problem"
    : "Stop hook error occurred";
  return systemFrame("notification", {
    key: "stop-hook-error",
    text: `${what} · ctrl+o to see`,
    priority: "immediate",
  }, context);
}

function isOwnHook(info: unknown): boolean {
  return isJsonObject(info) && OWN_COMMAND.test(asText(info["command"]));
}

function isUntold(command: unknown): boolean {
  return command === CALLBACK || OWN_COMMAND.test(asText(command));
}

function attachedEnd({ attachment }: AttachmentEntry): HookEnd | undefined {
  const { type, hookName: name, hookEvent: event, command, blockingError } = attachment;
  if (typeof name !== "string" || typeof event !== "string") return undefined;
  if (isUntold(command)) return undefined;
  const { stdout, stderr, exitCode } = attachment;
  const hook = {
    name,
    event,
    stdout: typeof stdout === "string" ? stdout : "",
    stderr: typeof stderr === "string" ? stderr : "",
  };
  switch (type) {
    case "hook_success":
      return typeof exitCode === "number" ? { ...hook, exitCode, outcome: "success" } : undefined;
    case "hook_non_blocking_error":
      return typeof exitCode === "number"
        ? { ...hook, stderr: originalError(hook.stderr), exitCode, outcome: "error" }
        : undefined;
    case "hook_cancelled":
      // What it had written by then is not on record.
      return { ...hook, exitCode: 1, outcome: "cancelled" };
    case "hook_blocking_error": {
      if (!isJsonObject(blockingError) || isUntold(blockingError["command"])) return undefined;
      const text = asText(blockingError["blockingError"]);
      const prefix = `[${asText(blockingError["command"])}]: `;
      // One that blocks with JSON has succeeded, and what it has written is not on record.
      return text.startsWith(prefix)
        ? { ...hook, stderr: withoutWords(text.slice(prefix.length)), ...BLOCKED }
        : undefined;
    }
    default:
      return undefined;
  }
}

const BLOCKED = { exitCode: 2, outcome: "error" } as const;

function blockingEnd(text: string | undefined, pattern: RegExp): HookEnd | undefined {
  const [, name, event, command, stderr] = pattern.exec(text ?? "") ?? [];
  return name === undefined || event === undefined || isUntold(command)
    ? undefined
    : { name, event, stdout: "", stderr: withoutWords(stderr ?? ""), ...BLOCKED };
}

/** What a hook wrote to stderr; one that writes something nearly always ends with a newline. */
function originalError(text: string): string {
  const told = text.startsWith(NOT_BLOCKING) ? text.slice(NOT_BLOCKING.length) : text;
  return told === NO_STDERR || told === "" ? "" : `${told}\n`;
}

function withoutWords(stderr: string): string {
  return stderr === NO_STDERR ? "" : stderr;
}

/** What Claude Code says to the model in the user's name. */
function remarkOf({ message: { content } }: UserEntry): string | undefined {
  if (typeof content === "string") return content;
  const text = content[0]?.["text"];
  return typeof text === "string" ? text : undefined;
}

/** Why a tool has failed, or was not called. */
function errorOf({ message: { content } }: UserEntry): string | undefined {
  const [block] = typeof content === "string" ? [] : content;
  const text = block?.["is_error"] === true ? block["content"] : undefined;
  return typeof text === "string" ? text : undefined;
}
