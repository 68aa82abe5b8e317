import {
  type AttachmentEntry,
  type Entry,
  readBlockedPrompt,
  type SystemEntry,
  type UserEntry,
} from "../../../claude/transcript/entry.ts";
import { hasCapability } from "../../../claude/versions/profiles.ts";
import { asText, isJsonObject } from "../../../json_object.ts";
import { OUTPUT_REMINDER } from "../../../claude/transcript/structured_output_tool.ts";
import type { SystemFrame } from "../../../claude/wire/system_frames.ts";
import { type FrameContext, systemFrame } from "./frame_context.ts";

/** The facts about the end of a hook that a transcript holds. */
export interface HookEnd {
  /** The hook's event and matcher, such as `PreToolUse:Bash`. */
  readonly name: string;
  readonly event: string;
  readonly stdout: string;
  readonly stderr: string;
  /** The exit code; for an HTTP hook, the HTTP status. */
  readonly exitCode: number;
  readonly outcome: "success" | "error" | "cancelled";
}

/** Events of hooks that `claude -p` prints even without `--include-hook-events`. */
const ALWAYS_PRINTED: readonly string[] = ["SessionStart", "Setup"];

/** Events of hooks that run before the turn begins. Their frames come before `system/init`. */
const BEFORE_INIT: readonly string[] = [...ALWAYS_PRINTED, "UserPromptSubmit"];

/**
 * The commands of this program's own hooks, including those in recordings of earlier releases. No frame is printed for
 * these hooks or for the callbacks of a caller.
 */
const OWN_COMMAND =
  /^(?:(?:set -- [a-z]+(?: \d+)?; )?\. '.*\/own\/hook'|exec \/bin\/sh '.*\/own\/hook'(?: asks(?: \d+)?)?)$/su;

/** The command of a caller's hook, as `claude -p` names it. */
const CALLBACK = "callback";

/** The command of our hook that runs in place of a caller's hook, as texts of Claude Code quote it. */
const OWN_IN_TEXT = /\[set -- asks \d+; \. '[^\n]*?\/own\/hook'\]/gu;

/** Replaces the commands of our hooks in a text by the name that `claude -p` gives hooks of a caller. */
export function withCallbacks(text: string): string {
  return text.replaceAll(OWN_IN_TEXT, `[${CALLBACK}]`);
}

/**
 * The text that Claude Code writes before the stderr of a failed hook, and instead of an empty stderr. It removes the
 * last newline.
 */
const NOT_BLOCKING = "Failed with non-blocking status code: ";
const NO_STDERR = "No stderr output";

/** The texts about a hook that blocks with exit code 2. The command in such a text may contain newlines. */
const BLOCKED_CALL = /^((PreToolUse):\S+) hook error: \[(.*?)\]: (.*)$/su;
const BLOCKED_STOP = /^((Stop|SubagentStop)) hook feedback:\n\[(.*?)\]: (.*)$/su;
const BLOCKED_PROMPT =
  /^((UserPromptSubmit)) operation blocked by hook:\n\[(.*?)\]: (.*?)\n\nOriginal prompt: /su;

/** The notice about a PreToolUse hook that timed out. */
const NO_VERDICT = "A hook didn't answer in time, so it didn't check this action.";

/** The end of a hook that a line reports. Undefined for any other line, and for hooks of this program. */
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
      return blockingEnd(readBlockedPrompt(entry), BLOCKED_PROMPT);
    default:
      return undefined;
  }
}

/** Whether the end of a hook is printed. `all` is set for `--include-hook-events`. */
export function isHookPrinted({ event }: HookEnd, { all }: { readonly all: boolean }): boolean {
  return all || ALWAYS_PRINTED.includes(event);
}

/** Whether the frames of a hook come before the `system/init` of its turn. */
export function runsBeforeInit({ event }: HookEnd): boolean {
  return BEFORE_INIT.includes(event);
}

/** The frames of a hook that has ended. Its start is printed at the same time, because no line reports the start. */
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

/** The notices about hooks on a line. They are printed even if the ends of hooks are not. */
export function hookRemarks(entry: Entry, context: FrameContext): readonly SystemFrame[] {
  if (entry.type === "system") return stopProblem(entry, context);
  if (entry.type !== "attachment") return [];
  const { type, hookName, hookEvent, content, toolUseID, timedOut } = entry.attachment;
  if (type === "hook_system_message" && !ALWAYS_PRINTED.includes(asText(hookEvent))) {
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

/**
 * The notice that Stop hooks have failed or continued the turn. There is none for our hook that reminds the model of a
 * structured answer.
 */
function stopProblem(
  { subtype, hookErrors, hookInfos }: SystemEntry,
  context: FrameContext,
): readonly SystemFrame[] {
  if (subtype !== "stop_hook_summary" || !Array.isArray(hookErrors)) return [];
  if (hookErrors.every((error) => error === OUTPUT_REMINDER)) return [];
  // On a busy machine, a child that has to end stops our hook, after the hook has reported everything.
  if (Array.isArray(hookInfos) && hookInfos.length > 0 && hookInfos.every(isOwnHook)) return [];
  return [stopNotice(context)];
}

/** The `system/notification` that a Stop hook has failed. */
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

function isHidden(command: unknown): boolean {
  return command === CALLBACK || OWN_COMMAND.test(asText(command));
}

function attachedEnd({ attachment }: AttachmentEntry): HookEnd | undefined {
  const { type, hookName: name, hookEvent: event, command, blockingError } = attachment;
  if (typeof name !== "string" || typeof event !== "string") return undefined;
  if (isHidden(command)) return undefined;
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
      // No line holds the output of a hook that was cancelled.
      return { ...hook, exitCode: 1, outcome: "cancelled" };
    case "hook_blocking_error": {
      if (!isJsonObject(blockingError) || isHidden(blockingError["command"])) return undefined;
      const text = asText(blockingError["blockingError"]);
      const prefix = `[${asText(blockingError["command"])}]: `;
      // A hook that blocks with JSON counts as successful, and no line holds its output.
      return text.startsWith(prefix)
        ? { ...hook, stderr: withoutPlaceholder(text.slice(prefix.length)), ...BLOCKED }
        : undefined;
    }
    default:
      return undefined;
  }
}

const BLOCKED = { exitCode: 2, outcome: "error" } as const;

function blockingEnd(text: string | undefined, pattern: RegExp): HookEnd | undefined {
  const [, name, event, command, stderr] = pattern.exec(text ?? "") ?? [];
  return name === undefined || event === undefined || isHidden(command)
    ? undefined
    : { name, event, stdout: "", stderr: withoutPlaceholder(stderr ?? ""), ...BLOCKED };
}

/** The stderr of a hook. A last newline is added, because almost all hooks write one. */
function originalError(text: string): string {
  const written = text.startsWith(NOT_BLOCKING) ? text.slice(NOT_BLOCKING.length) : text;
  return written === NO_STDERR || written === "" ? "" : `${written}\n`;
}

function withoutPlaceholder(stderr: string): string {
  return stderr === NO_STDERR ? "" : stderr;
}

/** The text of a line of type `user` that Claude Code itself has written. */
function remarkOf({ message: { content } }: UserEntry): string | undefined {
  if (typeof content === "string") return content;
  const text = content[0]?.["text"];
  return typeof text === "string" ? text : undefined;
}

/** The error of a tool that has failed, or was not called. */
function errorOf({ message: { content } }: UserEntry): string | undefined {
  const [block] = typeof content === "string" ? [] : content;
  const text = block?.["is_error"] === true ? block["content"] : undefined;
  return typeof text === "string" ? text : undefined;
}
