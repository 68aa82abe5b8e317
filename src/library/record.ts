import type { Conversation } from "./conversation_handle.ts";
import { converse } from "./converse.ts";
import type { RunOptions } from "./run_handle.ts";

/**
 * Holds a conversation as {@linkcode converse} does, and records it as it goes: `replay()` and `claude-print cassette`
 * read the recording, whatever ends your program.
 *
 * A run of one prompt is recorded by {@linkcode run} with `args: ["--record", folder]`.
 *
 * @param folder a folder that does not exist yet, or an empty one; from the working directory of the conversation
 * @param options as those of a conversation
 * @returns the conversation, in which nothing has been said
 *
 * @example A recording, and what is in it
 * ```ts
 * import { record, replay } from "jsr:@claude-print/cli/library";
 *
 * const conversation = record("recording", { args: ["--model", "haiku"] });
 * await conversation.send("Think of a number.").result;
 * await conversation.send("Double it.").result;
 * await conversation.close();
 * console.log((await replay("recording")).frames.length);
 * ```
 */
export function record(folder: string, options: RunOptions = {}): Conversation {
  return converse({ ...options, args: [...options.args ?? [], `--record=${folder}`] });
}
