/** The commands beside a run; each is one only as the very first argument. */
export const COMMAND_NAMES = [
  "doctor",
  "sweep",
  "shim",
  "cassette",
  "relay",
  "completion",
  "man",
] as const;

/** A command of the program's own. */
export type CommandName = (typeof COMMAND_NAMES)[number];

/** What a command takes: flags, and operands, the last of which may be left out. */
export interface CommandShape {
  /** What it does, in a few words that begin with a verb. */
  readonly summary: string;
  readonly flags: readonly CommandFlag[];
  /** The only words allowed as the first operand. */
  readonly first?: { readonly name: string; readonly choices: readonly string[] };
  /** The operand after it, and the first words that do without. */
  readonly second?: {
    readonly name: string;
    readonly placeholder: string;
    readonly optionalFor?: string;
  };
}

/** A flag of a command. */
export interface CommandFlag {
  readonly name: string;
  /** What stands for the value in the help text, such as `<path>`; empty for a switch. */
  readonly placeholder: string;
  readonly help: string;
}

function flag(spelling: string, help: string): CommandFlag {
  const [name = "", placeholder = ""] = spelling.split(" ");
  return { name, placeholder, help };
}

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
  shim: {
    summary: 'Send the "claude -p" of other programs through claude-print',
    flags: [],
    first: { name: "an action", choices: ["install", "remove", "status"] },
    second: { name: "a folder", placeholder: "folder", optionalFor: "status" },
  },
  cassette: {
    summary: "Replay, draw or look at what a run recorded with --record",
    flags: [flag("--json", "With info: one JSON object instead of lines")],
    first: { name: "an action", choices: ["replay", "svg", "info"] },
    second: { name: "the folder of a cassette", placeholder: "folder" },
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
      flag("--stats", "Print at the end what happened, as JSON"),
    ],
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
  const { flags, first, second } = COMMAND_SHAPES[command];
  const start = `claude-print ${command}${flags.length > 0 ? " [flags]" : ""}`;
  if (first === undefined) return [start];
  return first.choices.map((word) => {
    if (second === undefined) return `${start} ${word}`;
    const { placeholder, optionalFor } = second;
    return `${start} ${word} ${optionalFor === word ? `[${placeholder}]` : `<${placeholder}>`}`;
  });
}

/** Whether an argument, as the very first, names a command. */
export function isCommandName(argument: string | undefined): argument is CommandName {
  return COMMAND_NAMES.some((name) => name === argument);
}
