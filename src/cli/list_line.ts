import { CliError } from "../cli_error.ts";

/** One line of a list of prompts. */
export interface ListLine {
  /** The line as JSON. */
  readonly input: unknown;
  readonly prompt: string;
  /** Flags for this run alone, after those of the command line. */
  readonly args: readonly string[];
}

const SUGGESTION = 'Write "the prompt" or {"prompt": "the prompt", "args": ["--model", "haiku"]}';

/**
 * Reads a line of a list: a prompt as a JSON string, or an object with a `prompt`, and `args` if the run needs flags of
 * its own. Whatever else is in the object is the user's.
 *
 * @throws {CliError} for anything else
 */
export function parseListLine(line: string): ListLine {
  let input: unknown;
  try {
    input = JSON.parse(line);
  } catch (error) {
    throw new CliError("Cannot read the line: it is not JSON", {
      suggestion: SUGGESTION,
      cause: error,
    });
  }
  if (typeof input === "string") return { input, prompt: input, args: [] };
  const { prompt, args = [] } = (input ?? {}) as { readonly prompt?: unknown; args?: unknown };
  if (typeof prompt !== "string") {
    throw new CliError("Cannot read the line: it has no prompt", { suggestion: SUGGESTION });
  }
  if (!Array.isArray(args) || !args.every((each) => typeof each === "string")) {
    throw new CliError('Cannot read the line: its "args" are not a list of strings', {
      suggestion: SUGGESTION,
    });
  }
  return { input, prompt, args };
}
