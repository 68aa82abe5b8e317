/**
 * Runs prompts through the interactive Claude Code from a program in Deno, carries conversations out, records them, and
 * replays recordings.
 *
 * It needs what the program `claude-print` needs: x86_64 Linux with glibc, Claude Code on PATH, a login, and the
 * permissions of `deno run -A`.
 *
 * @example
 * ```ts
 * import { run } from "jsr:@claude-print/cli/library";
 *
 * const { text } = await run("Why is the sky blue?", { args: ["--model", "haiku"] }).result;
 * console.log(text);
 * ```
 *
 * @module
 */

export {
  type Conversation,
  type ConversationEnd,
  converse,
  type ConverseOptions,
  type MessageOptions,
  type SentMessage,
  type TurnResult,
} from "./open_conversation.ts";
export { record, type Replay, replay, type ReplayedFrame } from "./recordings.ts";
export { run } from "./run.ts";
export {
  type Run,
  RunError,
  type RunOptions,
  type RunProblem,
  type RunResult,
} from "./run_output.ts";
export type { ClaudeLimits, UsedLimit } from "../claude/wire/claude_limits.ts";
export type { CallerQuestion, ControlResponse } from "../claude/wire/control.ts";
export type * from "../claude/wire/any_frame.ts";
export type * from "../claude/wire/frame.ts";
export type * from "../claude/wire/message_frames.ts";
export type { FailureSubtype, ModelUsage, ResultFrame } from "../claude/wire/result_frame.ts";
export type * from "../claude/wire/system_frames.ts";
export type * from "../claude/wire/task_frames.ts";
