import { openConversation } from "./open_conversation.ts";
import type { Conversation, ConverseOptions } from "./conversation_handle.ts";

/**
 * Holds a conversation of many turns with the interactive Claude Code, as the program `claude-print` does with
 * `--input-format stream-json`.
 *
 * Claude Code is started with the first message, or at once if it is to be warm, stays for all that follow, and is started anew on the same session for
 * what comes after it has died. Your program is left alone as by {@linkcode run}.
 *
 * @param options as those of a run; `signal` ends the conversation
 * @returns the conversation, in which nothing has been said
 *
 * @example Two turns
 * ```ts
 * import { converse } from "jsr:@claude-print/cli/library";
 *
 * await using conversation = converse({ args: ["--model", "haiku"] });
 * const first = await conversation.send("Think of a number.").result;
 * const second = await conversation.send("Double it.").result;
 * console.log(first.text, second.text);
 * ```
 *
 * @example What Claude does in all turns, as it happens
 * ```ts
 * import { converse } from "jsr:@claude-print/cli/library";
 *
 * await using conversation = converse();
 * conversation.send("Why is the sky blue?");
 * conversation.send("And at night?");
 * conversation.close();
 * for await (const frame of conversation) {
 *   if (frame.type === "result") console.log(frame.result);
 * }
 * ```
 *
 * @example Another question instead
 * ```ts
 * import { converse } from "jsr:@claude-print/cli/library";
 *
 * await using conversation = converse();
 * const first = conversation.send("Count to a million");
 * for await (const frame of conversation) {
 *   if (frame.type === "system") break;
 * }
 * await conversation.interrupt();
 * console.log((await first.result).frame.subtype); // error_during_execution
 * ```
 */
export function converse(options: ConverseOptions = {}): Conversation {
  const { ask: _ask, answer: _answer, ...conversation } = openConversation(options);
  return conversation;
}
