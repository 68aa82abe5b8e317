import type { Reply } from "../../src/recording/learn/reply_script.ts";
import { isVersionAtLeast } from "../../src/claude/versions/compare_versions.ts";
import type { ThrowawayHomeOptions } from "../../fixtures/throwaway_home.ts";
import type { LoggedRequest, MessagesApiOptions } from "../../src/recording/learn/messages_api.ts";

/** A command line and its surroundings; both programs get it unchanged after `-p`. */
export interface Row {
  /** Its subject; recordings are found by it. */
  readonly name: string;
  /** `HOME` stands for the home's path. */
  readonly args: readonly string[];
  readonly stdin?: string | Uint8Array<ArrayBuffer>;
  readonly env?: Readonly<Record<string, string>>;
  /** Files in the project, or in the home if a path begins with `~`. */
  readonly files?: Readonly<Record<string, string>>;
  /** Command lines of `claude -p` that run before it in the same home; their output is not compared. */
  readonly before?: readonly (readonly string[])[];
  readonly api?: MessagesApiOptions;
  readonly home?: ThrowawayHomeOptions;
  /** The oldest version that has its flags, or in which both programs do the same. */
  readonly since?: string;
  /** The exit code of `claude-print`, if it says more than that the run failed. */
  readonly code?: number;
  /** Words that `claude-print` prints on stderr. */
  readonly told?: readonly string[];
  /** Why its inputs are not recorded: only a live run compares it. */
  readonly unrecorded?: string;
}

const JSON_FORMAT = ["--output-format", "json"];
const STREAM = ["--output-format", "stream-json", "--verbose"];
const INPUT = ["--input-format", "stream-json", ...STREAM];
/** Versions before 2.1.302 start in auto mode. */
const ASKING = ["--permission-mode", "default"];
const SESSION = "0b5e7a52-54c1-4d0e-8a51-7d1f3c2f9a10";
const NO_RETRIES = { CLAUDE_CODE_MAX_RETRIES: "0" };
const ONE_RETRY = { CLAUDE_CODE_MAX_RETRIES: "1" };

/** A script's directive for a call of a tool. */
function call(name: string, input: Readonly<Record<string, unknown>>): string {
  return `[[tool ${name} ${JSON.stringify(input)}]]`;
}

/** The settings of hooks that run in parallel. */
function hook(...commands: readonly string[]): readonly unknown[] {
  return [{ hooks: commands.map((command) => ({ type: "command", command })) }];
}

/**
 * The settings of two parallel hooks. The second ends once both have started, and the first once Claude Code has reaped the
 * second: on a busy machine no fixed time would keep this order.
 */
function slowAndFast(
  name: string,
  { slow, fast }: { readonly slow: string; readonly fast: string },
): readonly unknown[] {
  const path = `"$HOME/${name}"`;
  const isOver = `[ -s ${path} ] && ! kill -0 "$(cat ${path})" 2>/dev/null`;
  const begun = `"$HOME/${name}-begun"`;
  return hook(
    `: >${begun}; until ${isOver}; do sleep 0.01; done; ${slow}`,
    `until [ -e ${begun} ]; do sleep 0.01; done; echo $$ >${path}; ${fast}`,
  );
}

/** A message of the caller as a line of stdin. */
function message(content: unknown, more: Readonly<Record<string, unknown>> = {}): string {
  return `${JSON.stringify({ type: "user", message: { role: "user", content }, ...more })}\n`;
}

/** The bytes of lines; `%ff` stands for a byte that is invalid in UTF-8. */
function withStrayBytes(lines: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(
    lines.split("%ff").flatMap((text, at) => [
      ...(at === 0 ? [] : [0xff]),
      ...new TextEncoder().encode(text),
    ]),
  );
}

/** An API that judges a goal to be reached once the assistant has continued for it. */
function ofGoal({ kind, text }: LoggedRequest): Reply | undefined {
  if (kind !== "auxiliary" || !text.includes("stopping condition")) return undefined;
  const ok = text.includes("Stop hook feedback");
  return [{ kind: "text", text: JSON.stringify({ ok, reason: "Go on" }) }];
}

/** An API that is overloaded for models whose names begin with a text. */
function overloaded(model: string): (request: LoggedRequest) => Reply | undefined {
  return ({ body }) =>
    (body as { readonly model?: string }).model?.startsWith(model) === true
      ? [{ kind: "error", status: 529, flavour: "plain" }]
      : undefined;
}

/** A conversation is compacted at 16,200 tokens; what the API calls the rest of it has 12,000. */
const SMALL_WINDOW = {
  CLAUDE_CODE_AUTO_COMPACT_WINDOW: "200000",
  CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: "9",
};

/** An API that sums up conversations. */
function summed({ prompt = "" }: LoggedRequest): Reply | undefined {
  return prompt.includes("create a detailed summary")
    ? [{ kind: "text", text: "<summary>\nThe short of it.\n</summary>" }]
    : undefined;
}

const AGENT = {
  reviewer: { description: "Reviews code", prompt: "You review.", tools: ["Read", "Bash"] },
};

/** A project with a skill that a subagent carries out while the turn waits. */
const FORKED_SKILL = {
  ".claude/skills/busy/SKILL.md": [
    "---",
    "description: Works by itself",
    "context: fork",
    "background: false",
    "---",
    "Work. [[bash echo inner]] [[say found]]",
  ].join("\n"),
};

const inForeground = (prompt: string, more: Readonly<Record<string, unknown>> = {}) =>
  call("Agent", {
    ...more,
    description: "look around",
    prompt,
    subagent_type: "general-purpose",
    run_in_background: false,
  });

/** The rows that a version supports. */
export function rowsOf(version: string): readonly Row[] {
  return ROWS.filter(({ since = "" }) => isVersionAtLeast(version, since));
}

/** The table. */
const ROWS: readonly Row[] = [
  // Formats, and where the prompt is
  {
    name: "text-both",
    args: ["--verbose", "--effort", "nonesuch", "Argument [[think hm]]"],
    stdin: "and stdin [[say First\\n\\n  indented \\t ⚓ ❤️ 👩‍👩‍👧‍👦 é – `code`\\nlast line  \\n]]\n",
  },
  {
    name: "stream-refusal",
    args: [
      ...STREAM,
      "Hi [[say one]] [[stop max_tokens]] [[next]] [[say no]] [[stop refusal]] [[next]] " +
      "[[stop refusal]] [[next]] [[say no more]] [[stop refusal]]",
    ],
  },

  // Tools and permissions
  {
    name: "bash",
    args: [
      ...[...STREAM, "--task-budget", "20000", "--allowedTools", "Bash", "--"],
      "Work. [[think first\\nsecond]] [[say I look]] [[bash printf 'a\\nb\\n']] [[think more]] " +
      "[[bash echo oops >&2; exit 3]] [[bash echo one]] [[also bash echo two]] [[say done]]",
    ],
  },
  {
    name: "denied",
    files: {
      "a.txt": "one\n",
      // The project is no setting source.
      "CLAUDE.md": "Use tabs.\n",
      ".claude/settings.json": JSON.stringify({ permissions: { allow: ["Bash"] } }),
    },
    args: [
      ...[...STREAM, ...ASKING, "--setting-sources", "user"],
      ...["--disallowedTools", "Edit,WebFetch", "--"],
      `Work. [[bash make forbidden]] ${
        call("Write", { file_path: "HOME/project/b.txt", content: "new\n" })
      } ${call("Read", { file_path: "nofile" })} ${call("Glob", { pattern: "*.txt" })} ${
        call("Grep", { pattern: "one" })
      } ${call("Nonesuch", { x: 1 })} ${
        call("Edit", { file_path: "a.txt", old_string: "one", new_string: "two" })
      } [[say not allowed]]`,
    ],
  },
  ...["auto", "plan"].map((mode): Row => ({
    name: `${mode}-unchecked`,
    args: [
      ...[...STREAM, "--permission-mode", mode, "--"],
      "Work. [[bash node -e 1]] [[say not allowed]]",
    ],
  })),
  {
    name: "files",
    files: {
      "a.txt": "one\ntwo\n",
      "~/other/a.txt": "one\n",
      "CLAUDE.md": "Use tabs.\n",
      "~/.claude/CLAUDE.md": "Be kind.\n",
      "src/AGENTS.md": "Count to two.\n",
      "src/main.ts": "1;\n",
    },
    args: [
      ...[...STREAM, "--permission-mode", "acceptEdits", "--tools", "Read,Edit,Write"],
      ...["--add-dir", "../other", "--"],
      `Work. ${call("Read", { file_path: "HOME/project/src/main.ts" })} ${
        call("Read", { file_path: "a.txt" })
      } ${call("Edit", { file_path: "a.txt", old_string: "two", new_string: "three" })} ${
        call("Write", { file_path: "b.txt", content: "new\n" })
      } ${call("Read", { file_path: "../other/a.txt" })} [[say done]]`,
    ],
  },

  // What the model is told
  {
    // Older versions record too late whether a request is made in fast mode.
    name: "agent",
    since: "2.1.305",
    args: [
      ...[...STREAM, "--agents", JSON.stringify(AGENT), "--agent", "reviewer"],
      ...["--effort", "low", "--settings", '{"fastMode":true}', "--allowedTools=Bash"],
      ...["--max-budget-usd", "5", "Hi [[bash echo one]] [[say yes]]"],
    ],
  },
  {
    name: "agents-file",
    env: { CLAUDE_CODE_MAX_OUTPUT_TOKENS: "5000" },
    files: { "agents.json": JSON.stringify(AGENT) },
    args: [
      ...[...STREAM, "--agents", "agents.json", "--agent", "reviewer"],
      ...["--permission-mode", "auto", "Hi [[say yes]]"],
    ],
  },
  {
    name: "shell-background",
    env: { IS_SANDBOX: "1" },
    args: [
      ...[...STREAM, "--dangerously-skip-permissions"],
      `Go. [[bash touch x; echo one; sleep 8; echo two]] ${
        call("Bash", {
          // Longer than a turn takes on a busy machine.
          command: "for i in 1 2 3 4 5 6 7 8; do sleep 0.5; done; echo over",
          description: "Wait",
          run_in_background: true,
        })
      } [[say started]] [[next]] [[say end]]`,
    ],
  },
  {
    // A subagent that has ended, and continues in the background when it gets a message.
    name: "subagent-woken",
    args: [
      ...[...STREAM, ...ASKING, "--forward-subagent-text", "--allowedTools=Bash,SendMessage"],
      `Go. ${
        inForeground("Inner [[think hm]] [[say look]] [[bash echo inner]] [[say found]]", {
          name: "bob",
        })
      } ${
        call("SendMessage", {
          to: "bob",
          summary: "more",
          message: "More [[bash echo more]] [[say found more]]",
        })
      } [[wait 2000]] [[say end]]`,
    ],
  },
  {
    name: "skill-forked",
    files: {
      ...FORKED_SKILL,
      ".claude/skills/shown/SKILL.md":
        "---\nname: shown\ndescription: Shows\n---\nSay $ARGUMENTS\n",
    },
    args: [
      ...[...STREAM, ...ASKING, "--allowedTools=Bash,Skill"],
      `Go. ${inForeground("Inner [[bash echo inner]] [[say found]]")} ${
        inForeground("Inner [[error 400]]")
      } ${call("Skill", { skill: "shown", args: "it" })} ${
        call("Skill", { skill: "busy" })
      } [[say end]]`,
    ],
  },
  {
    name: "skill-typed",
    files: FORKED_SKILL,
    args: [...STREAM, "--allowedTools=Bash", "/busy now"],
  },

  // Limits
  {
    name: "max-turns",
    told: ["stopped at its limit: 3 requests"],
    args: [
      ...[...STREAM, "--allowedTools=Bash", "--max-turns", "3.5"],
      ...["--managed-settings", JSON.stringify({ permissions: { deny: ["Bash(touch:*)"] } })],
      "Work. [[say I look]] [[bash touch x]] [[bash echo one]] [[bash echo two]] [[say end]]",
    ],
  },
  {
    // Claude Code retries an empty answer once, which does not count as a turn.
    name: "max-turns-stop",
    told: ["stopped at its limit: 1 request"],
    files: { ".claude/settings.json": JSON.stringify({ hooks: { Stop: hook("exit 2") } }) },
    env: { CLAUDE_CODE_MAX_TURNS: "1" },
    args: [...STREAM, "Hi [[stop end_turn]] [[next]] [[say one]]"],
  },
  {
    name: "budget-over",
    args: [
      "--allowedTools=Bash",
      "--max-budget-usd",
      "0.05",
      "Work. [[say one]] [[bash echo one]] [[say end]]",
    ],
  },

  // Sessions
  {
    name: "compact-before",
    before: [["--session-id", SESSION, "First [[bash echo 1]] [[kilobytes 50]]"]],
    env: SMALL_WINDOW,
    args: [...STREAM, "--resume", SESSION, "Second [[say two]]"],
    api: { reply: summed },
  },
  {
    // With 2.1.285, claude-print prints a second, empty result.
    name: "compact-nothing",
    since: "2.1.305",
    args: ["/compact"],
  },
  {
    name: "session-in-use",
    before: [["--session-id", SESSION, "One [[say first]]"]],
    args: ["--session-id", SESSION, "Two [[say second]]"],
  },

  // Partial messages
  {
    name: "partial-retried",
    args: [
      ...[...STREAM, "--include-partial-messages", "--allowedTools=Bash", "--"],
      "Go. [[error 529 x1]] [[say one]] [[bash echo one]] [[say two]]",
    ],
  },

  // Models
  {
    name: "model-fallback",
    api: { reply: overloaded("claude-opus") },
    files: { "s.txt": "You count.\n" },
    args: [
      // --rc has no effect in claude -p either.
      ...[...STREAM, "--rc", "--model", "opus", "--fallback-model", "sonnet"],
      ...["--system-prompt-file", "s.txt", "--append-system-prompt", "Be brief."],
      ...["--tools", "", "--", "Hi [[stop end_turn]]"],
    ],
  },
  {
    name: "betas",
    home: { loggedIn: false, env: { ANTHROPIC_API_KEY: "sk-ant-api03-throwaway-0123456789" } },
    files: {
      "a.txt": "Be brief.\n",
      "CLAUDE.md": "Use tabs.\n",
      "~/.claude/settings.json": JSON.stringify({ outputStyle: "Explanatory" }),
    },
    args: [
      // Without a session to continue, a new one begins.
      ...[...JSON_FORMAT, "--verbose", ...ASKING, "--continue"],
      ...["--model", "claude-sonnet-4-5", "--betas", "context-1m-2025-08-07"],
      ...["--system-prompt", "", "--append-system-prompt-file", "a.txt"],
      // stdio has no effect if stdin is text.
      ...["--disable-slash-commands", "--setting-sources", "", "--permission-prompt-tool", "stdio"],
      "Hi [[think hm]] [[say one]] [[say two]] [[bash make x]] [[say denied]]",
    ],
  },

  // Errors of the API
  {
    name: "error-400-too-long",
    told: ["does not fit into the model's context", "Send less"],
    env: NO_RETRIES,
    args: [...STREAM, "Hi [[error 400 too-long]]"],
  },
  {
    name: "error-404",
    told: ["The model cannot be used: "],
    env: NO_RETRIES,
    args: ["--model", "claude-nonesuch", "Hi [[error 404]]"],
  },
  {
    name: "error-429-limit",
    code: 75,
    told: ["used up its limit", "Run it again after "],
    env: NO_RETRIES,
    args: [...STREAM, "Hi [[error 429 unified]]"],
  },
  {
    name: "error-529",
    code: 75,
    told: ["The API is overloaded: 529 Overloaded"],
    env: ONE_RETRY,
    args: [...STREAM, "Hi [[error 529]]"],
  },
  {
    name: "error-401",
    told: ["Cannot log in to Claude: 401 Invalid bearer token", "claude /login"],
    env: NO_RETRIES,
    args: [...STREAM, "Hi [[error 401]]"],
  },
  {
    name: "error-unreachable",
    unrecorded: "a recorded run asks through a relay, which Claude Code reaches",
    told: ["Cannot reach the API: "],
    env: { ...NO_RETRIES, ANTHROPIC_BASE_URL: "http://127.0.0.1:1" },
    args: [...STREAM, "Hi"],
  },

  // Settings
  {
    name: "restricted",
    files: {
      ".claude/settings.json": JSON.stringify({
        permissions: { defaultMode: "acceptEdits" },
        hooks: { UserPromptSubmit: [{ hooks: [{ type: "command", command: "touch hooked" }] }] },
      }),
    },
    args: [
      ...[...STREAM, "--restricted", "--permission-prompts", "none"],
      `Hi ${call("Write", { file_path: "b.txt", content: "new\n" })} [[say yes]]`,
    ],
  },

  {
    name: "config-root",
    files: {
      "CLAUDE.md": "Use tabs.\n",
      ".claude/settings.json": JSON.stringify({
        model: "opus",
        hooks: { UserPromptSubmit: hook("touch hooked") },
      }),
      ".claude/commands/greet.md": "Greet nobody\n",
      ".claude/skills/theirs/SKILL.md": "---\ndescription: Theirs\n---\n",
      "~/trusted/CLAUDE.md": "Use spaces.\n",
      "~/trusted/.claude/settings.json": JSON.stringify({
        outputStyle: "mine",
        permissions: { allow: ["Bash(touch:*)"] },
        hooks: { UserPromptSubmit: hook('echo "In $PWD for $CLAUDE_PROJECT_DIR"') },
      }),
      "~/trusted/.claude/settings.local.json": JSON.stringify({
        permissions: { defaultMode: "acceptEdits" },
      }),
      "~/trusted/.claude/output-styles/mine.md": "---\nname: mine\ndescription: M\n---\nBe brief\n",
      "~/trusted/.claude/agents/helper.md":
        "---\nname: helper\ndescription: Helps\n---\nYou help\n",
      "~/trusted/.claude/commands/greet.md": `Greet $ARGUMENTS [[bash touch x]] ${
        call("Write", { file_path: "b.txt", content: "new\n" })
      } [[say done]]\n`,
    },
    args: [...STREAM, "--project-config-root", "HOME/trusted", "/greet you"],
  },

  // Hooks of the project
  {
    name: "hooks",
    files: {
      ".claude/settings.json": JSON.stringify({
        hooks: {
          SessionStart: slowAndFast("begun", { slow: "echo begun", fast: "echo begun at once" }),
          UserPromptSubmit: slowAndFast("asked", {
            slow: "echo asked",
            fast: "echo asked at once",
          }),
          PreToolUse: slowAndFast("looked", {
            slow: `echo '{"systemMessage":"look"}'`,
            fast: `echo '{"systemMessage":"look at once"}'`,
          }),
          PostToolUse: hook("echo checked >&2; exit 2"),
          Stop: slowAndFast("over", { slow: "echo odd >&2; exit 3", fast: "echo over" }),
        },
      }),
    },
    args: [
      ...[...STREAM, "--include-hook-events", "--settings"],
      JSON.stringify({
        model: "sonnet",
        permissions: { allow: ["Bash(touch:*)"] },
        outputStyle: "Explanatory",
      }),
      "Work. [[bash touch x]] [[say done]]",
    ],
  },

  // Slash commands
  {
    name: "slash-shell",
    files: {
      "~/.claude/commands/group/greet.md":
        "---\nallowed-tools: Bash(echo:*)\n---\nSay !`echo ran` to $ARGUMENTS\n",
    },
    args: [...STREAM, "/group:greet all\nof them [[say hello]]"],
  },
  {
    name: "slash-asked",
    unrecorded: "its answer needs no child",
    since: "2.1.305",
    args: [...STREAM, "/goal"],
  },
  { name: "slash-doctor", args: [...STREAM, "/doctor"] },
  { name: "slash-review", args: [...STREAM, "/review"] },
  {
    name: "goal",
    before: [["--session-id", SESSION, "One [[say first]]"]],
    args: [
      ...[...STREAM, "--continue", "--fork-session", "--max-turns", "4"],
      "/goal  write a\npoem ",
    ],
    api: { reply: ofGoal },
  },

  // Input as stream-json
  {
    name: "input-replay",
    // Claude Code has a command with this name.
    files: { ".claude/commands/compact.md": "Greet $ARGUMENTS. [[say yes]]\n" },
    args: [...INPUT, "--replay-user-messages"],
    stdin: message("/compact you  and me"),
  },
  {
    // Its socket, by which the message is delivered, is hidden from commands.
    name: "input-id",
    args: [...INPUT, "--allowedTools", "Bash"],
    stdin: message("Work. [[bash env | grep -c ^CLAUDE_BG_; true]] [[say done]]", {
      uuid: SESSION,
    }),
  },
  {
    // The first message starts the turn, whatever priorities the others have.
    name: "input-priorities",
    args: INPUT,
    stdin: message("One [[say one]]", { priority: "later" }) +
      message("Two [[say two]]", { priority: "later" }) +
      message("Three [[say three]]", { priority: "next" }),
  },
  {
    // Texts before a command are part of its turn.
    name: "input-command",
    files: { ".claude/commands/greet.md": "Greet $1. [[say hi]]\n" },
    args: [...INPUT, "--replay-user-messages"],
    stdin: message(["One.", "More.", "/greet Bob"].map((text) => ({ type: "text", text }))),
  },
  { name: "input-empty", args: [...INPUT, "Not heard"], stdin: "" },
  { name: "input-bad", args: INPUT, stdin: "not json\n" },
  { name: "input-type", args: INPUT, stdin: '{"type":"nonesuch"}\n[1]\n' },
  { name: "input-null", args: INPUT, stdin: `null\n${message("One")}` },
  { name: "input-role", args: INPUT, stdin: '{"type":"user","message":{"role":"assistant"}}\n' },
  { name: "input-cut", args: INPUT, stdin: message("One").slice(0, 40) },
  {
    // A byte order mark, no content, another session id, invalid UTF-8, and no newline at the end.
    name: "input-odd",
    args: INPUT,
    stdin: withStrayBytes(
      `\ufeff${message(null, { session_id: SESSION })}\r\n \n${
        message("a%ff%ff b [[say odd]]").trimEnd()
      }`,
    ),
  },

  // Bad usage
  { name: "usage-flag", args: ["--nonesuch", "Hi"] },
  { name: "usage-flag-near", args: ["--modle", "sonnet", "Hi"] },
  { name: "usage-no-prompt", args: [], stdin: "" },
  { name: "usage-empty-prompt", args: ["  "], stdin: "" },
  { name: "usage-format", args: ["--output-format", "xml", "Hi"] },
  { name: "usage-stream-terse", args: ["--output-format", "stream-json", "Hi"] },
  { name: "usage-input-text", args: ["--input-format", "stream-json", "Hi"], stdin: "" },
  { name: "usage-mode", args: ["--permission-mode", "nonesuch", "Hi"], code: 2 },
  { name: "usage-session", args: ["--session-id", "nonesuch", "Hi"] },
  { name: "usage-resume", args: [...STREAM, "--resume", SESSION, "Hi"], code: 1 },
  { name: "usage-settings", args: ["--settings", "{", "Hi [[say yes]]"] },
  {
    name: "usage-mcp",
    args: ["--mcp-config=nofile.json", "Hi [[say yes]]"],
    code: 1,
    told: ["Invalid MCP configuration:\nMCP config file not found: "],
  },
  {
    name: "usage-agent",
    args: ["--agent", "nobody", "Hi"],
    code: 1,
    told: ["--agent 'nobody' not found. Available agents: "],
  },
  { name: "usage-agents", args: ["--agents", "[]", "Hi [[say yes]]"] },
  { name: "usage-agents-file", args: ["--agents", "nofile.json", "Hi"] },
  {
    name: "usage-config-root",
    args: ["--project-config-root", "trusted", "Hi"],
  },
  { name: "usage-turns", args: ["--max-turns", "few", "Hi [[bash echo one]] [[say yes]]"] },
  { name: "usage-budget", args: ["--max-budget-usd", "-1", "Hi"] },
  { name: "usage-task-budget", args: ["--task-budget", "many", "Hi"] },
  { name: "usage-thinking", args: ["--max-thinking-tokens", "many", "Hi"] },
  { name: "usage-input-format", args: ["--input-format", "xml", "Hi"] },
  { name: "usage-no-value", args: ["--output-format"] },
  { name: "usage-schema", args: ["--json-schema", "{", "Hi"] },
  { name: "usage-schema-type", args: ["--json-schema", '{"type":"nonesuch"}', "Hi [[say yes]]"] },
  { name: "usage-schema-list", args: ["--json-schema", "[]", "Hi"] },
  { name: "usage-resume-file", args: ["--resume", "nofile.jsonl", "Hi"] },
  { name: "usage-fork", args: ["--fork-session", "--resume", SESSION, "Hi"] },
  { name: "usage-resume-name", args: ["--resume", "nobody", "Hi"] },
  { name: "usage-resume-at", args: ["--resume-session-at", SESSION, "Hi"] },
  { name: "usage-resume-twice", args: ["--session-id", SESSION, "--resume", SESSION, "Hi"] },
  { name: "usage-replay", args: ["--replay-user-messages", "Hi"] },
  { name: "usage-partial", args: ["--include-partial-messages", "Hi"] },
  { name: "usage-settings-file", args: ["--settings", "nofile.json", "Hi"] },
  { name: "usage-sources", args: ["--setting-sources", "nonesuch", "Hi"] },
];
