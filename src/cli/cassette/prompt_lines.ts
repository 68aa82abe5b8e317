import { CliError } from "../../cli_error.ts";
import { checkPrompt } from "../arguments/check_prompt.ts";
import type { Message } from "../../conversation/control/message.ts";
import { messageLine } from "../../claude/wire/caller_line.ts";

/**
 * Prompts, typed or recorded, as a program says them.
 *
 * @throws {CliError} for one that cannot be sent
 */
export function promptLines(
  prompts: readonly (string | Message)[],
): readonly ReturnType<typeof messageLine>[] {
  return prompts.map((prompt, index) => {
    const content = typeof prompt === "string" ? prompt : prompt.content ?? prompt.text;
    const line = messageLine(content, { ticket: `${index}` });
    const problem = line.obstacle === undefined
      ? typeof content === "string" ? checkPrompt(content) : undefined
      : new CliError(`Cannot send the recorded prompt: ${line.obstacle}`, {
        suggestion: "Say something else with --prompt",
      });
    if (problem !== undefined) throw problem;
    return typeof prompt !== "string" && prompt.synthetic ? { ...line, synthetic: true } : line;
  });
}
