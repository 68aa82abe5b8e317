import { OLDEST_VERSION } from "../../claude/versions/compare_versions.ts";

/** What `--help` and the manual page both say, beside the tables of flags and commands. */
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

/** The texts of this version. */
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
    ["CLAUDE_PRINT_SERVE", "off: as if there was no `claude-print serve`"],
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

const WIDTH = 80;

/** Words in lines of at most 80 columns, each behind a margin of `indent` spaces. */
export function wrapWords(
  words: readonly string[],
  { indent }: { readonly indent: number },
): string {
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
