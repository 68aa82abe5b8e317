import { READING } from "./tokenize.ts";
import { CliError } from "../../cli_error.ts";

/** The commands beside a run; each is one only as the very first argument. */
export const COMMAND_NAMES = [
  "doctor",
  "sweep",
  "learn",
  "shim",
  "cassette",
  "relay",
  "drift",
  "bisect",
  "serve",
  "ps",
  "attach",
  "logs",
  "completion",
  "man",
] as const;

/** A command of the program's own. */
export type CommandName = (typeof COMMAND_NAMES)[number];

/** What a command takes: flags, and operands. */
export interface CommandShape {
  /** What it does, in a few words that begin with a verb. */
  readonly summary: string;
  readonly flags: readonly CommandFlag[];
  /** The only words allowed as the first operand. */
  readonly first?: { readonly name: string; readonly choices: readonly string[] };
  /** The operands after each of those words, or of a command that has none, by "". */
  readonly operands?: Readonly<Record<string, Operands>>;
}

/** The operands behind a command or its first word. */
export interface Operands {
  /** What each is, as an error says it. */
  readonly name: string;
  readonly placeholder: string;
  readonly least: number;
  readonly most: number;
  /** What may follow "--", such as `flags of claude -p`; absent where nothing may. */
  readonly rest?: string;
}

/** A flag of a command. */
export interface CommandFlag {
  readonly name: string;
  /** What stands for the value in the help text, such as `<path>`; empty for a switch. */
  readonly placeholder: string;
  readonly help: string;
  /** The first words that it goes with; all, if absent. */
  readonly goesWith?: readonly string[];
}

function flag(spelling: string, help: string, goesWith?: readonly string[]): CommandFlag {
  const [name = "", placeholder = ""] = spelling.split(" ");
  return { name, placeholder, help, ...(goesWith === undefined ? {} : { goesWith }) };
}

const CONVERSATION: Operands = {
  name: "the id of a conversation",
  placeholder: "id",
  least: 1,
  most: 1,
};
const FOLDER: Operands = { name: "a folder", placeholder: "folder", least: 1, most: 1 };
const CASSETTE: Operands = { ...FOLDER, name: "the folder of a cassette" };

/** What plays a cassette as the program that it was recorded of. */
const AS_PROGRAM = ["program", "replay"];
const CASSETTES: Operands = {
  name: "a cassette, a tape or a folder of them",
  placeholder: "path",
  least: 1,
  most: 1000,
};

/** What each command takes. */
export const COMMAND_SHAPES: Readonly<Record<CommandName, CommandShape>> = {
  doctor: {
    summary: "Look for what could keep a run from working",
    flags: [
      flag("--offline", "Leave the API alone"),
      flag("--run", "Send one real prompt, and tell how long it took"),
      flag("--json", "One JSON object instead of lines"),
      flag("--claude-binary <path>", "The Claude Code to look at (default: on PATH)"),
    ],
  },
  sweep: {
    summary: "Bring home and remove what earlier runs have left",
    flags: [
      flag("--dry-run", "Only say what would be done"),
      flag("--json", "One JSON object instead of lines"),
    ],
  },
  learn: {
    summary: "Measure a Claude Code that is newer than this program",
    flags: [
      flag("--check", "Only say whether the version is known"),
      flag("--claude-binary <path>", "The Claude Code to measure (default: on PATH)"),
    ],
  },
  shim: {
    summary: 'Send the "claude -p" of other programs through claude-print',
    flags: [],
    first: { name: "an action", choices: ["install", "remove", "status"] },
    operands: { install: FOLDER, remove: FOLDER, status: { ...FOLDER, least: 0 } },
  },
  cassette: {
    summary: "Replay, draw, fork, compare, scrub or check what was recorded",
    flags: [
      flag("--json", "With info and diff: one JSON object", ["info", "diff"]),
      flag("--split <bytes>", "With replay: in pieces of so many bytes", ["replay"]),
      flag("--mode <how>", "As the program: verify (default), stub or inert", AS_PROGRAM),
      flag("--speed <factor>", "Times faster than recorded (default: at once)", AS_PROGRAM),
      flag("--patience <seconds>", "How long its caller may take (default 30)", AS_PROGRAM),
      flag("--report <file>", "Write there what its caller does otherwise", AS_PROGRAM),
      flag("--at <turn>", "With fork: the last turn that stays", ["fork"]),
      flag("--prompt <text>", "With fork: what is said then (repeatable)", ["fork"]),
      flag("--model <model>", "With fork: another model", ["fork"]),
      flag("--api-cassette <folder>", "With fork: who answers instead of the API", ["fork"]),
      flag("--record <folder>", "With fork: where the fork is recorded", ["fork"]),
      flag("--prompts", "With scrub: what the user wrote too", ["scrub"]),
      flag("--answers", "With scrub: what the model wrote too", ["scrub"]),
      flag("--out <folder>", "With scrub: into a new folder instead", ["scrub"]),
      flag("--name <words>", "With scrub: another name (repeatable)", ["scrub"]),
      flag("--input-name <file>", "The tape in each folder, as input.jsonl", ["scrub", "lint"]),
    ],
    first: {
      name: "an action",
      choices: ["replay", "program", "svg", "info", "diff", "fork", "scrub", "lint"],
    },
    operands: {
      replay: { ...CASSETTE, rest: "flags of claude" },
      program: CASSETTE,
      svg: CASSETTE,
      info: CASSETTE,
      diff: { ...FOLDER, name: "the folders of two cassettes", least: 2, most: 2 },
      fork: { ...CASSETTE, rest: "flags of claude -p" },
      scrub: CASSETTES,
      lint: CASSETTES,
    },
  },
  relay: {
    summary: "Answer requests to the Messages API from what was recorded",
    flags: [
      flag("--cache <folder>", "The cassette whose api/ is played"),
      flag("--on-miss <how>", "What is not recorded: fail (default) or record"),
      flag("--upstream <url>", "Who is asked then (default: Anthropic)"),
      flag("--offline", "Ask nobody, even with --on-miss record"),
      flag("--allow-upstream", "Let --on-miss record ask under CI=true too"),
      flag("--match <how>", "normalized (default), exact or sequence"),
      flag("--ignore <pointer>", "A place that does not count, as /metadata"),
      flag("--speed <factor>", "Times faster than it came (default: at once)"),
      flag("--inject <faults>", "Go wrong: 529@2,reset@3,stall=5s@4"),
      flag("--bind <address>", "Where to listen (default 127.0.0.1)"),
      flag("--port <number>", "The port to listen on (default: a free one)"),
      flag("--no-secret", "Leave the secret out of the base URL"),
      flag("--stats", "Print at the end what happened, as JSON"),
    ],
  },
  drift: {
    summary: "Look what recordings hold that is not as it is known",
    flags: [
      flag("--json", "One JSON object instead of a table"),
      flag("--allow-empty", "Succeed where there is nothing to check"),
      flag("--input-name <file>", "The tape in each folder, as input.jsonl"),
      flag("--against <claude>", "Run them again: a version, or an executable"),
      flag("--allowedTools <tools>", "What may run then (default: no tool)"),
      flag("--sdk <path>", "An Agent SDK: python3, venv, or package of npm"),
      flag("--no-sdk", "Ask no Agent SDK (default: those that are found)"),
    ],
    operands: { "": CASSETTES },
  },
  bisect: {
    summary: "Find the version of Claude Code that changed behaviour",
    flags: [
      flag("--good <version>", "A version that is as it should be (required)"),
      flag("--bad <version>", "A later one that is not (default: the newest)"),
      flag("--run <command>", "A command that tells them apart by its exit code"),
      flag("--allowedTools <tools>", "What cassettes may run (default: no tool)"),
      flag("--keep", "Keep downloaded versions in the cache"),
      flag("--json", "One JSON object instead of lines"),
    ],
    operands: { "": { ...CASSETTES, name: "a cassette or a folder of them", least: 0 } },
  },
  serve: {
    summary: "Hold conversations for other programs",
    flags: [
      flag("--warm <number>", "Children that wait, of each kind (default 1)"),
      flag("--max <number>", "Children that wait, in all (default 4)"),
      flag("--idle <seconds>", "How long for nobody (default 900)"),
      flag("--profiles <file>", "What some wait for in any case, a line each"),
      flag("--conversations <number>", "How many at once (default 64)"),
      flag("--port <number>", "HTTP on loopback too, with a token (0: any)"),
      flag("--bind <address>", "With --port: another address"),
      flag("--agentapi", "One conversation for clients of agentapi, too"),
      flag("--install", "Write systemd units that start it so"),
      flag("--uninstall", "Remove those units"),
    ],
    operands: {
      "": {
        name: "nothing",
        placeholder: "",
        least: 0,
        most: 0,
        rest: "flags of claude -p",
      },
    },
  },
  ps: {
    summary: "List the conversations that the server holds",
    flags: [flag("--json", "One JSON object instead of a table")],
  },
  attach: {
    summary: "Watch the screen of a conversation of the server's",
    flags: [flag("--take-over", "Type in it too, until Ctrl-] hands it back")],
    operands: { "": CONVERSATION },
  },
  logs: {
    summary: "Print the frames of a conversation of the server's",
    flags: [flag("--follow", "Go on until the conversation ends")],
    operands: { "": CONVERSATION },
  },
  completion: {
    summary: "Print the completions of the command line for a shell",
    flags: [],
    first: { name: "a shell", choices: ["bash", "zsh", "fish"] },
  },
  man: { summary: "Print the manual page", flags: [] },
};

/** The command lines of a command, such as `claude-print shim status [folder]`. */
export function commandUsage(command: CommandName): readonly string[] {
  const { flags, first, operands = {} } = COMMAND_SHAPES[command];
  return (first?.choices ?? [""]).map((word) =>
    [
      `claude-print ${command}`,
      ...(word === "" ? [] : [word]),
      ...(flags.some((one) => goesWith(one, word)) ? ["[flags]"] : []),
      ...usageOf(operands[word]),
    ].join(" ")
  );
}

/** Whether a flag goes with the first word. */
export function goesWith({ goesWith }: CommandFlag, word: string): boolean {
  return goesWith?.includes(word) ?? true;
}

function usageOf(operands: Operands | undefined): readonly string[] {
  if (operands === undefined) return [];
  const { placeholder, least, most, rest } = operands;
  const written = least === 0
    ? `[${placeholder}]`
    : Array(least).fill(`<${placeholder}>`).join(" ");
  return [
    ...(most === 0 ? [] : [most > Math.max(least, 1) ? `${written}...` : written]),
    ...(rest === undefined ? [] : [`[-- ${rest}]`]),
  ];
}

/** Whether an argument, as the very first, names a command. */
export function isCommandName(argument: string | undefined): argument is CommandName {
  return COMMAND_NAMES.some((name) => name === argument);
}

/** A command's arguments, told apart. */
export interface Given {
  readonly switches: ReadonlySet<string>;
  /** The values of each flag that has some, in their order. */
  readonly values: ReadonlyMap<string, readonly string[]>;
  readonly operands: readonly string[];
  /** What stands behind "--", if that stands there. */
  readonly rest: readonly string[] | undefined;
}

/** The value of a flag; that which was given last, if there are several. */
export type LastValue = (name: string) => string | undefined;

/**
 * Tells the arguments of a command apart, and checks them against its shape.
 *
 * @throws {CliError} for anything the command does not take, and for what it misses
 */
export function readGiven(command: CommandName, argv: readonly string[]): Given | "help" {
  const { flags, first, operands: shapes = {} } = COMMAND_SHAPES[command];
  const switches = new Set<string>();
  const values = new Map<string, string[]>();
  const operands: string[] = [];
  const args = [...argv];
  const wordOf = () => first === undefined ? "" : operands[0] ?? "";
  const mayTake = () => {
    if (first !== undefined && operands.length === 0) return true;
    const taken = operands.length - (first === undefined ? 0 : 1);
    return taken < (shapes[wordOf()]?.most ?? 0);
  };
  const given: CommandFlag[] = [];
  let rest: readonly string[] | undefined;
  for (let argument = args.shift(); argument !== undefined; argument = args.shift()) {
    if (argument === "--help" || argument === "-h") return "help";
    if (argument === "--" && shapes[wordOf()]?.rest !== undefined) {
      rest = args;
      break;
    }
    const name = argument.replace(/=.*$/su, "");
    const flag = flags.find((one) => one.name === name);
    if (flag !== undefined) given.push(flag);
    if (flag?.placeholder === "" && name === argument) {
      switches.add(argument);
    } else if (flag !== undefined && flag.placeholder !== "") {
      const value = argument.includes("=") ? argument.slice(name.length + 1) : args.shift();
      if (value === undefined) {
        throw new CliError(`${READING}: ${name} needs a value`, {
          suggestion: `Type ${name} ${flag.placeholder}`,
        });
      }
      values.set(name, [...values.get(name) ?? [], value]);
    } else if (!argument.startsWith("-") && mayTake()) {
      operands.push(argument);
    } else {
      throw new CliError(`${READING}: ${command} does not take "${argument}"`, {
        suggestion:
          `"claude-print ${command} --help" lists what it takes; a prompt goes after "--"`,
      });
    }
  }
  const suggestion = `"claude-print ${command} --help" says how`;
  const [word] = operands;
  if (first !== undefined && (word === undefined || !first.choices.includes(word))) {
    throw new CliError(
      `${READING}: ${command} ${
        word === undefined ? `needs ${first.name}` : `does not take "${word}"`
      }`,
      { suggestion: `Use one of ${first.choices.join(", ")}; ${suggestion}` },
    );
  }
  const alien = given.find((flag) => !goesWith(flag, wordOf()));
  if (alien !== undefined) {
    throw new CliError(`${READING}: ${command} ${wordOf()} does not take "${alien.name}"`, {
      suggestion: `Leave it out: only ${command} ${alien.goesWith?.join(", ")} has it`,
    });
  }
  const shape = shapes[wordOf()];
  if (shape !== undefined && operands.length - (first === undefined ? 0 : 1) < shape.least) {
    throw new CliError(
      `${READING}: ${[command, ...operands.slice(0, 1)].join(" ")} needs ${shape.name}`,
      { suggestion },
    );
  }
  return { switches, values, operands, rest };
}

/** The value of a flag that is one of some words. */
export function oneOf<Word extends string>(
  name: string,
  value: string,
  words: readonly Word[],
): Word {
  const word = words.find((each) => each === value);
  if (word !== undefined) return word;
  throw new CliError(`${READING}: ${name} does not take "${value}"`, {
    suggestion: `Use one of ${words.join(", ")}`,
  });
}

/** The value of a flag that is a number from 0 on. */
export function numberIn(name: string, value: string, { most }: { readonly most: number }): number {
  const number = /^\d+(?:\.\d+)?$/u.test(value) ? Number(value) : NaN;
  if (number <= most) return number;
  throw new CliError(`${READING}: ${name} "${value}" is no number from 0 to ${most}`, {
    suggestion: `Write it as ${name} 1, or leave it out`,
  });
}
