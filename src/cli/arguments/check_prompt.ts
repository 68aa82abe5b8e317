import { CliError } from "../../cli_error.ts";
import type { MisplacedPrompt } from "./run_request.ts";

/**
 * The longest prompt that Claude Code takes from stdin, in UTF-16 code units: 10 MiB worth in
 * 2.1.330, for `claude -p` and for the interactive program alike.
 */
export const MAX_PROMPT_LENGTH: number = 10 * 1024 * 1024;

/** The most bytes a prompt can have: no character takes more bytes of UTF-8 for each UTF-16 code unit. */
export const MAX_PROMPT_BYTES: number = 3 * MAX_PROMPT_LENGTH;

const GIVE_PROMPT = 'Type claude-print "your prompt", or pipe the prompt in';

/**
 * The error for a command line without a prompt, in the words of `claude -p`.
 *
 * @param taken a value of a flag of many values that may have been meant as the prompt, if there is one
 */
export function noPromptError(taken?: MisplacedPrompt): CliError {
  return new CliError(
    "Error: Input must be provided either through stdin or as a prompt argument when using --print",
    {
      suggestion: taken === undefined
        ? GIVE_PROMPT
        : `If ${
          JSON.stringify(shortened(taken.text))
        } is the prompt: ${taken.flag} takes all that ` +
          'follows it; put the prompt before it, or after "--"',
    },
  );
}

/** Enough of a text to know it again. */
function shortened(text: string): string {
  const [...characters] = text.split("\n", 1)[0] ?? "";
  return characters.length > 40 ? `${characters.slice(0, 39).join("")}…` : characters.join("");
}

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
      { suggestion: GIVE_PROMPT },
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
  if (text.length > MAX_PROMPT_LENGTH) return promptTooLongError();
  return undefined;
}

/** The error for a prompt above {@linkcode MAX_PROMPT_LENGTH}. */
export function promptTooLongError(): CliError {
  return new CliError("Cannot send the prompt: it is longer than the 10 MiB Claude Code reads", {
    suggestion: "Put the material into a file and name that file in the prompt",
  });
}

const REPLACEMENT = "\uFFFD";

/**
 * The text of a prompt's bytes, such that encoding it gives the same bytes again: a byte order mark
 * stays. `source` names where the bytes came from, as in "stdin" or "notes.md".
 *
 * @throws {CliError} for a NUL byte and for bytes that are not UTF-8, with the offset of the first
 */
export function decodePrompt(bytes: Uint8Array, source: string): string {
  const invalid = firstInvalidByte(bytes);
  const nul = bytes.indexOf(0);
  if (nul !== -1 && (invalid === undefined || nul < invalid)) {
    throw new CliError(`Cannot send ${source}: it holds a NUL byte at byte offset ${nul}`, {
      suggestion: "Send text; for a binary file name it in the prompt instead",
    });
  }
  if (invalid !== undefined) {
    throw new CliError(`Cannot send ${source}: it is not UTF-8 from byte offset ${invalid} on`, {
      suggestion: "Convert it with iconv -t UTF-8, or name the file in the prompt instead",
    });
  }
  return decode(bytes);
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

/** Where the first sequence that is not UTF-8 begins, in bytes. */
function firstInvalidByte(bytes: Uint8Array): number | undefined {
  // Up to the first replacement character that the bytes themselves do not hold, text and bytes agree.
  const text = decode(bytes);
  const encoder = new TextEncoder();
  let offset = 0;
  let from = 0;
  for (;;) {
    const found = text.indexOf(REPLACEMENT, from);
    if (found === -1) return undefined;
    offset += encoder.encode(text.slice(from, found)).length;
    const genuine = bytes[offset] === 0xef && bytes[offset + 1] === 0xbf &&
      bytes[offset + 2] === 0xbd;
    if (!genuine) return offset;
    offset += 3;
    from = found + 1;
  }
}

/** One line of a list of prompts. */
interface ListLine {
  readonly prompt: string;
  /** Flags for this run alone, after those of the command line. */
  readonly args: readonly string[];
}

const LINE_EXAMPLE = 'Write "the prompt" or {"prompt": "the prompt", "args": ["--model", "haiku"]}';

/**
 * Parses a line of a list.
 *
 * @throws {CliError} when it is not JSON
 */
export function parseListLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw new CliError("Cannot read the line: it is not JSON", { suggestion: LINE_EXAMPLE, cause });
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
    throw new CliError("Cannot read the line: it has no prompt", { suggestion: LINE_EXAMPLE });
  }
  if (!Array.isArray(args) || !args.every((each) => typeof each === "string")) {
    throw new CliError('Cannot read the line: its "args" are not a list of strings', {
      suggestion: LINE_EXAMPLE,
    });
  }
  return { prompt, args };
}
