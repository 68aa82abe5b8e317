import { CliError } from "../../cli_error.ts";
import { escapeInvisible, invisibleCharacters } from "../../recording/redaction/visible_text.ts";

const encoder = new TextEncoder();

/**
 * Writes all of a text to stdout or stderr before it returns: to stdout as it is, to stderr, which a person reads, so
 * that no file name, error or screen in it can drive a terminal, or GitHub.
 *
 * @param options.commands whether it is told to GitHub, and no person
 * @returns whether anybody reads it: false once the other end of a pipe is closed
 * @throws {CliError} when the text cannot be written to stdout; a failing stderr leaves nowhere to say so
 */
export function print(
  stream: { writeSync(bytes: Uint8Array): number },
  text: string,
  { commands = false }: { readonly commands?: boolean } = {},
): boolean {
  const isTold = stream === Deno.stderr && !commands;
  let bytes = encoder.encode(isTold ? visible(text) : text);
  while (bytes.length > 0) {
    try {
      bytes = bytes.subarray(stream.writeSync(bytes));
    } catch (error) {
      if (error instanceof Deno.errors.BrokenPipe) return false;
      if (!(error instanceof Deno.errors.WouldBlock)) {
        if (stream === Deno.stderr) return false;
        throw unwritable(error);
      }
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
  return true;
}

/** Writes lines for a person to stdout. What is foreign in them drives no terminal by now, and GitHub takes none for a command. */
export function printLines(text: string): boolean {
  return print(Deno.stdout, isHeeded() ? unheeded(text) : text);
}

/** Why stdout could not be written to. */
export function unwritable(cause: unknown): CliError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new CliError(`Cannot write the output: ${why}`, {
    suggestion: "Send stdout to a file on a disk with room, or to a program that reads it",
    cause,
  });
}

/** Most characters of a line that are told: what says more says it to a machine. */
const LONGEST_LINE = 32 * 1024;

/**
 * A text in which nothing but line ends and tabs can move a cursor, colour, reorder or hide anything: what nobody sees
 * is named, as `<U+001B>`, and which GitHub does not take for a command. A line of any length is cut.
 */
export function visible(text: string): string {
  const seen = escapeInvisible(text.split("\n").map(cut).join("\n"), { keep: "\n\t" });
  return isHeeded() ? unheeded(seen) : seen;
}

function cut(line: string): string {
  const more = line.length - LONGEST_LINE;
  return more > 0 ? `${line.slice(0, LONGEST_LINE)}<${more} more characters>` : line;
}

/**
 * A value as JSON for machines that a person may look at: what nobody sees stands there as the escape that JSON has
 * for it, so nothing is lost.
 */
export function reportJson(value: unknown): string {
  return visibleJson(JSON.stringify(value));
}

/** JSON as `reportJson` gives it. */
export function visibleJson(json: string): string {
  return (isHeeded() ? json.replaceAll("##[", "\\u0023#[") : json).replace(
    invisibleCharacters(),
    (character) =>
      Array.from(
        { length: character.length },
        (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`,
      ).join(""),
  );
}

/** Whether GitHub Actions reads what this program prints, and does what lines of it say. */
function isHeeded(): boolean {
  return Deno.env.get("GITHUB_ACTIONS") === "true";
}

/**
 * A text of which GitHub Actions takes nothing for a command: `::` at the beginning of a line, behind blanks too, and of an
 * older kind `##[` anywhere.
 */
export function unheeded(text: string): string {
  return text.replaceAll(/^([^\S\n]*):(?=:)/gmu, "$1: ").replaceAll("##[", "# #[");
}

/** A number of things in words, such as `1 turn` and `2 turns`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
