import { CliError } from "../../cli_error.ts";

/** One line of a list of prompts. */
export interface ListLine {
  readonly prompt: string;
  /** Flags for this run alone, after those of the command line. */
  readonly args: readonly string[];
}

const SUGGESTION = 'Write "the prompt" or {"prompt": "the prompt", "args": ["--model", "haiku"]}';

/**
 * Parses a line of a list.
 *
 * @throws {CliError} when it is not JSON
 */
export function parseListInput(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw new CliError("Cannot read the line: it is not JSON", { suggestion: SUGGESTION, cause });
  }
}

/**
 * What a line of a list asks for: a prompt as a JSON string, or an object with a `prompt`, and `args` if the run needs
 * flags of its own. Whatever else is in the object is the user's.
 *
 * @throws {CliError} for anything else
 */
export function readListInput(input: unknown): ListLine {
  if (typeof input === "string") return { prompt: input, args: [] };
  const { prompt, args = [] } = (input ?? {}) as { readonly prompt?: unknown; args?: unknown };
  if (typeof prompt !== "string") {
    throw new CliError("Cannot read the line: it has no prompt", { suggestion: SUGGESTION });
  }
  if (!Array.isArray(args) || !args.every((each) => typeof each === "string")) {
    throw new CliError('Cannot read the line: its "args" are not a list of strings', {
      suggestion: SUGGESTION,
    });
  }
  return { prompt, args };
}
