import { type Flag, FLAGS } from "./flags.ts";

const WIDTH = 80;
const HELP_COLUMN = 31;

const INTRODUCTION = `Usage: claude-print [flags] [prompt]
       command | claude-print [flags] [prompt]
       claude-print doctor [--offline] [--run] [--json] [--claude-binary <path>]
       claude-print sweep [--dry-run] [--json]

claude-print does what \`claude -p\` does, by driving the interactive Claude Code
in a pseudo-terminal: same flags, same prompt, same output.

The prompt is the argument, what comes in on stdin, or both: the argument, a new
line, then stdin. Put "--" before a prompt that begins with a dash or that
follows a flag with several values.

doctor looks for what could keep a run from working; sweep removes what runs
that were killed have left.`;

const CLOSING = `Exit codes:
  0    success
  1    Claude or the API failed
  2    claude-print or its environment failed, or the command line is wrong
  124  --timeout or --idle-timeout ran out
  129  hung up (SIGHUP)
  130  interrupted (SIGINT)
  141  nobody reads the output any more
  143  terminated (SIGTERM)

Environment:
  CLAUDE_CONFIG_DIR         Claude Code's folder, if it is not ~/.claude
  ANTHROPIC_API_KEY         log in with an API key,
  ANTHROPIC_AUTH_TOKEN      a bearer token,
  CLAUDE_CODE_OAUTH_TOKEN   or an OAuth token; else the login of \`claude\`
  TMPDIR                    where a run keeps its private folder

Examples:
  claude-print "What does this project do?"
  git diff | claude-print "Write a commit message for this diff"
  claude-print --output-format json "List three colours" | jq -r .result
  claude-print --output-format stream-json --verbose --input-file task.md
  claude-print --allowedTools "Bash(git *)" Edit -- "Fix the failing test"
`;

/** The text of `claude-print --help`: made from the table of flags, at most 80 columns wide. */
export function helpText(): string {
  const shown = FLAGS.filter((flag) => !flag.hidden);
  const rows = (...classes: readonly Flag["class"][]) =>
    shown.filter((flag) => classes.includes(flag.class)).map(row).join("\n");
  const refused = (sort: "not yet" | "cannot") =>
    wrap(
      shown
        .filter((flag) => flag.class === "refused" && flag.refusal.sort === sort)
        .map((flag) => [flag.name, ...flag.aliases].join("/")),
      { indent: 2 },
    );
  return [
    INTRODUCTION,
    `Flags of its own:\n${rows("own")}`,
    `Flags about the output:\n${rows("output")}`,
    `Flags for Claude Code:\n${rows("forwarded", "merged")}`,
    `Not supported yet (exit code 2; use claude -p):\n${refused("not yet")}`,
    `Without meaning here (exit code 2):\n${refused("cannot")}`,
    CLOSING,
  ].join("\n\n");
}

function row(flag: Flag): string {
  const short = flag.aliases.filter((alias) => !alias.startsWith("--"));
  const long = [flag.name, ...flag.aliases.filter((alias) => alias.startsWith("--"))];
  const spelling = `  ${[...short, ...long].join(", ")} ${flag.placeholder}`.trimEnd();
  const help = wrap(flag.help.split(" "), { indent: HELP_COLUMN });
  return spelling.length + 2 > HELP_COLUMN
    ? `${spelling}\n${help}`
    : spelling.padEnd(HELP_COLUMN) + help.slice(HELP_COLUMN);
}

/** Words in indented lines of at most {@linkcode WIDTH} columns. */
function wrap(words: readonly string[], { indent }: { readonly indent: number }): string {
  const margin = " ".repeat(indent);
  return words
    .reduce<readonly string[]>((lines, word) => {
      const line = lines.at(-1);
      return line !== undefined && line.length + 1 + word.length <= WIDTH
        ? [...lines.slice(0, -1), `${line} ${word}`]
        : [...lines, margin + word];
    }, [])
    .join("\n");
}
