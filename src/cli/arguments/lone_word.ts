import { COMMAND_NAMES, COMMAND_SHAPES, isCommandName } from "./command_shapes.ts";
import { nearestWord } from "./nearest_word.ts";
import type { Tokens } from "./tokenize.ts";
import { CliError } from "../../cli_error.ts";

/**
 * A prompt of one word without `-p`, which may have been meant as a command or as the name of a file. `claude -p` sends it
 * to the model.
 */
export interface LoneWord {
  readonly text: string;
  /** The command line that may have been meant. */
  readonly command?: string;
}

/** Command lines for words that people try. */
const WISHES: Readonly<Record<string, string>> = {
  help: "claude-print --help",
  version: "claude-print --version",
  list: "claude-print ps",
  ls: "claude-print ps",
  start: "claude-print serve",
};

/**
 * The minimum length of a word and of a command's name that are compared, because shorter ones are close to many words.
 */
const SHORTEST = 4;

/** Returns the command line that a first argument probably means: a wish, an action, or a mistyped command. */
export function commandMeantBy(word: string): string | undefined {
  if (!/^[a-z][a-z-]*$/u.test(word)) return undefined;
  if (Object.hasOwn(WISHES, word)) return WISHES[word];
  const owners = COMMAND_NAMES.filter((name) => {
    const { action } = COMMAND_SHAPES[name];
    return action?.name === "an action" && action.choices.includes(word);
  });
  if (owners.length > 0) return owners.map((name) => `claude-print ${name} ${word}`).join(" or ");
  const names = COMMAND_NAMES.filter(({ length }) => Math.min(word.length, length) >= SHORTEST);
  const nearest = nearestWord(word, names);
  return nearest === undefined ? undefined : `claude-print ${nearest}`;
}

/**
 * Whether `help` is a command. Without a further argument, it is a command only for a person at a terminal, because
 * `claude -p help` sends it to the model.
 *
 * @param rest the arguments after it
 */
export function isHelpCommand(
  [next, ...more]: readonly string[],
  { isAttended = false }: { readonly isAttended?: boolean },
): boolean {
  if (next === undefined) return isAttended;
  return isCommandName(next) || (["-h", "--help"].includes(next) && more.length === 0);
}

/** Whether a person types the command line and reads what happens. */
export function isAttended(): boolean {
  return [Deno.stdin, Deno.stdout, Deno.stderr].every((stream) => stream.isTerminal());
}

/** Returns the command line that `help` and a mistyped command probably mean. */
function topicMeantBy(word: string, topic: string | undefined): string | undefined {
  const nearest = word === "help" && topic !== undefined
    ? nearestWord(topic, COMMAND_NAMES)
    : undefined;
  return nearest === undefined ? undefined : `claude-print help ${nearest}`;
}

/** Returns the prompt if it is one word and neither `-p` nor `--` says that it is a prompt. */
export function findLoneWord(
  { uses, operands: [word = "", ...others] }: Tokens,
  argv: readonly string[],
): LoneWord | undefined {
  const isPrompt = argv.includes("--") || uses.some(({ flag }) => flag.name === "--print");
  if (isPrompt || !/^\S+$/u.test(word)) return undefined;
  // Only the first argument can be a command.
  const command = word === argv[0]
    ? topicMeantBy(word, others[0]) ?? commandMeantBy(word)
    : undefined;
  if (command !== undefined) return { text: word, command };
  return others.length === 0 ? { text: word } : undefined;
}

/** The error for a lone word that probably means a command or a file; undefined if it can only be a prompt. */
export function loneWordError(
  { text, command }: LoneWord,
  { isFile }: { readonly isFile: (path: string) => boolean },
): CliError | undefined {
  if (command === undefined && !isFile(text)) return undefined;
  const instead = command ?? `claude-print --input-file ${text}`;
  const what = command === undefined ? "is the name of a file" : "looks like a command";
  return new CliError(`"${text}" ${what}`, {
    suggestion: `Did you mean ${instead}? To send the word to the model: claude-print -p ${text}`,
  });
}
