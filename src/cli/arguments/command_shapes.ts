/** The names of all commands. A word is a command only if it is the first argument. */
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
  "new",
  "send",
  "answer",
  "interrupt",
  "attach",
  "logs",
  "completion",
  "man",
  "help",
] as const;

export type CommandName = (typeof COMMAND_NAMES)[number];

/** The flags and operands of a command. */
export interface CommandShape {
  /** A few words that begin with a verb. */
  readonly summary: string;
  readonly flags: readonly CommandFlag[];
  /** The allowed words for the first operand, such as `install`. */
  readonly action?: {
    readonly name: string;
    readonly choices: readonly string[];
    /** Whether the command also works without such a word. */
    readonly isOptional?: true;
  };
  /** The operands after each of these words; the key "" is for a command without a word. */
  readonly operands?: Readonly<Record<string, Operands>>;
}

/** The operands after a command or its first word. */
export interface Operands {
  /** The name of each operand, for errors. */
  readonly name: string;
  readonly placeholder: string;
  /** The operands in the usage, if the placeholder does not show them. */
  readonly usage?: string;
  readonly min: number;
  readonly max: number;
  /** The arguments allowed after "--", such as `flags of claude -p`; absent for none. */
  readonly rest?: string;
}

export interface CommandFlag {
  readonly name: string;
  /** The placeholder of the value in the help text, such as `<path>`; empty for a switch. */
  readonly placeholder: string;
  readonly help: string;
  /** The first words that accept the flag; "" means no word. Absent for all. */
  readonly actions?: readonly string[];
}

function flag(spelling: string, help: string, goesWith?: readonly string[]): CommandFlag {
  const [name = "", placeholder = ""] = spelling.split(" ");
  return { name, placeholder, help, ...(goesWith === undefined ? {} : { actions: goesWith }) };
}

const CONVERSATION: Operands = {
  name: "the id of a conversation",
  placeholder: "id",
  min: 1,
  max: 1,
};
const NO_WAIT: CommandFlag = flag("--no-wait", "Do not wait for the model's answer");
const NOTHING: Operands = { name: "nothing", placeholder: "", min: 0, max: 0 };
const FOLDER: Operands = { name: "a folder", placeholder: "folder", min: 1, max: 1 };
const CASSETTE: Operands = { ...FOLDER, name: "the folder of a cassette" };

/** The actions of `cassette` that behave as the recorded program. */
const AS_PROGRAM = ["program", "replay"];
/** The words of `serve` that start a server or its units: none. */
const STARTING = [""];
const CASSETTES: Operands = {
  name: "a cassette, a tape or a folder of them",
  placeholder: "path",
  min: 1,
  max: 1000,
};

export const COMMAND_SHAPES: Readonly<Record<CommandName, CommandShape>> = {
  doctor: {
    summary: "Check that runs will work on this machine",
    flags: [
      flag("--offline", "Do not contact the API"),
      flag("--run", "Send one real prompt, and time it"),
      flag("--json", "One JSON object instead of lines"),
      flag("--claude-binary <path>", "The Claude Code to check (default: on PATH)"),
    ],
  },
  sweep: {
    summary: "Recover transcripts and clean up after crashed runs",
    flags: [
      flag("--dry-run", "Only report, remove nothing"),
      flag("--json", "One JSON object instead of lines"),
    ],
  },
  learn: {
    summary: "Measure a Claude Code that is newer than this program",
    flags: [
      flag("--check", "Only report whether the version is known"),
      flag("--claude-binary <path>", "The Claude Code to measure (default: on PATH)"),
    ],
  },
  shim: {
    summary: 'Send the "claude -p" of other programs through claude-print',
    flags: [],
    action: { name: "an action", choices: ["install", "remove", "status"] },
    operands: { install: FOLDER, remove: FOLDER, status: { ...FOLDER, min: 0 } },
  },
  cassette: {
    summary: "Replay, inspect, compare, fork, scrub and check recordings",
    flags: [
      flag("--json", "One JSON object instead of lines", ["info", "diff"]),
      flag("--split <bytes>", "Give the output in pieces of so many bytes", ["replay"]),
      flag("--mode <how>", "As the program: verify (default), stub or inert", AS_PROGRAM),
      flag("--speed <factor>", "As the program: times faster (default: no pauses)", AS_PROGRAM),
      flag("--patience <time>", "As the program: wait for the caller (default 30s)", AS_PROGRAM),
      flag("--report <file>", "As the program: report the caller's differences", AS_PROGRAM),
      flag("--at <turn>", "The last turn to keep; 0 keeps none (required)", ["fork"]),
      flag("--prompt <text>", "The next prompt (repeatable)", ["fork"]),
      flag("--model <model>", "Another model", ["fork"]),
      flag("--api-cassette <folder>", "A cassette that answers instead of the API", ["fork"]),
      flag("--record <folder>", "Record the fork into a new folder", ["fork"]),
      flag("--prompts", "Blank the user's texts too", ["scrub"]),
      flag("--answers", "Blank the model's texts too", ["scrub"]),
      flag("--out <folder>", "Write into a new folder instead of in place", ["scrub"]),
      flag("--name <words>", "Remove this name too (repeatable)", ["scrub"]),
      flag("--input-name <file>", "The name of the tape in each folder", ["scrub", "lint"]),
    ],
    action: {
      name: "an action",
      choices: ["replay", "program", "svg", "info", "diff", "fork", "scrub", "lint"],
    },
    operands: {
      replay: { ...CASSETTE, rest: "flags of claude" },
      program: CASSETTE,
      svg: CASSETTE,
      info: CASSETTE,
      diff: { ...FOLDER, name: "the folders of two cassettes", min: 2, max: 2 },
      fork: { ...CASSETTE, rest: "flags of claude -p" },
      scrub: CASSETTES,
      lint: CASSETTES,
    },
  },
  relay: {
    summary: "Record and replay the Messages API of any program",
    flags: [
      flag("--cache <folder>", "The cassette, or a new folder (required)"),
      flag("--on-miss <how>", "Requests not recorded: fail (default) or record"),
      flag("--upstream <url>", "The API to record (default: Anthropic)"),
      flag("--offline", "Never ask the API, even with --on-miss record"),
      flag("--allow-upstream", "Let --on-miss record ask the API under CI=true"),
      flag("--match <how>", "normalized (default), exact or sequence"),
      flag("--ignore <pointer>", "A part of bodies to ignore, such as /metadata"),
      flag("--speed <factor>", "Times faster than recorded (default: no pauses)"),
      flag("--inject <faults>", "Simulate faults: 529@2,reset@3,stall=5s@4"),
      flag("--bind <address>", "The address to listen on (default 127.0.0.1)"),
      flag("--port <number>", "The port to listen on (default: a free one)"),
      flag("--no-secret", "Leave the secret out of the base URL"),
      flag("--stats", "Print statistics as JSON at the end"),
    ],
  },
  drift: {
    summary: "Report what this version does not recognise in recordings",
    flags: [
      flag("--json", "One JSON object instead of a table"),
      flag("--allow-empty", "Succeed if there is nothing to check"),
      flag("--input-name <file>", "The name of the tape in each folder"),
      flag("--against <claude>", "Repeat them with a version or an executable"),
      flag("--allowedTools <tools>", "Tools that may run then (default: none)"),
      flag("--sdk <path>", "An Agent SDK: python3, a venv, or an npm package"),
      flag("--no-sdk", "Use no Agent SDK (default: all that are found)"),
    ],
    operands: { "": CASSETTES },
  },
  bisect: {
    summary: "Find the version of Claude Code that changed behaviour",
    flags: [
      flag("--good <version>", "A version with the right behaviour (required)"),
      flag("--bad <version>", "A later one with the wrong one (default: newest)"),
      flag("--run <command>", "A command whose exit code judges a version"),
      flag("--allowedTools <tools>", "Tools that may run (default: none)"),
      flag("--keep", "Keep downloaded versions in the cache"),
      flag("--json", "One JSON object instead of lines"),
    ],
    operands: { "": { ...CASSETTES, name: "a cassette or a folder of them", min: 0 } },
  },
  serve: {
    summary: "Run a background server: warm starts, HTTP API",
    flags: [
      flag("--warm <number>", "Warm children for each profile (default 1)", STARTING),
      flag("--max <number>", "Warm children in all (default 4)", STARTING),
      flag("--idle <time>", "Stop unused warm children after this (default 15m)", STARTING),
      flag("--profiles <file>", "Profiles to keep warm, one JSON object a line", STARTING),
      flag("--conversations <number>", "Most conversations at once (default 64)", STARTING),
      flag("--port <number>", "Serve HTTP on loopback too; 0 picks a free port", STARTING),
      flag("--bind <address>", "With --port: listen on another address", STARTING),
      flag("--background <time>", "End after this long unused, as --warm starts it", STARTING),
      flag("--agentapi", "Serve clients of agentapi too", STARTING),
      flag("--install", "Write systemd units that start it with these flags", STARTING),
      flag("--uninstall", "Remove those units", STARTING),
      flag("--json", "One JSON object instead of lines", ["status"]),
      flag("--now", "Stop running turns too", ["stop"]),
    ],
    action: { name: "an action", choices: ["status", "stop"], isOptional: true },
    operands: { "": { ...NOTHING, rest: "flags of claude -p" } },
  },
  ps: {
    summary: "List conversations and warm children of the server",
    flags: [flag("--json", "One JSON object instead of a table")],
  },
  new: {
    summary: "Begin a conversation on the server, and print its id",
    flags: [],
    operands: { "": { ...NOTHING, rest: "flags of claude -p" } },
  },
  send: {
    summary: "Send a message to a conversation, and print the answer",
    flags: [flag("--interrupt", "Stop the running turn first"), NO_WAIT],
    operands: { "": { ...CONVERSATION, usage: "<id> [text]", max: 2 } },
  },
  answer: {
    summary: "Answer a permission, a question or a plan",
    flags: [NO_WAIT],
    operands: { "": { ...CONVERSATION, usage: "<id> [answer]...", max: 100 } },
  },
  interrupt: {
    summary: "Stop the turn of a conversation",
    flags: [flag("--end", "End the conversation, too")],
    operands: { "": CONVERSATION },
  },
  attach: {
    summary: "Show the live screen of a conversation",
    flags: [flag("--take-over", "Type in it too, until Ctrl-] gives it back")],
    operands: { "": CONVERSATION },
  },
  logs: {
    summary: "Print the frames of a conversation",
    flags: [flag("--follow", "Follow the conversation until it ends")],
    operands: { "": CONVERSATION },
  },
  completion: {
    summary: "Print completions for bash, zsh or fish",
    flags: [],
    action: { name: "a shell", choices: ["bash", "zsh", "fish"] },
  },
  man: { summary: "Print the manual page", flags: [] },
  help: {
    summary: "Print the help of a command, or of one of its actions",
    flags: [],
    operands: {
      "": {
        name: "a command",
        placeholder: "command",
        usage: "[command [action]]",
        min: 0,
        max: 2,
      },
    },
  },
};

/**
 * Returns the command lines of a command, or of one of its actions, such as `claude-print shim status [folder]`.
 */
export function commandUsage(command: CommandName, action?: string): readonly string[] {
  const { flags, action: first, operands = {} } = COMMAND_SHAPES[command];
  const all = [...(first?.isOptional ?? !first ? [""] : []), ...first?.choices ?? []];
  const words = action === undefined ? all : [action];
  return words.map((word) =>
    [
      `claude-print ${command}`,
      ...(word === "" ? [] : [word]),
      ...(flags.some((one) => flagFits(one, word)) ? ["[flags]"] : []),
      ...operandUsage(operands[word]),
    ].join(" ")
  );
}

export function flagFits({ actions }: CommandFlag, word: string): boolean {
  return actions?.includes(word) ?? true;
}

function operandUsage(operands: Operands | undefined): readonly string[] {
  if (operands === undefined) return [];
  const { placeholder, usage, min, max, rest } = operands;
  if (usage !== undefined) return [usage];
  const written = min === 0 ? `[${placeholder}]` : Array(min).fill(`<${placeholder}>`).join(" ");
  return [
    ...(max === 0 ? [] : [max > Math.max(min, 1) ? `${written}...` : written]),
    ...(rest === undefined ? [] : [`[-- ${rest}]`]),
  ];
}

export function isCommandName(argument: string | undefined): argument is CommandName {
  return COMMAND_NAMES.some((name) => name === argument);
}
