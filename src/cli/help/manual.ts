import deno from "../../../deno.json" with { type: "json" };
import { OLDEST_VERSION } from "../../claude/versions/compare_versions.ts";
import { COMMAND_NAMES, COMMAND_SHAPES, commandUsage } from "../arguments/command_shapes.ts";
import { type Flag, FLAGS } from "../arguments/flags.ts";

/** Texts of both `--help` and the manual page. */
export interface Manual {
  /** A clause after the name: "claude-print - ...". */
  readonly summary: string;
  /** Command lines of a run. */
  readonly usage: readonly string[];
  /** Paragraphs, each on one line, unwrapped. */
  readonly introduction: readonly string[];
  readonly exitCodes: readonly (readonly [code: string, meaning: string])[];
  readonly environment: readonly (readonly [variable: string, meaning: string])[];
  readonly files: readonly (readonly [path: string, meaning: string])[];
  /** Command lines for a shell. */
  readonly examples: readonly string[];
}

export const MANUAL: Manual = {
  summary: "claude -p, by driving the interactive Claude Code",
  usage: ["claude-print [flags] [prompt]", "command | claude-print [flags] [prompt]"],
  introduction: [
    "claude-print does what `claude -p` does, by driving the interactive Claude Code in a " +
    "pseudo-terminal: same flags, same prompt, same output.",
    `It needs Claude Code ${OLDEST_VERSION} or newer.`,
    "The prompt is the argument, what comes in on stdin, or both: the argument, a new line, then " +
    'stdin. Put "--" before a prompt that begins with a dash or that follows a flag with several ' +
    "values.",
    "With --jsonl each line of stdin is a prompt, as a JSON string or an object " +
    '{"prompt": "...", "args": ["--model", "haiku"], ...}, and each line of output is ' +
    '{"line": 1, "input": ..., "exit_code": 0, "result": {...}}. With --one-session the lines are ' +
    "the turns of one conversation, and have no args of their own.",
  ],
  exitCodes: [
    ["0", "success"],
    ["1", "Claude or the API failed"],
    ["2", "claude-print or its environment failed, or the command line is wrong"],
    ["75", "a limit is used up, or the API is too busy; try again later"],
    ["124", "--timeout or --idle-timeout ran out"],
    ["130", "interrupted (SIGINT)"],
    ["141", "nobody reads the output any more"],
    ["143", "terminated (SIGTERM)"],
    ["128+n", "ended by another signal n, such as SIGHUP (129) or SIGUSR1 (138)"],
  ],
  environment: [
    ["CLAUDE_CONFIG_DIR", "Claude Code's folder, if it is not ~/.claude"],
    ["ANTHROPIC_API_KEY", "log in with an API key,"],
    ["ANTHROPIC_AUTH_TOKEN", "a bearer token,"],
    ["CLAUDE_CODE_OAUTH_TOKEN", "or an OAuth token; else the login of `claude`"],
    ["CLAUDE_PRINT_SERVE", "off: use no server; auto: as with --warm"],
    ["CLAUDE_PRINT_SHELL_OUTPUT", "off: as if there was no --shell-output"],
    ["TMPDIR", "where a run keeps its private folder"],
    ["XDG_CACHE_HOME", "where learn keeps profiles, if it is not ~/.cache"],
  ],
  files: [
    ["~/.claude", "Claude Code's folder: its settings and login, and the transcripts of runs"],
    [
      "/tmp/claude-print-*",
      "private folders of runs; the next run, or sweep, brings home and removes what one has left",
    ],
    ["~/.cache/claude-print/versions", "profiles of Claude Code that learn has measured"],
  ],
  examples: [
    'claude-print "What does this project do?"',
    'git diff | claude-print "Write a commit message for this diff"',
    'claude-print --output-format json "List three colours" | jq -r .result',
    "claude-print --output-format stream-json --verbose --input-file task.md",
    'claude-print --allowedTools "Bash(git *)" Edit -- "Fix the failing test"',
    "claude-print --jsonl < prompts.jsonl > results.jsonl",
    "deno run -A --no-config --no-lock jsr:@claude-print/cli -p Hello",
  ],
};

const MAX_WIDTH = 80;

/** Wraps words into lines of at most 80 columns, each after `indent` spaces. */
export function wrapWords(
  words: readonly string[],
  { indent }: { readonly indent: number },
): string {
  const margin = " ".repeat(indent);
  return words
    .reduce<readonly string[]>((lines, word) => {
      const line = lines.at(-1);
      return line !== undefined && line.length + 1 + word.length <= MAX_WIDTH
        ? [...lines.slice(0, -1), `${line} ${word}`]
        : [...lines, margin + word];
    }, [])
    .join("\n");
}

const HELP_COLUMN = 31;

/** Returns the output of `claude-print --help`, at most 80 columns wide. */
export function helpText(): string {
  const shown = FLAGS.filter((flag) => !flag.hidden);
  const rows = (...classes: readonly Flag["class"][]) =>
    shown.filter((flag) => classes.includes(flag.class)).map(flagRow).join("\n");
  const refused = shown.filter((flag) => flag.class === "refused")
    .map((flag) => [flag.name, ...flag.aliases].join("/"));
  return [
    `Usage: ${MANUAL.usage.join(`\n${" ".repeat(7)}`)}\n       claude-print <command> [...]`,
    ...MANUAL.introduction.map((paragraph) => wrapWords(paragraph.split(" "), { indent: 0 })),
    `Commands ("claude-print <command> --help" says more):\n${
      table(COMMAND_NAMES.map((name) => [name, COMMAND_SHAPES[name].summary]), { column: 14 })
    }`,
    `Flags of its own:\n${rows("own")}`,
    `Flags about the output:\n${rows("output")}`,
    `Flags for Claude Code:\n${rows("forwarded", "merged", "ineffective")}`,
    `Without meaning here (exit code 2):\n${wrapWords(refused, { indent: 2 })}`,
    `Exit codes:\n${table(MANUAL.exitCodes, { column: 9 })}`,
    `Environment:\n${table(MANUAL.environment, { column: 28 })}`,
    `Examples:\n${MANUAL.examples.map((line) => `  ${line}\n`).join("")}`,
  ].join("\n\n");
}

/** Formats rows of two columns, of which the second begins at `column`. */
function table(
  rows: readonly (readonly [string, string])[],
  { column }: { readonly column: number },
): string {
  return rows.map(([name, meaning]) => `  ${name}`.padEnd(column) + meaning).join("\n");
}

function flagRow(flag: Flag): string {
  const short = flag.aliases.filter((alias) => !alias.startsWith("--"));
  const long = [flag.name, ...flag.aliases.filter((alias) => alias.startsWith("--"))];
  const joint = flag.value === "attached" ? "" : " ";
  const spelling = `  ${[...short, ...long].join(", ")}${joint}${flag.placeholder}`.trimEnd();
  const help = wrapWords(flag.help.split(" "), { indent: HELP_COLUMN });
  return spelling.length + 2 > HELP_COLUMN
    ? `${spelling}\n${help}`
    : spelling.padEnd(HELP_COLUMN) + help.slice(HELP_COLUMN);
}

/** The date of the last revision of the texts. */
const REVISED = "2026-11-22";

/** Returns the manual page in roff, with the macros of man(7). */
export function manPage(): string {
  const shown = FLAGS.filter((flag) => !flag.hidden);
  const flags = (...classes: readonly Flag["class"][]) =>
    shown.filter((flag) => classes.includes(flag.class)).map((flag) =>
      roffEntry(
        `${spellings(flag).map(roffBold).join(", ")}${roffValue(flag.placeholder)}`,
        flag.help,
      )
    );
  const refused = shown.filter((flag) => flag.class === "refused")
    .map((flag) => spellings(flag).map(roffBold).join("/"));
  const commands = COMMAND_NAMES.map((name) =>
    [
      ...commandUsage(name).map((usage, index) =>
        `${index === 0 ? ".TP" : ".TQ"}\n${roffCommandLine(usage)}`
      ),
      roffText(`${COMMAND_SHAPES[name].summary}.`),
      ...(COMMAND_SHAPES[name].flags.length === 0 ? [] : [
        ".RS",
        ...COMMAND_SHAPES[name].flags.map((flag) =>
          roffEntry(`${roffBold(flag.name)}${roffValue(flag.placeholder)}`, flag.help)
        ),
        ".RE",
      ]),
    ].join("\n")
  );
  const table = (rows: readonly (readonly [string, string])[]) =>
    rows.map(([name, meaning]) => roffEntry(roffBold(name), meaning));
  return [
    `.TH CLAUDE\\-PRINT 1 ${REVISED} "claude\\-print ${deno.version}" "User Commands"`,
    ".SH NAME",
    `claude\\-print \\- ${roffText(MANUAL.summary)}`,
    ".SH SYNOPSIS",
    [...MANUAL.usage, "claude-print <command> [...]"].map(roffCommandLine).join("\n.br\n"),
    ".SH DESCRIPTION",
    MANUAL.introduction.map(roffText).join("\n.PP\n"),
    ".SH OPTIONS",
    ".SS Of its own",
    ...flags("own"),
    ".SS About the output",
    ...flags("output"),
    ".SS For Claude Code",
    ...flags("forwarded", "merged", "ineffective"),
    ".SS Refused",
    "These end with exit code 2, because they have no meaning here:",
    `${refused.join(",\n")}.`,
    ".SH COMMANDS",
    roffText('A command is one only as the very first argument; a prompt can go after "--".'),
    ...commands,
    ".SH EXIT STATUS",
    ...table(MANUAL.exitCodes),
    ".SH ENVIRONMENT",
    ...table(MANUAL.environment),
    ".SH FILES",
    ...table(MANUAL.files),
    ".SH EXAMPLES",
    ".nf",
    ...MANUAL.examples.map(roffLiteral),
    ".fi",
    ".SH SEE ALSO",
    ".BR claude (1)",
  ].join("\n") + "\n";
}

function spellings({ name, aliases }: Flag): readonly string[] {
  return [...aliases.filter((alias) => !alias.startsWith("--")), name]
    .concat(aliases.filter((alias) => alias.startsWith("--")));
}

/** Formats a tagged paragraph. */
function roffEntry(tag: string, body: string): string {
  return `.TP\n${tag}\n${roffText(body)}`;
}

function roffBold(word: string): string {
  return `\\fB${roffLiteral(word)}\\fR`;
}

/** Formats the value of a flag, without the brackets of a required one, as is usual in manuals. */
function roffValue(placeholder: string): string {
  if (placeholder === "") return "";
  const words = roffLiteral(placeholder.replaceAll(/[<>]/g, ""));
  return `${placeholder.startsWith("[=") ? "" : " "}\\fI${words}\\fR`;
}

/** Formats a command line with its placeholders in italics. */
function roffCommandLine(usage: string): string {
  return usage.split(" ").map((word) =>
    /^<.*>$/.test(word)
      ? roffValue(word).trim()
      : /^\[|\||^command$/.test(word)
      ? roffLiteral(word)
      : roffBold(word)
  ).join(" ");
}

/** Formats running text. The dashes of flags and single dashes are not hyphens. */
function roffText(words: string): string {
  const dashed = escapeRoff(words).replaceAll(
    /(?<![\w-])-+/g,
    (dashes) => "\\-".repeat(dashes.length),
  );
  // A line that begins with a dot would be a request.
  return wrapWords(dashed.split(" "), { indent: 0 }).replaceAll(/^\./gm, "\\&.");
}

/** Formats text that a reader may copy: no dash is a hyphen. */
function roffLiteral(words: string): string {
  return escapeRoff(words).replaceAll("-", "\\-");
}

/** Escapes all characters with a meaning in roff except the dash. */
function escapeRoff(words: string): string {
  return words
    .replaceAll("\\", "\\e")
    .replaceAll("~", "\\(ti")
    .replaceAll("^", "\\(ha")
    .replaceAll("`", "\\(ga")
    .replaceAll("'", "\\(aq");
}
