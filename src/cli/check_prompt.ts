import { CliError } from "../cli_error.ts";

/**
 * The longest prompt that Claude Code takes from stdin, in UTF-16 code units: 10 MiB worth in
 * 2.1.197 and 2.1.330, for `claude -p` and for the interactive program alike.
 */
export const MAX_PROMPT_LENGTH: number = 10 * 1024 * 1024;

/**
 * What makes a prompt unfit for a turn of the interactive Claude Code, or undefined if nothing does:
 * no text at all, a NUL character, half of a surrogate pair, or too much text.
 */
export function checkPrompt(text: string): CliError | undefined {
  if (text.trim() === "") {
    return new CliError(
      text === ""
        ? "Cannot start a turn: there is no prompt"
        : "Cannot start a turn: the prompt is nothing but white space",
      { suggestion: 'Type claude-print "your prompt", or pipe the prompt in' },
    );
  }
  const nul = text.indexOf("\0");
  if (nul !== -1) {
    const offset = new TextEncoder().encode(text.slice(0, nul)).length;
    return new CliError(
      `Cannot send the prompt: it holds a NUL character at byte offset ${offset}`,
      {
        suggestion: "Remove the NUL characters, for example with tr -d '\\0'",
      },
    );
  }
  if (!text.isWellFormed()) {
    return new CliError("Cannot send the prompt: it holds half of a surrogate pair", {
      suggestion: "Cut texts between characters, not inside them, or use toWellFormed()",
    });
  }
  if (text.length > MAX_PROMPT_LENGTH) return promptTooLong();
  return undefined;
}

/** The error for a prompt above {@linkcode MAX_PROMPT_LENGTH}. */
export function promptTooLong(): CliError {
  return new CliError("Cannot send the prompt: it is longer than the 10 MiB Claude Code reads", {
    suggestion: "Put the material into a file and name that file in the prompt",
  });
}
