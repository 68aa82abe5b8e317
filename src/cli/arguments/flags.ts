/**
 * Whether a flag takes a value, as in Claude Code's own parser (Commander).
 *
 * - `none`: a switch.
 * - `required`: the next argument, in any form.
 * - `optional`: the next argument unless it looks like a flag.
 * - `attached`: the text after a `=`, if there is one.
 * - `variadic`: the next argument, and all that follow it up to one that looks like a flag.
 */
export type FlagValue = "none" | "required" | "optional" | "attached" | "variadic";

/**
 * How a flag is handled.
 *
 * - `own`: a flag of `claude-print` that `claude -p` does not have.
 * - `output`: `claude-print` itself implements it; Claude Code never gets it.
 * - `forwarded`: passed to Claude Code as typed.
 * - `merged`: combined with the values that `claude-print` itself passes to Claude Code.
 * - `ineffective`: a warning names the flag; the run continues without it.
 * - `refused`: an error names the flag.
 */
export type FlagClass = "own" | "output" | "forwarded" | "merged" | "ineffective" | "refused";

/** One row of the table of flags. */
export type Flag =
  & {
    /** The spelling in messages and on Claude Code's command line. */
    readonly name: string;
    /** The other spellings, including short ones. */
    readonly aliases: readonly string[];
    readonly value: FlagValue;
    /** The placeholder of the value in the help text; empty for a switch. */
    readonly placeholder: string;
    /** The allowed values, if they are fixed. */
    readonly choices?: readonly string[];
    /** Whether a second use adds to the first instead of replacing it. */
    readonly repeatable: boolean;
    /** One line for the help text. */
    readonly help: string;
    /** Whether the flag is left out of the help text, as in `claude --help`. */
    readonly hidden: boolean;
    /** The title of its group in the help text; empty for a refused flag. */
    readonly group: string;
  }
  & (
    | { readonly class: Exclude<FlagClass, "ineffective" | "refused"> }
    | {
      readonly class: "ineffective" | "refused";
      /** The reason, as a clause that finishes "Cannot honour --flag: " or "--flag has no effect: ". */
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
    group: "",
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

/** Sets the group of flags in the help text. */
function inGroup(group: string, flags: readonly Flag[]): readonly Flag[] {
  return flags.map((flag) => ({ ...flag, group }));
}

/**
 * Every flag of `claude -p` up to Claude Code 2.1.330, including hidden ones, and those of `claude-print`, in the order
 * of the help text.
 */
export const FLAGS: readonly Flag[] = [
  ...inGroup("Prompt", [
    own("--input-file <file>", "Read the prompt from a file; - reads all of stdin"),
    own("--jsonl", "Run each line of stdin or the file as a prompt"),
    own("--one-session", "With --jsonl: the lines are turns of one conversation"),
    output("--input-format <format>", "text (default), or stream-json: one message a line", {
      choices: ["text", "stream-json"],
    }),
    output("--replay-user-messages", "With stream-json input: print each accepted message"),
    output("--await-initialize", "Accepted: a first initialize request is awaited", HIDDEN),
  ]),
  ...inGroup("Output", [
    output("-p, --print", "Accepted without effect: claude-print always prints"),
    output("--output-format <format>", "text (default), json, or stream-json", {
      choices: ["text", "json", "stream-json"],
    }),
    output("--verbose", "Required by stream-json; with json prints every event"),
    own("--stream-text", "In text format, print the answer while it is written"),
    output("--include-partial-messages", "With stream-json: print answers while they are written"),
    own(
      "--exact-stream",
      "Stream every token; use with --stream-text or --include-partial-messages",
    ),
    own("--shell-output[=split]", "With stream-json or --progress: print output of commands live", {
      choices: ["split"],
    }),
    output("--forward-subagent-text", "With stream-json: print texts of subagents"),
    output("--include-hook-events", "Print events of hooks"),
    output("--session-mirror", "With stream-json: print new lines of transcripts", HIDDEN),
    output("--json-schema <schema>", "Give a structured answer that fits this JSON Schema"),
    own("--progress", "In text format: print a line on stderr for each tool call"),
    own("--quiet", "On stderr print no live line, warnings or closing line, only failures"),
    own("--show", "Mirror Claude Code's screen to the terminal; it takes no keys"),
  ]),
  ...inGroup("Model", [
    forwarded("--model <model>", "An alias such as haiku, or a full name"),
    forwarded("--fallback-model <model>", "Models to fall back to, separated by commas"),
    forwarded("--effort <level>", "low, medium, high, xhigh or max"),
    forwarded("--system-prompt <prompt>", "Replace the system prompt"),
    forwarded("--system-prompt-file <file>", "Replace the system prompt with the text of a file"),
    forwarded("--append-system-prompt <prompt>", "Add to the end of the system prompt"),
    forwarded("--append-system-prompt-file <file>", "Add the text of a file to the system prompt"),
    forwarded("--system-prompt-snapshot <on|off>", "Reuse the first system prompt on resume", {
      choices: ["on", "off"],
    }),
    ineffective(
      "--exclude-dynamic-system-prompt-sections",
      "the interactive Claude Code always puts these sections into its system prompt",
    ),
    forwarded("--agent <agent>", "The agent for the session"),
    forwarded("--agents <file-or-json>", "Custom agents: a JSON object, or a file with one"),
    forwarded("--brief", "Turn on the SendUserMessage tool"),
    forwarded("--autocompact <auto|tokens>", "The size at which the conversation is compacted"),
    merged("--betas <betas...>", "Beta headers for requests to the API; with an API key only"),
    merged("--task-budget <tokens>", "Tokens that the model may use for its task", HIDDEN),
    forwarded("--thinking <mode>", "enabled, adaptive or disabled", {
      choices: ["enabled", "adaptive", "disabled"],
      hidden: true,
    }),
    forwarded("--thinking-display <display>", "How thinking appears in the response", HIDDEN),
    forwarded("--max-thinking-tokens <tokens>", "Most tokens to think with", HIDDEN),
    forwarded("--advisor <model>", "Turn on the advisor tool with this model", HIDDEN),
    forwarded("--fast-mode <on|off>", "Turn fast mode on or off", HIDDEN),
    forwarded("--include-unsupported-models", "Offer models this version does not know", HIDDEN),
  ]),
  ...inGroup("Tools and permissions", [
    forwarded("--allowedTools, --allowed-tools <tools...>", "Tools that run without asking"),
    merged("--disallowedTools, --disallowed-tools <tools...>", "Tools that never run"),
    forwarded("--tools <tools...>", 'Built-in tools to offer; "" is none, "default" is all'),
    merged(
      "--permission-mode <mode>",
      "default, acceptEdits, plan, dontAsk, auto or bypassPermissions",
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
    output("--permission-prompts <target>", "host (default), or none: nobody is asked", {
      choices: ["host", "none"],
    }),
    output(
      "--permission-prompt-tool <tool>",
      "Who decides on permissions: stdio, as the Agent SDKs do, or mcp__SERVER__TOOL",
      HIDDEN,
    ),
    forwarded("--dangerously-skip-permissions", "Run every tool without asking"),
    forwarded("--allow-dangerously-skip-permissions", "Allow that mode without starting in it"),
    forwarded("--add-dir <directories...>", "More directories that Claude may work in"),
    forwarded("--mcp-config <configs...>", "MCP servers, from JSON files or JSON text"),
    forwarded("--strict-mcp-config", "Use only the MCP servers of --mcp-config"),
    forwarded("--disable-slash-commands", "Turn off skills and slash commands"),
    forwarded("--ide", "Connect to the IDE"),
    forwarded("--no-chrome", "Turn off Claude in Chrome"),
  ]),
  ...inGroup("Sessions", [
    merged("-c, --continue", "Continue the latest session of this folder"),
    merged("-r, --resume [session]", "Resume the session with this id or title"),
    forwarded("--fork-session", "Give the resumed session a new id"),
    forwarded("--session-id <uuid>", "Use this id for a new session"),
    forwarded("-n, --name <name>", "Name the session"),
    forwarded("-w, --worktree [name]", "Work in a new git worktree"),
    output("--no-session-persistence", "Keep no transcript of this run"),
    output("--resume-session-at <message>", "Resume up to the message with this uuid", HIDDEN),
    output("--resume-drops-turn <message>", "The only turn that this may leave out", HIDDEN),
    output("--rewind-files <message>", "Restore files as before this prompt, and end", HIDDEN),
    output("--reply-on-resume", "Accepted without effect", HIDDEN),
  ]),
  ...inGroup("Limits", [
    output("--max-turns <turns>", "Most requests to the model; 0 is no limit"),
    output("--max-budget-usd <amount>", "Most US dollars that the run may cost"),
    own("--timeout <time>", "End the run after this, such as 5m (default 1h)"),
    own("--idle-timeout <time>", "End it after this long inactive (default off)"),
    own("--start-timeout <time>", "Longest wait for Claude Code to start (default 2m)"),
    own("--wait-for-limit[=time]", "At a usage limit, wait for its reset, at most this long"),
  ]),
  ...inGroup("Settings", [
    merged("--settings <file-or-json>", "More settings, from a file or JSON text"),
    forwarded("--setting-sources <sources>", "Settings to load: user, project, local"),
    forwarded("--managed-settings <json>", "Settings that others may not exceed, as JSON", HIDDEN),
    forwarded("--project-config-root <dir>", "Where the project's settings and skills are", HIDDEN),
    forwarded("--restricted", "No tools that run code, no settings of user or project"),
    forwarded("--safe-mode", "No customizations, such as CLAUDE.md, skills and hooks"),
    forwarded("--bare", "No customizations, and an API key only"),
    forwarded("--plugin-dir <path>", "Load a plugin from a directory or .zip", {
      repeatable: true,
    }),
    forwarded("--plugin-dir-no-mcp <path>", "The same without the plugin's MCP servers", {
      repeatable: true,
      hidden: true,
    }),
    forwarded("--plugin-url <url>", "Load a plugin from a URL", { repeatable: true }),
    own("--inherit-hooks", "Run the hooks of your own settings, as claude -p does"),
    own("--claude-binary <path>", "The Claude Code to run (default: claude on PATH)"),
  ]),
  ...inGroup("Server", [
    own("--warm", "Start a server in the background, so that later runs start sooner"),
    own("--cold", "Use no server, even if one is running"),
  ]),
  ...inGroup("Recording and replay", [
    own("--record <folder>", "Record the run as a cassette in a new folder"),
    own("--api-cassette <folder>", "Answer requests to the API from a cassette"),
    own("--on-miss <how>", "With --api-cassette, requests not recorded: fail (default) or record", {
      choices: ["fail", "record"],
    }),
    own("--allow-upstream", "Let --on-miss record ask the API under CI=true too"),
    own("--deterministic", "Send byte-identical requests in each run"),
  ]),
  ...inGroup("Debugging", [
    own("--trace", "Print on stderr what the run does and how long each step takes"),
    forwarded("-d, --debug [filter]", "Debug mode, with an optional filter of categories"),
    forwarded("--debug-file <path>", "Write the debug log to this file"),
    output("-d2e, --debug-to-stderr", "Copy the debug log to stderr", HIDDEN),
    own("-v, --version", "Print both versions; -v prints only that of Claude Code"),
    own("-h, --help", "Print all help; -h prints one screen"),
  ]),
  ...inGroup("Rarely needed", [
    own("--inject <how>", "How the prompt enters Claude Code: stdin (default) or paste", {
      choices: ["stdin", "paste"],
    }),
    own("--delivery-timeout <time>", "Longest wait for the prompt to be taken (default 5m)"),
    own("--drain-timeout <time>", "Longest wait for the answer's transcript (default 10s)"),
    own("--exit-timeout <time>", "Longest wait for Claude Code to end (default 6s)"),
    output("--ax-screen-reader", "Accepted without effect"),
    output("--remote-control [name]", "Accepted without effect"),
    output("--rc [name]", "Accepted without effect", HIDDEN),
    output("--remote-control-session-name-prefix <prefix>", "Accepted without effect"),
    output("--enable-auth-status", "Accepted if no settings renew a login", HIDDEN),
    own(
      "--shim-for <path>",
      "Set by the shim: the real claude, which takes over unsupported runs",
      HIDDEN,
    ),
  ]),

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
