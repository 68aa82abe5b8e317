import { CliError } from "../../cli_error.ts";
import { escapeInvisible, invisibleCharacters } from "../../recording/redaction/visible_text.ts";

/** Formats a number of things, such as `1 turn` and `2 turns`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

const encoder = new TextEncoder();

/**
 * Writes a complete text to stdout or stderr before it returns: to stdout unchanged; to stderr, which a person reads,
 * in a form that cannot control a terminal or GitHub Actions.
 *
 * @param options.commands whether the text consists of workflow commands for GitHub Actions
 * @returns false once the other end of a pipe is closed
 * @throws {CliError} when stdout cannot be written to; a failing stderr leaves no place to report it
 */
export function print(
  stream: { writeSync(bytes: Uint8Array): number },
  text: string,
  { commands = false }: { readonly commands?: boolean } = {},
): boolean {
  const isForPerson = stream === Deno.stderr && !commands;
  let bytes = encoder.encode(isForPerson ? makeVisible(text) : text);
  while (bytes.length > 0) {
    try {
      bytes = bytes.subarray(stream.writeSync(bytes));
    } catch (error) {
      if (error instanceof Deno.errors.BrokenPipe) return false;
      if (!(error instanceof Deno.errors.WouldBlock)) {
        if (stream === Deno.stderr) return false;
        throw outputError(error);
      }
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
  return true;
}

/**
 * Writes lines for a person to stdout, so that GitHub Actions does not execute them as commands. The caller has already
 * made foreign parts of the text visible.
 */
export function printLines(text: string): boolean {
  return print(Deno.stdout, runsInGitHubActions() ? escapeWorkflowCommands(text) : text);
}

/** The error for a stdout that cannot be written to. */
export function outputError(cause: unknown): CliError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new CliError(`Cannot write the output: ${why}`, {
    suggestion: "Send stdout to a file on a disk with room, or to a program that reads it",
    cause,
  });
}

/** The maximum number of shown characters of a line. */
const MAX_LINE_LENGTH = 32 * 1024;

/**
 * Makes a text safe to show. Every invisible character except line ends and tabs is named, as `<U+001B>`, so that none
 * can move the cursor, colour, reorder or hide text. GitHub Actions finds no command in it. Long lines are cut.
 */
export function makeVisible(text: string): string {
  const seen = escapeInvisible(text.split("\n").map(shortenLine).join("\n"), { keep: "\n\t" });
  return runsInGitHubActions() ? escapeWorkflowCommands(seen) : seen;
}

function shortenLine(line: string): string {
  const more = line.length - MAX_LINE_LENGTH;
  return more > 0 ? `${line.slice(0, MAX_LINE_LENGTH)}<${more} more characters>` : line;
}

/** Formats a value as JSON in which invisible characters are JSON escapes, so that nothing is lost. */
export function stringifyVisibly(value: unknown): string {
  return escapeJson(JSON.stringify(value));
}

/** Converts JSON to the form of `stringifyVisibly`. */
export function escapeJson(json: string): string {
  return (runsInGitHubActions() ? json.replaceAll("##[", "\\u0023#[") : json).replace(
    invisibleCharacters(),
    (character) =>
      Array.from(
        { length: character.length },
        (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`,
      ).join(""),
  );
}

/** GitHub Actions reads the output of its steps and executes commands in it. */
function runsInGitHubActions(): boolean {
  return Deno.env.get("GITHUB_ACTIONS") === "true";
}

/**
 * Changes a text so that GitHub Actions finds no command in it: `::` at the beginning of a line, also after blanks, and
 * the older `##[` at any position.
 */
export function escapeWorkflowCommands(text: string): string {
  return text.replaceAll(/^([^\S\n]*):(?=:)/gmu, "$1: ").replaceAll("##[", "# #[");
}
