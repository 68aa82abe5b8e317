import { OLDEST_VERSION } from "../../claude/versions/compare_versions.ts";
import type { Rows } from "./layout.ts";

/** Texts of `--help`, `-h` and the manual page. */
export interface Manual {
  /** A clause after the name: "claude-print - ...". */
  readonly summary: string;
  /** Command lines of a run. */
  readonly usage: readonly string[];
  /** Paragraphs, each on one line, unwrapped. */
  readonly introduction: readonly string[];
  readonly exitCodes: Rows;
  readonly environment: Rows;
  readonly files: Rows;
  /** Command lines for a shell. `-h` prints the first five. */
  readonly examples: readonly string[];
}

export const MANUAL: Manual = {
  summary: "claude -p, by driving the interactive Claude Code",
  usage: [
    "claude-print [flags] [prompt]",
    "command | claude-print [flags] [prompt]",
    "claude-print <command> [...]",
  ],
  introduction: [
    "claude-print does what `claude -p` does, by driving the interactive Claude Code in a " +
    "pseudo-terminal: same flags, same prompt, same output. " +
    `It needs Claude Code ${OLDEST_VERSION} or newer.`,
    'The prompt is the argument, stdin, or both: the argument, a line feed, then stdin. Put "--" ' +
    "before a prompt that begins with a dash or that follows a flag with several values.",
    "With --jsonl each line of stdin is a prompt, as a JSON string or an object " +
    '{"prompt": "...", "args": ["--model", "haiku"], ...}, and each line of output is ' +
    '{"line": 1, "input": ..., "exit_code": 0, "result": {...}}. With --one-session the lines are ' +
    "the turns of one conversation, and have no args of their own.",
    "Flags that take a time accept a number of seconds, or 500ms, 10s, 5m and 1h.",
  ],
  exitCodes: [
    ["0", "success"],
    ["1", "Claude or the API failed"],
    ["2", "claude-print or its environment failed, or the command line is wrong"],
    ["75", "a limit is used up, or the API is too busy; try again later"],
    ["124", "--timeout or --idle-timeout ran out"],
    ["130", "interrupted (SIGINT)"],
    ["141", "the reader of stdout is gone"],
    ["143", "terminated (SIGTERM)"],
    ["128+n", "ended by another signal n, such as SIGHUP (129) or SIGUSR1 (138)"],
  ],
  environment: [
    ["CLAUDE_CONFIG_DIR", "Claude Code's folder, if it is not ~/.claude"],
    ["ANTHROPIC_API_KEY", "log in with an API key,"],
    ["ANTHROPIC_AUTH_TOKEN", "a bearer token,"],
    ["CLAUDE_CODE_OAUTH_TOKEN", "or an OAuth token; else the login of `claude`"],
    ["CLAUDE_PRINT_SERVE", "off: use no server; auto: as with --warm"],
    ["CLAUDE_PRINT_SHELL_OUTPUT", "off: ignore --shell-output"],
    ["TMPDIR", "where a run keeps its private folder"],
    ["XDG_CACHE_HOME", "the folder for profiles of learn, if it is not ~/.cache"],
  ],
  files: [
    ["~/.claude", "Claude Code's folder: its settings and login, and the transcripts of runs"],
    [
      "/tmp/claude-print-*",
      "private folders of runs; the next run, or sweep, recovers and removes leftovers",
    ],
    ["~/.cache/claude-print/versions", "profiles of Claude Code that learn measured"],
  ],
  examples: [
    'claude-print "What does this project do?"',
    'git diff | claude-print "Write a commit message for this diff"',
    'claude-print --output-format json "List three colours" | jq -r .result',
    'claude-print --allowedTools "Bash(git *)" Edit -- "Fix the failing test"',
    'claude-print --continue "Now add a test for it"',
    "claude-print --output-format stream-json --verbose --input-file task.md",
    "claude-print --jsonl < prompts.jsonl > results.jsonl",
    "deno run -A --no-config --no-lock jsr:@claude-print/cli -p Hello",
  ],
};
