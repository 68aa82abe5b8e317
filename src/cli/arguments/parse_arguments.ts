import { type CommandName, isCommandName } from "./command_shapes.ts";
import { commandMeantBy, findLoneWord, isHelpCommand } from "./lone_word.ts";
import { nearestFlag } from "./nearest_word.ts";
import { COMMON_FLAGS, FLAGS } from "./flags.ts";
import { refusalError, usageError } from "./usage_errors.ts";
import type { ParsedArguments } from "./parsed_arguments.ts";
import { buildRequest } from "./build_request.ts";
import { tokenize, type Tokens } from "./tokenize.ts";
import { CliError, UnsupportedError } from "../../cli_error.ts";

const ALL_FLAGS = '"claude-print --help" lists all flags';

/**
 * Parses a command line (without the program's name) by the rules of `claude -p`, measured on Claude Code 2.1.330.
 *
 * - `--flag value` and `--flag=value` are the same. `-pc` is `-p -c`. `--` ends the flags.
 * - A required value may look like a flag, an optional one may not.
 * - A variadic flag takes every argument up to one that looks like a flag.
 * - The last use of a flag that counts once wins, and the first of several prompts.
 * - Help and version win over any mistake in the rest of the line.
 *
 * A word is a command of `claude-print` only if it is the first argument: `-p doctor` is a prompt.
 *
 * @param options.more flags that a line of a list adds, as if they were typed last
 * @param options.meaningless names of flags that the caller cannot honour, each with the reason
 * @param options.deliversFrames whether the caller gets all frames, whatever the format
 * @param options.isAttended whether a person types the command line and reads the output
 * @throws {CliError} for an unknown or a refused flag, and for a missing, wrong or contradictory value
 */
export async function parseArguments(
  argv: readonly string[],
  options: {
    readonly more?: readonly string[];
    readonly meaningless?: ReadonlyMap<string, string>;
    readonly deliversFrames?: boolean;
    readonly isAttended?: boolean;
  } = {},
): Promise<ParsedArguments> {
  const [first = "", ...rest] = argv;
  if (first === "help" ? isHelpCommand(rest, options) : isCommandName(first)) {
    const { parseCommand } = await import("./parse_command.ts");
    return parseCommand(first as CommandName, rest);
  }
  const tokens = addLineFlags(tokenize(argv), options.more);
  switch (tokens.information) {
    case "help":
      return { kind: "help" };
    case "short help":
      return { kind: "help", short: true };
    case "version":
    case "short version": {
      const claudeBinary = tokens.uses.findLast(({ flag }) => flag.name === "--claude-binary")
        ?.value;
      return {
        kind: "version",
        short: tokens.information === "short version",
        ...(claudeBinary === undefined ? {} : { claudeBinary }),
      };
    }
    case undefined:
      break;
  }
  for (const { flag: { name } } of tokens.uses) {
    const reason = options.meaningless?.get(name);
    if (reason !== undefined) throw refusalError(name, reason);
  }
  if (tokens.problem instanceof CliError) throw tokens.problem;
  if (tokens.problem !== undefined) throw unknownFlagError(tokens.problem.unknownFlag, first);
  const loneWord = findLoneWord(tokens, argv);
  const request = buildRequest(tokens, options);
  return { kind: "run", request: loneWord === undefined ? request : { ...request, loneWord } };
}

/** Flags that apply to a complete list and cannot differ from line to line. */
const LIST_FLAGS: readonly string[] = [
  "--jsonl",
  "--one-session",
  "--input-file",
  "--output-format",
];

/** Adds the flags of a line to those of its list, without `--jsonl`. */
function addLineFlags(list: Tokens, more: readonly string[] | undefined): Tokens {
  if (more === undefined) return list;
  const line = tokenize(more);
  const [operand] = line.operands;
  const wrong = line.uses.find(({ flag }) => LIST_FLAGS.includes(flag.name))?.flag.name ??
    (operand === undefined ? undefined : JSON.stringify(operand));
  const problem = wrong === undefined ? undefined : new CliError(
    `Cannot read the line: its "args" cannot take ${wrong}`,
    { suggestion: 'Give it flags of a run only; the prompt goes into "prompt"' },
  );
  const kept = list.uses.filter(({ flag }) => flag.name !== "--jsonl");
  return {
    uses: [...kept, ...line.uses],
    operands: list.operands,
    information: list.information ?? line.information,
    problem: list.problem ?? line.problem ?? problem,
  };
}

/** The error for an unknown flag. It suggests the command or the flag that the user probably means. */
function unknownFlagError(argument: string, first: string): CliError {
  const flag = argument.replace(/=.*$/s, "");
  if (/\s/.test(flag)) {
    return usageError(
      "a prompt that begins with a dash looks like a flag",
      'Put "--" before the prompt, after all flags',
    );
  }
  const names = FLAGS.filter((row) => !row.hidden || row.class !== "refused")
    .flatMap((row) => [row.name, ...row.aliases]);
  const command = commandMeantBy(first);
  const nearest = nearestFlag(flag, names, { byLetter: COMMON_FLAGS });
  return new UnsupportedError(`unknown flag ${flag}`, {
    suggestion: command !== undefined
      ? `Did you mean ${command}?`
      : nearest === undefined
      ? ALL_FLAGS
      : `Did you mean ${nearest}? ${ALL_FLAGS}`,
  });
}

const REPLACEMENT = "\uFFFD";

/**
 * Refuses arguments that are not UTF-8. Deno replaces each invalid byte by U+FFFD, so only the bytes of the command
 * line show whether the caller typed that character.
 *
 * @throws {CliError} for the first argument that is not UTF-8
 */
export async function refuseInvalidUtf8(argv: readonly string[]): Promise<void> {
  const typed = await argumentBytes();
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const encoder = new TextEncoder();
  for (const [index, argument] of argv.entries()) {
    if (!argument.includes(REPLACEMENT)) continue;
    const bytes = encoder.encode(argument);
    const changed = typed.find((each) =>
      decoder.decode(each) === argument &&
      (each.length !== bytes.length || each.some((byte, at) => byte !== bytes[at]))
    );
    if (changed === undefined) continue;
    throw usageError(
      `argument ${index + 1} is not UTF-8`,
      "Convert it with iconv -t UTF-8, or give a file a name that is UTF-8",
    );
  }
}

/** Returns the arguments of this process as bytes; none if `/proc` cannot be read. */
async function argumentBytes(): Promise<readonly Uint8Array[]> {
  const [{ LibcError }, { readProcStrings }] = await Promise.all([
    import("../../../ffi/errno.ts"),
    import("../../../ffi/processes/proc.ts"),
  ]);
  try {
    return readProcStrings("/proc/self/cmdline");
  } catch (error) {
    if (error instanceof LibcError) return [];
    throw error;
  }
}
