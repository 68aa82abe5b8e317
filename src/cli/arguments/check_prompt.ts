import { CliError } from "../../cli_error.ts";
import { nearestWord } from "./nearest_word.ts";
import type { MisplacedPrompt } from "./run_request.ts";

/**
 * The maximum length of a prompt that Claude Code 2.1.330 reads from stdin, in UTF-16 code units, in print mode and
 * interactively.
 */
export const MAX_PROMPT_LENGTH: number = 10 * 1024 * 1024;

/** The maximum size of a prompt in bytes. UTF-8 needs three bytes or less for each UTF-16 code unit. */
export const MAX_PROMPT_BYTES: number = 3 * MAX_PROMPT_LENGTH;

const GIVE_PROMPT =
  'Type claude-print "your prompt", or pipe the prompt in; claude-print -h has examples';

/**
 * The error for a command line without a prompt.
 *
 * @param misplaced a value of a flag that may have been meant as the prompt
 */
export function noPromptError(misplaced?: MisplacedPrompt): CliError {
  if (misplaced === undefined) return new CliError("No prompt given", { suggestion: GIVE_PROMPT });
  const text = JSON.stringify(firstCharacters(misplaced.text));
  return new CliError(`No prompt given: ${misplaced.flag} took ${text} too`, {
    suggestion: `If ${text} is the prompt, put it before the flag, or after "--"`,
  });
}

/** Returns the beginning of the first line. */
function firstCharacters(text: string): string {
  const [...characters] = text.split("\n", 1)[0] ?? "";
  return characters.length > 40 ? `${characters.slice(0, 39).join("")}…` : characters.join("");
}

/**
 * Returns the error for a prompt that the interactive Claude Code cannot accept; undefined for a valid one. Invalid are
 * blank prompts, NUL characters, halves of surrogate pairs, and more than {@linkcode MAX_PROMPT_LENGTH}.
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
 * Decodes a prompt. Encoding the text again gives the same bytes: a byte order mark is kept.
 *
 * @param source names the origin of the bytes in errors, such as "stdin" or "notes.md"
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

/** Returns the offset of the first byte sequence that is not UTF-8. */
function firstInvalidByte(bytes: Uint8Array): number | undefined {
  // Decoding puts U+FFFD for each invalid sequence; the input may contain a real U+FFFD as well.
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
  /** Flags for this run only, after those of the command line. */
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
 * Reads a line of a list: a prompt as a JSON string, or an object with a `prompt` and optional `args`. Other keys of
 * the object are ignored.
 *
 * @throws {CliError} for any other value
 */
export function readListInput(input: unknown): ListLine {
  if (typeof input === "string") return { prompt: input, args: [] };
  const { prompt, args = [] } = (input ?? {}) as { readonly prompt?: unknown; args?: unknown };
  if (typeof prompt !== "string") {
    const typo = Object.keys(input ?? {}).find((key) => nearestWord(key, ["prompt"]) !== undefined);
    throw typo === undefined || prompt !== undefined
      ? new CliError("Cannot read the line: it has no prompt", { suggestion: LINE_EXAMPLE })
      : new CliError(`Cannot read the line: unknown key "${typo}"`, {
        suggestion: 'Did you mean "prompt"?',
      });
  }
  if (!Array.isArray(args) || !args.every((each) => typeof each === "string")) {
    throw new CliError('Cannot read the line: its "args" are not a list of strings', {
      suggestion: LINE_EXAMPLE,
    });
  }
  return { prompt, args };
}
