import { CliError, UnsupportedError } from "../../cli_error.ts";

/**
 * Whether a flag takes a value, as in Claude Code's own parser (Commander).
 *
 * - `none`: a switch.
 * - `required`: the next argument, whatever it looks like.
 * - `optional`: the next argument unless it looks like a flag.
 * - `attached`: the text after a `=`, if there is one.
 * - `variadic`: the next argument, and all that follow it up to one that looks like a flag.
 */
export type FlagValue = "none" | "required" | "optional" | "attached" | "variadic";

/**
 * How a flag is honoured.
 *
 * - `own`: a flag of `claude-print` that `claude -p` does not have.
 * - `output`: done by `claude-print` itself; Claude Code never sees it.
 * - `forwarded`: given to Claude Code as typed.
 * - `merged`: combined with what `claude-print` itself gives Claude Code.
 * - `ineffective`: a warning that names the flag; the run goes on without it.
 * - `refused`: an error that names the flag.
 */
export type FlagClass = "own" | "output" | "forwarded" | "merged" | "ineffective" | "refused";

/** One row of the table of flags. */
export type Flag =
  & {
    /** The spelling used in messages and on Claude Code's command line. */
    readonly name: string;
    /** The other spellings, short ones included. */
    readonly aliases: readonly string[];
    readonly value: FlagValue;
    /** What stands for the value in the help text; empty for a switch. */
    readonly placeholder: string;
    /** The only values allowed, where they are fixed. */
    readonly choices?: readonly string[];
    /** Whether a second use adds to the first instead of replacing it. */
    readonly repeatable: boolean;
    /** One line for the help text. */
    readonly help: string;
    /** Left out of the help text, as in `claude --help`. */
    readonly hidden: boolean;
  }
  & (
    | { readonly class: Exclude<FlagClass, "ineffective" | "refused"> }
    | {
      readonly class: "ineffective" | "refused";
      /** Why, as a clause that finishes "Cannot honour --flag: " or "--flag has no effect: ". */
      readonly reason: string;
    }
  );

type RowOptions = {
  readonly choices?: readonly string[];
  readonly repeatable?: boolean;
  readonly hidden?: boolean;
};

/**
 * Reads a spelling such as `-r, --resume [value]`: the first long form is the name, `<x>` a
 * required, `[x]` an optional, `[=x]` an attached and `<x...>` a variadic value.
 */
function shape(spelling: string, options: RowOptions) {
  const placeholder = /[<[].*$/.exec(spelling)?.[0] ?? "";
  const spellings = spelling.slice(0, spelling.length - placeholder.length).trim().split(", ");
  const name = spellings.find((one) => one.startsWith("--")) ?? spelling;
  const value: FlagValue = placeholder === ""
    ? "none"
    : placeholder.startsWith("[=")
    ? "attached"
    : placeholder.startsWith("[")
    ? "optional"
    : placeholder.endsWith("...>")
    ? "variadic"
    : "required";
  return {
    name,
    aliases: spellings.filter((one) => one !== name),
    value,
    placeholder,
    repeatable: options.repeatable ?? value === "variadic",
    hidden: options.hidden ?? false,
    ...(options.choices === undefined ? {} : { choices: options.choices }),
  };
}

function own(spelling: string, help: string, options: RowOptions = {}): Flag {
  return { ...shape(spelling, options), class: "own", help };
}

function output(spelling: string, help: string, options: RowOptions = {}): Flag {
  return { ...shape(spelling, options), class: "output", help };
}

function forwarded(spelling: string, help: string, options: RowOptions = {}): Flag {
  return { ...shape(spelling, options), class: "forwarded", help };
}

function merged(spelling: string, help: string, options: RowOptions = {}): Flag {
  return { ...shape(spelling, options), class: "merged", help };
}

function cannot(spelling: string, reason: string, options: RowOptions = {}): Flag {
  return { ...shape(spelling, options), class: "refused", reason, help: reason };
}

function ineffective(spelling: string, reason: string): Flag {
  const help = "Accepted with a warning, without effect";
  return { ...shape(spelling, {}), class: "ineffective", reason, help };
}

const HIDDEN: RowOptions = { hidden: true };
const NO_SETUP = "the interactive Claude Code runs no Setup hooks with a prompt";
const OTHER_HOST = "it is for a program that hosts Claude Code over the control protocol";
const CLOUD = "it concerns a session that runs elsewhere, and there is nothing to print here";
const TEAMMATE = "it describes a teammate that another session starts";
const SCREEN = "it changes only what the screen shows";
const DEEP_LINK = "it is set by the handler of links that open Claude Code";

/**
 * Every flag of `claude -p` up to Claude Code 2.1.330, hidden ones included, and those of
 * `claude-print`, in the order of the help text.
 */
export const FLAGS: readonly Flag[] = [
  own("--input-file <file>", "Read the prompt from a file; - waits for all of stdin"),
  own("--jsonl", "Each line of stdin (or of the file) is a run: a prompt in, a result out"),
  own("--one-session", "With --jsonl: each line is the next turn of one conversation"),
  own("--shell-output[=split]", "With stream-json or --progress: what commands write, live", {
    choices: ["split"],
  }),
  own("--record <folder>", "Record the run as a cassette in a new folder"),
  own("--timeout <seconds>", "Give up so long after the start (default 3600; decimals allowed)"),
  own("--start-timeout <seconds>", "Give up when no turn can begin by then (default 120)"),
  own("--delivery-timeout <seconds>", "Give up when the prompt is not taken by then (default 300)"),
  own("--idle-timeout <seconds>", "Give up after so long without any sign of life (default off)"),
  own("--drain-timeout <seconds>", "Longest wait for the transcript of an answer (default 10)"),
  own("--exit-timeout <seconds>", "Longest wait for Claude Code to end (default 6)"),
  own("--wait-for-limit[=seconds]", "Wait for a limit to be reset, at most so long, and go on"),
  own("--inherit-hooks", "Run the hooks of your own settings too, as claude -p does"),
  own("--claude-binary <path>", "The Claude Code to run (default: claude on PATH)"),
  own("--cold", "Start Claude Code anew, even where claude-print serve has one that waits"),
  own("--warm", "Start a server in the background, with which later runs start sooner"),
  own("--trace", "Say on stderr what the run does and how long each step takes"),
  own("--progress", "In text format: print a line on stderr for each tool call"),
  own("--quiet", "On stderr no live line, warnings or closing line, only failures"),
  own("--show", "Mirror Claude Code's screen to the terminal; it takes no keys"),
  own("--stream-text", "In text format: the answer appears as it is written"),
  own("--exact-stream", "With either of them: every token, from a relay in front of the API"),
  own("--api-cassette <folder>", "Answer Claude Code's requests from the api/ of a cassette"),
  own("--on-miss <how>", "With it, what is not recorded: fail (default) or record", {
    choices: ["fail", "record"],
  }),
  own("--allow-upstream", "With it, let --on-miss record ask the API under CI=true too"),
  own("--deterministic", "Let Claude Code send the same requests in each run, byte for byte"),
  own("--inject <how>", "How the prompt enters Claude Code: stdin (default) or paste", {
    choices: ["stdin", "paste"],
  }),
  own(
    "--shim-for <path>",
    "Set by the shim: the real claude, which takes over what is refused",
    HIDDEN,
  ),
  own("-v, --version", "Print Claude Code's version and this one's; -v prints the first alone"),
  own("-h, --help", "Print this text and exit"),

  output("-p, --print", "Accepted, without effect: claude-print always prints"),
  output("--output-format <format>", "text (default), json, or stream-json", {
    choices: ["text", "json", "stream-json"],
  }),
  output("--input-format <format>", "text (default), or stream-json: a message a line", {
    choices: ["text", "stream-json"],
  }),
  output(
    "--permission-prompt-tool <tool>",
    "Who decides on permissions: stdio, as the Agent SDKs do, or mcp__SERVER__TOOL",
    { hidden: true },
  ),
  output("--await-initialize", "Accepted: an initialize that comes first is waited for", HIDDEN),
  output("--replay-user-messages", "Print each message again once Claude has taken it"),
  output("--include-partial-messages", "Print answers as they are written; needs stream-json"),
  output("--verbose", "Needed by stream-json; with json prints every event"),
  output("--max-turns <turns>", "Stop after so many requests to the model; 0 is no limit"),
  output("--max-budget-usd <amount>", "Stop once the run has cost so many US dollars"),
  output("--json-schema <schema>", "Structured answers that fit this JSON Schema"),
  output("--forward-subagent-text", "Print what subagents say and think; needs stream-json"),
  output("--include-hook-events", "Print what hooks have said and done, as far as it is known"),
  output("--permission-prompts <target>", "host (default), or none: nobody is asked", {
    choices: ["host", "none"],
  }),
  output("--no-session-persistence", "Keep no transcript of this run"),
  output("--session-mirror", "With stream-json: print new lines of transcripts too", HIDDEN),
  output("-d2e, --debug-to-stderr", "Copy the debug log to stderr", HIDDEN),
  output("--enable-auth-status", "Accepted where no settings renew a login", HIDDEN),
  output("--ax-screen-reader", "Accepted, without effect when printing"),
  output("--remote-control [name]", "Accepted, without effect when printing"),
  output("--rc [name]", "Accepted, without effect when printing", HIDDEN),
  output(
    "--remote-control-session-name-prefix <prefix>",
    "Accepted, without effect when printing",
  ),
  output("--resume-session-at <message>", "Resume up to the message with this uuid", HIDDEN),
  output("--resume-drops-turn <message>", "The only turn which that may leave out", HIDDEN),
  output("--rewind-files <message>", "Restore files as before this prompt, and end", HIDDEN),
  output("--reply-on-resume", "Accepted, without effect when printing", HIDDEN),

  forwarded("--model <model>", "Model: an alias or a full name"),
  forwarded("--fallback-model <model>", "Models to fall back to, separated by commas"),
  merged("--betas <betas...>", "Beta headers for requests to the API; with an API key only"),
  merged("--task-budget <tokens>", "Tokens that the model is told it has for its task", HIDDEN),
  forwarded("--effort <level>", "Effort: low, medium, high, xhigh or max"),
  forwarded("--system-prompt <prompt>", "Replace the system prompt"),
  forwarded("--system-prompt-file <file>", "Replace the system prompt by a file's text"),
  forwarded("--append-system-prompt <prompt>", "Add to the end of the system prompt"),
  forwarded("--append-system-prompt-file <file>", "Add a file's text to the system prompt"),
  forwarded("--system-prompt-snapshot <on|off>", "Reuse the first system prompt on resume", {
    choices: ["on", "off"],
  }),
  merged(
    "--permission-mode <mode>",
    "default (without this flag), acceptEdits, plan, dontAsk, auto or bypassPermissions",
    {
      choices: [
        "acceptEdits",
        "auto",
        "bypassPermissions",
        "default",
        "dontAsk",
        "manual",
        "plan",
      ],
    },
  ),
  forwarded("--dangerously-skip-permissions", "Run every tool without asking"),
  forwarded("--allow-dangerously-skip-permissions", "Allow, but do not start in, that mode"),
  forwarded("--allowedTools, --allowed-tools <tools...>", "Tools that run without asking"),
  merged("--disallowedTools, --disallowed-tools <tools...>", "Tools that never run"),
  forwarded("--tools <tools...>", 'Built-in tools on offer; "" is none, "default" is all'),
  forwarded("--add-dir <directories...>", "More directories Claude may work in"),
  forwarded("--mcp-config <configs...>", "MCP servers, from JSON files or JSON text"),
  forwarded("--strict-mcp-config", "Only the MCP servers of --mcp-config"),
  merged("--settings <file-or-json>", "More settings, from a file or JSON text"),
  forwarded("--managed-settings <json>", "What settings may not allow, as JSON text", HIDDEN),
  forwarded("--setting-sources <sources>", "Settings to load: user, project, local"),
  forwarded("--project-config-root <dir>", "Where the project's settings and skills are", HIDDEN),
  forwarded("--restricted", "No tools that run code, and no settings of user or project"),
  forwarded("--bare", "Minimal: none of the customizations, and an API key alone"),
  forwarded("--safe-mode", "None of the customizations, such as CLAUDE.md, skills and hooks"),
  forwarded("--agent <agent>", "Agent for the session"),
  forwarded("--agents <file-or-json>", "Custom agents, as a JSON object or a file that holds one"),
  forwarded("--plugin-dir <path>", "Load a plugin from a directory or .zip", { repeatable: true }),
  forwarded("--plugin-dir-no-mcp <path>", "The same without the plugin's MCP servers", {
    repeatable: true,
    hidden: true,
  }),
  forwarded("--plugin-url <url>", "Load a plugin from a URL", { repeatable: true }),
  forwarded("--disable-slash-commands", "Turn off skills and slash commands"),
  forwarded("--session-id <uuid>", "Use this id for a new session"),
  merged("-c, --continue", "Go on with the latest session of this folder"),
  merged("-r, --resume [session]", "Resume the session with this id or title"),
  forwarded("--fork-session", "Give the resumed session a new id"),
  forwarded("-n, --name <name>", "Name the session"),
  forwarded("-w, --worktree [name]", "Work in a new git worktree"),
  forwarded("--brief", "Turn on the SendUserMessage tool"),
  forwarded("--autocompact <auto|tokens>", "Size at which the conversation is compacted"),
  forwarded("--ide", "Connect to the IDE"),
  forwarded("--no-chrome", "Turn off Claude in Chrome"),
  forwarded("-d, --debug [filter]", "Debug mode, with an optional filter of categories"),
  forwarded("--debug-file <path>", "Write the debug log to this file"),
  ineffective(
    "--exclude-dynamic-system-prompt-sections",
    "the interactive Claude Code always puts these sections into its system prompt",
  ),
  forwarded("--thinking <mode>", "Thinking: enabled, adaptive or disabled", {
    choices: ["enabled", "adaptive", "disabled"],
    hidden: true,
  }),
  forwarded("--thinking-display <display>", "How thinking appears in the response", HIDDEN),
  forwarded("--max-thinking-tokens <tokens>", "Most tokens to think with", HIDDEN),
  forwarded("--advisor <model>", "Turn on the advisor tool with this model", HIDDEN),
  forwarded("--fast-mode <on|off>", "Turn fast mode on or off", HIDDEN),
  forwarded("--include-unsupported-models", "Offer models this version does not know", HIDDEN),

  cannot("--init", NO_SETUP, HIDDEN),
  cannot("--init-only", NO_SETUP, HIDDEN),
  cannot("--maintenance", NO_SETUP, HIDDEN),

  cannot(
    "--prompt-suggestions [value]",
    "the interactive Claude Code draws suggestions into its input box, and tells nobody else",
  ),
  cannot(
    "--plan-mode-instructions <instructions>",
    "the interactive Claude Code takes none: it ends where they are given",
    HIDDEN,
  ),
  cannot(
    "--append-subagent-system-prompt <prompt>",
    "the interactive Claude Code does not pass it to subagents",
    HIDDEN,
  ),
  cannot(
    "--append-subagent-system-prompt-file <file>",
    "the interactive Claude Code does not pass it to subagents",
    HIDDEN,
  ),
  cannot("--bg, --background", "it leaves no answer to print: it returns before the turn ends"),
  cannot("--chrome", "it would leave your browsers the path of a program that goes with the run"),
  cannot("--tmux", "it moves the session into a tmux window of its own"),
  cannot("--desktop", "it moves the session into another program"),
  cannot("--cloud [session]", CLOUD),
  cannot("--teleport [session]", CLOUD),
  cannot("--environment <id>", CLOUD),
  cannot("--remote [session]", CLOUD, HIDDEN),
  cannot("--pool <id>", CLOUD, HIDDEN),
  cannot("--attach-serve <session>", CLOUD, HIDDEN),
  cannot("--correlation-id <id>", CLOUD, HIDDEN),
  cannot("--metadata <pair>", CLOUD, HIDDEN),
  cannot("--ref <ref>", CLOUD, HIDDEN),
  cannot("--on-branch <branch>", CLOUD, HIDDEN),
  cannot("--forward-home-settings <yes>", CLOUD, HIDDEN),
  cannot("--from-pr [value]", "it opens a list to choose from"),
  cannot("--file <specs...>", "it needs a session of the hosted Claude Code"),
  cannot("--channels <servers...>", "it asks a question on the screen", HIDDEN),
  cannot(
    "--dangerously-load-development-channels <servers...>",
    "it asks a question on the screen",
    HIDDEN,
  ),
  cannot("--mcp-debug", "Claude Code dropped it for --debug", HIDDEN),
  cannot("--enable-auto-mode", "Claude Code dropped it for --permission-mode=auto", HIDDEN),
  cannot("--inherit-permission-mode <mode>", "claude-print always sets the mode itself", HIDDEN),
  cannot("--workload <tag>", "claude-print does not label its requests", HIDDEN),
  cannot("--sdk-url <url>", OTHER_HOST, HIDDEN),
  cannot("--await-claim", OTHER_HOST, HIDDEN),
  cannot("--initialize-fields <names>", OTHER_HOST, HIDDEN),
  cannot("--managed-settings-in-initialize", OTHER_HOST, HIDDEN),
  cannot("--client-data-url <url>", OTHER_HOST, HIDDEN),
  cannot("--allow-other-models", OTHER_HOST, HIDDEN),
  cannot("--host-auth-is-org-sign-in", OTHER_HOST, HIDDEN),
  cannot("--hold-repository-while-parked", OTHER_HOST, HIDDEN),
  cannot("--session-began-as-copy <value>", OTHER_HOST, HIDDEN),
  cannot("--runner-declares <names>", OTHER_HOST, HIDDEN),
  cannot("--messaging-socket-path <path>", OTHER_HOST, HIDDEN),
  cannot("--ignore-persisted-trust", OTHER_HOST, HIDDEN),
  cannot("--agents-view-if-allowed", SCREEN, HIDDEN),
  cannot("--proactivity <level>", SCREEN, HIDDEN),
  cannot("--watch-artifact <artifact>", SCREEN, HIDDEN),
  cannot("--watch-artifact-no-autoreact <artifact>", SCREEN, HIDDEN),
  cannot("--prefill <text>", SCREEN, HIDDEN),
  cannot("--prefill-b64 <text>", SCREEN, HIDDEN),
  cannot("--deep-link-origin", DEEP_LINK, HIDDEN),
  cannot("--deep-link-repo <slug>", DEEP_LINK, HIDDEN),
  cannot("--deep-link-last-fetch <ms>", DEEP_LINK, HIDDEN),
  cannot("--deep-link-cwd-b64 <path>", DEEP_LINK, HIDDEN),
  cannot("--agent-id <id>", TEAMMATE, HIDDEN),
  cannot("--agent-name <name>", TEAMMATE, HIDDEN),
  cannot("--agent-color <color>", TEAMMATE, HIDDEN),
  cannot("--agent-type <type>", TEAMMATE, HIDDEN),
  cannot("--team-name <name>", TEAMMATE, HIDDEN),
  cannot("--teammate-mode <mode>", TEAMMATE, HIDDEN),
  cannot("--plan-mode-required", TEAMMATE, HIDDEN),
  cannot("--parent-session-id <id>", TEAMMATE, HIDDEN),
  cannot("--lead-verify-key <key>", TEAMMATE, HIDDEN),
];

/** The flags of the short help, the most used first. */
export const COMMON_FLAGS: readonly string[] = [
  ...["--model", "--output-format", "--input-file", "--jsonl", "--continue", "--resume"],
  ...["--allowedTools", "--permission-mode", "--add-dir", "--append-system-prompt"],
  ...["--max-turns", "--timeout"],
];

const BY_SPELLING: ReadonlyMap<string, Flag> = new Map(
  FLAGS.flatMap((flag) => [flag.name, ...flag.aliases].map((one) => [one, flag] as const)),
);

/** Returns the flag with this exact spelling (`--allowed-tools`, `-p`). */
export function findFlag(spelling: string): Flag | undefined {
  return BY_SPELLING.get(spelling);
}

/** The error for a flag, or a value of it, that cannot be honoured. */
export function refusalError(what: string, reason: string): CliError {
  return new UnsupportedError(`Cannot honour ${what}: ${reason}`, {
    suggestion: "Leave it out",
  });
}

/** The error for an invalid command line. */
export function usageError(problem: string, suggestion: string): CliError {
  return new CliError(problem, { suggestion });
}

/** The error for `--switch=value`. */
export function switchValueError(name: string): CliError {
  return usageError(`${name} takes no value`, `Type ${name} alone`);
}
