import type { JsonObject } from "../../json_object.ts";
import type { Reply } from "./reply_script.ts";
import type { LoggedRequest } from "./messages_api.ts";
import type { Caller, RunOptions } from "./run_print.ts";
import type { SceneOptions } from "./subject.ts";

/** One run of `claude -p` that makes it print certain kinds of frames. */
export interface Scenario extends SceneOptions, RunOptions {
  readonly name: string;
}

const RETRIES = (count: number) => ({ CLAUDE_CODE_MAX_RETRIES: `${count}` });
const UUIDS = [1, 2, 3].map((digit) => `0000000${digit}-0000-4000-8000-000000000000`);
const INPUT = ["--input-format", "stream-json"];

/** A picture of one pixel. */
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

function call(name: string, input: JsonObject): string {
  return `[[tool ${name} ${JSON.stringify(input)}]]`;
}

function agent(prompt: string, more: JsonObject = {}): string {
  return call("Agent", {
    description: "look around",
    prompt,
    subagent_type: "general-purpose",
    ...more,
  });
}

const QUESTION = call("AskUserQuestion", {
  questions: [{
    question: "Which?",
    header: "Which",
    multiSelect: false,
    options: [{ label: "a", description: "A" }, { label: "b", description: "B" }],
  }],
});

function hook(...commands: readonly string[]): readonly unknown[] {
  return [{ hooks: commands.map((command) => ({ type: "command", command })) }];
}

function message(content: unknown, more: JsonObject = {}): JsonObject {
  return { type: "user", message: { role: "user", content }, ...more };
}

function lines(...messages: readonly JsonObject[]): string {
  return messages.map((each) => `${JSON.stringify(each)}\n`).join("");
}

function request(subtype: string, body: JsonObject = {}): JsonObject {
  return { type: "control_request", request_id: subtype, request: { subtype, ...body } };
}

/** The caller's answer to a question of Claude Code. */
function answer({ request_id }: JsonObject, response: JsonObject): JsonObject {
  return { type: "control_response", response: { subtype: "success", request_id, response } };
}

function field(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((at, key) => (at as JsonObject | undefined)?.[key], value);
}

/** An API that is overloaded for one model. */
function overloaded(model: string): (request: LoggedRequest) => Reply | undefined {
  return ({ body }) =>
    `${field(body, "model")}`.startsWith(model)
      ? [{ kind: "error", status: 529, flavour: "plain" }]
      : undefined;
}

/** Headers of the API about a limit that is nearly reached. */
const NEAR_LIMIT = {
  "anthropic-ratelimit-unified-status": "allowed_warning",
  "anthropic-ratelimit-unified-reset": "4102444800",
  "anthropic-ratelimit-unified-representative-claim": "five_hour",
  "anthropic-ratelimit-unified-5h-utilization": "0.93",
  "anthropic-ratelimit-unified-5h-reset": "4102444800",
  "anthropic-ratelimit-unified-5h-surpassed-threshold": "0.9",
  "anthropic-ratelimit-unified-overage-status": "rejected",
  "anthropic-ratelimit-unified-overage-disabled-reason": "org_level_disabled",
};

/**
 * Similar runs with different accounts, models, folders and settings. Values that are equal in all of them are
 * constants of the version.
 */
const CONSTANTS: readonly Scenario[] = [
  {
    name: "constant-subscription",
    args: ["--allowedTools", "Bash", "--", "[[bash echo one]] [[say one]]"],
  },
  {
    name: "constant-key",
    login: "api-key",
    trusted: false,
    files: {
      ".git/HEAD": "ref: refs/heads/main\n",
      ".claude/commands/greet.md": "Greet\n",
      ".claude/skills/shown/SKILL.md": "---\nname: shown\ndescription: Shows\n---\nSay it\n",
      ".claude/agents/helper.md": "---\nname: helper\ndescription: Helps\n---\nYou help\n",
    },
    args: [
      ...["--model", "sonnet", "--permission-mode", "plan", "--max-turns", "9", "--tools", "Read"],
      ...["--setting-sources", "user,project", "[[say two]]"],
    ],
  },
  {
    name: "constant-settings",
    configFiles: { "CLAUDE.md": "Be kind.\n" },
    files: { "plugin/.claude-plugin/plugin.json": '{"name":"mine","version":"1.0.0"}' },
    args: [
      ...["--plugin-dir", "plugin", "--mcp-config"],
      JSON.stringify({ mcpServers: { gone: { command: "/nonesuch" } } }),
      ...["--model", "haiku", "--permission-mode", "acceptEdits", "--add-dir", "/tmp"],
      ...["--settings", JSON.stringify({ outputStyle: "Explanatory", fastMode: true })],
      ...["--allowedTools", "Bash", "--no-session-persistence", "--"],
      "[[think so]] [[say I look]] [[bash make x]] [[also bash echo one]] [[next]] [[stop max_tokens]] [[next]] [[say three]]",
    ],
  },
];

const TOOLS: readonly Scenario[] = [
  {
    name: "tools",
    files: { "a.txt": "one\ntwo\n", "src/main.ts": "1;\n" },
    args: [
      "--include-partial-messages",
      ...["--allowedTools", "Bash,Read,Write,Edit,TodoWrite,WebFetch,TaskCreate", "--"],
      `Work. [[think first]] [[say I look]] [[bash printf 'a\\nb\\n']] [[bash echo no >&2; exit 3]] ${
        call("Read", { file_path: "a.txt" })
      } ${call("Edit", { file_path: "a.txt", old_string: "two", new_string: "three" })} ${
        call("Write", { file_path: "b.txt", content: "new\n" })
      } ${call("Read", { file_path: "nofile" })} ${call("Nonesuch", { x: 1 })} ${
        call("TodoWrite", { todos: [{ content: "a", status: "pending", activeForm: "A" }] })
      } [[say done]]`,
    ],
  },
  {
    name: "denied",
    args: [
      ...["--disallowedTools", "WebFetch", "--"],
      `Work. [[bash make forbidden]] ${
        call("Write", { file_path: "/b.txt", content: "new" })
      } ${QUESTION} [[say no]]`,
    ],
  },
  {
    name: "hooks",
    files: {
      ".claude/settings.json": JSON.stringify({
        hooks: {
          SessionStart: hook("echo begun"),
          UserPromptSubmit: hook("echo asked"),
          PreToolUse: hook(`echo '{"systemMessage":"look"}'`),
          PostToolUse: hook("echo checked >&2; exit 2"),
          Stop: hook("echo odd >&2; exit 3"),
          SessionEnd: hook("echo over"),
        },
      }),
    },
    args: [
      "--include-hook-events",
      "--allowedTools",
      "Bash",
      "--",
      "[[bash echo one]] [[say done]]",
    ],
  },
  {
    name: "hook-blocks",
    files: {
      ".claude/settings.json": JSON.stringify({
        hooks: { UserPromptSubmit: hook("echo no >&2; exit 2") },
      }),
    },
    args: ["[[say never]]"],
  },
  {
    name: "hook-defers",
    files: {
      ".claude/settings.json": JSON.stringify({
        hooks: {
          PreToolUse: hook(
            `echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"defer"}}'`,
          ),
        },
      }),
    },
    args: ["[[bash echo one]] [[say never]]"],
  },
  {
    name: "subagents",
    files: {
      ".claude/skills/busy/SKILL.md":
        "---\nname: busy\ndescription: Works\ncontext: fork\nbackground: false\n---\n[[bash echo inner]] [[say found]]\n",
      ".claude/skills/shown/SKILL.md": "---\nname: shown\ndescription: Shows\n---\nSay it\n",
    },
    args: [
      ...["--include-partial-messages", "--allowedTools", "Bash,Agent,Task,Skill", "--"],
      `Go. ${
        agent("Inner [[think hm]] [[say look]] [[bash echo inner]] [[say found]]", {
          run_in_background: false,
        })
      } ${agent("Inner [[error 400]]", { run_in_background: false })} ${
        call("Skill", { skill: "shown", args: "it" })
      } ${call("Skill", { skill: "busy" })} [[say end]]`,
    ],
  },
  {
    name: "background",
    args: [
      ...["--allowedTools", "Bash,Agent,Task,TaskStop", "--"],
      `Go. ${
        call("Bash", {
          command: "sleep 1; echo over",
          description: "Wait",
          run_in_background: true,
        })
      } [[say started]] [[next]] [[say end]] [[next]] [[say end]]`,
    ],
  },
  {
    name: "background-agent",
    args: [
      ...["--allowedTools", "Bash,Agent,Task", "--"],
      `Go. ${
        agent("Inner [[bash echo inner]] [[say found]]", { run_in_background: true })
      } [[say started]] [[next]] [[say end]] [[next]] [[say end]]`,
    ],
  },
  {
    name: "long-shell",
    args: ["--allowedTools", "Bash", "--", "[[bash echo one; sleep 5; echo two]] [[say done]]"],
  },
];

const ENDS: readonly Scenario[] = [
  {
    name: "max-turns",
    args: ["--max-turns", "1", "--allowedTools", "Bash", "--", "[[bash echo one]] [[say no]]"],
  },
  {
    name: "budget",
    args: [
      "--max-budget-usd",
      "0.000001",
      "--allowedTools",
      "Bash",
      "--",
      "[[bash echo one]] [[say no]]",
    ],
  },
  {
    name: "structured",
    args: [
      ...[
        "--json-schema",
        '{"type":"object","properties":{"a":{"type":"number"}},"required":["a"]}',
      ],
      `Work. ${call("StructuredOutput", { a: "no" })} ${
        call("StructuredOutput", { a: 1 })
      } [[say done]]`,
    ],
  },
  {
    name: "structured-never",
    env: { MAX_STRUCTURED_OUTPUT_RETRIES: "1" },
    args: [
      ...[
        "--json-schema",
        '{"type":"object","properties":{"a":{"type":"number"}},"required":["a"]}',
      ],
      `Work. ${call("StructuredOutput", { a: "no" })} ${call("StructuredOutput", { a: "no" })} ${
        call("StructuredOutput", { a: "no" })
      }`,
    ],
  },
  { name: "refusal", args: ["[[say no]] [[stop refusal]]"] },
  { name: "too-long", env: RETRIES(0), args: ["[[error 400 too-long]]"] },
  { name: "error-404", env: RETRIES(0), args: ["--model", "claude-nonesuch", "[[error 404]]"] },
  { name: "error-429", env: RETRIES(0), args: ["[[error 429 unified]]"] },
  { name: "error-401", env: RETRIES(0), args: ["[[error 401]]"] },
  { name: "error-529", env: RETRIES(1), args: ["[[error 529]]"] },
  {
    name: "error-unreachable",
    env: { ...RETRIES(0), ANTHROPIC_BASE_URL: "http://127.0.0.1:1" },
    args: ["Hi"],
  },
  { name: "error-credit", login: "api-key", env: RETRIES(0), args: ["[[error 400 credit]]"] },
  { name: "no-login", login: "none", args: ["Hi"] },
  { name: "near-limit", api: { headers: NEAR_LIMIT }, args: ["[[say one]]"] },
  {
    name: "fallback",
    api: { reply: overloaded("claude-opus") },
    args: ["--model", "opus", "--fallback-model", "sonnet", "[[say one]]"],
  },
  { name: "slash-unknown", args: ["/nonesuch"] },
  { name: "slash-local", args: ["/context"] },
  {
    name: "servers",
    files: {
      "plugin/.claude-plugin/plugin.json": '{"name":"mine","version":"1.0.0"}',
      "plugin/commands/greet.md": "Greet\n",
      "odd/.claude-plugin/plugin.json": '{"name":7}',
    },
    args: [
      ...["--plugin-dir", "plugin", "--plugin-dir", "odd", "--mcp-config"],
      JSON.stringify({ mcpServers: { gone: { command: "/nonesuch" }, odd: { type: 7 } } }),
      ...["--", "[[say one]]"],
    ],
  },
];

const CALLERS: readonly Scenario[] = [
  {
    name: "conversation",
    env: { CLAUDE_CODE_SDK_READS_SESSION_STATE: "1" },
    args: [...INPUT, "--replay-user-messages", "--include-partial-messages"],
    stdin: lines(
      message("One [[say one]]", { uuid: UUIDS[0] }),
      message("Two [[error 529 x1]] [[say two]]", { uuid: UUIDS[1] }),
      message([{ type: "text", text: "Look [[say three]]" }, {
        type: "image",
        source: { type: "base64", media_type: "image/png", data: PNG },
      }], { uuid: UUIDS[2] }),
      message("/login"),
      message("/compact"),
      message("/clear"),
      message("Four [[say four]]"),
    ),
  },
  {
    name: "session-mirror",
    args: [...INPUT, "--session-mirror"],
    stdin: lines(message("One [[say one]]")),
  },
  {
    name: "caller",
    env: { CLAUDE_CODE_SDK_READS_SESSION_STATE: "1" },
    args: [...INPUT, "--permission-prompt-tool", "stdio"],
    talk: {
      start: ({ send }) => {
        send(request("initialize", {
          hooks: { PreToolUse: [{ hookCallbackIds: ["hook_0"] }] },
          sdkMcpServers: ["mine"],
        }));
        send(request("mcp_status"));
        send(message(
          `[[bash touch x]] ${call("mcp__mine__count", { x: 1 })} ${QUESTION} [[say done]]`,
        ));
      },
      answer: answerAsCaller,
    },
  },
  {
    name: "interrupt",
    args: [...INPUT, "--include-partial-messages"],
    talk: {
      start: ({ send }) => {
        send(request("initialize"));
        send(message("[[say begun]] [[hang]]", { uuid: UUIDS[0] }));
      },
      answer: (frame, { send, close }) => {
        if (field(frame, "event", "type") === "content_block_delta") send(request("interrupt"));
        if (frame["type"] === "result") close();
      },
    },
  },
  {
    name: "requests",
    args: [...INPUT],
    talk: {
      start: ({ send }) => {
        send(request("initialize"));
        for (const [subtype, body] of REQUESTS) send(request(subtype, body));
        send(request("nonesuch"));
      },
      answer: (frame, { close }) => {
        if (field(frame, "response", "request_id") === "nonesuch") close();
      },
    },
  },
];

/** Control requests that work without a setup and whose replies have keys of their own. */
const REQUESTS: readonly (readonly [subtype: string, body: JsonObject])[] = [
  ["set_permission_mode", { mode: "plan" }],
  ["set_model", { model: "haiku" }],
  ["set_max_thinking_tokens", { max_thinking_tokens: 1000 }],
  ["mcp_status", {}],
  ["get_context_usage", {}],
  ["rename_session", { title: "name" }],
  ["read_file", { path: "nofile" }],
];

function answerAsCaller(frame: JsonObject, { send, close }: Caller): void {
  if (frame["type"] === "result") close();
  if (frame["type"] !== "control_request") return;
  const asked = frame["request"] as JsonObject;
  switch (asked["subtype"]) {
    case "can_use_tool":
      return send(answer(frame, { behavior: "allow", updatedInput: asked["input"] }));
    case "mcp_message":
      return send(answer(frame, { mcp_response: answerAsServer(asked["message"] as JsonObject) }));
    default:
      return send(answer(frame, {}));
  }
}

/** The replies of an MCP server with one tool. */
function answerAsServer({ id, method }: JsonObject): JsonObject {
  const results: Readonly<Record<string, JsonObject>> = {
    "initialize": {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "mine", version: "1.0.0" },
    },
    "tools/list": {
      tools: [{ name: "count", description: "Counts", inputSchema: { type: "object" } }],
    },
    "tools/call": { content: [{ type: "text", text: "1" }] },
  };
  return { jsonrpc: "2.0", id: id ?? 0, result: results[`${method}`] ?? {} };
}

/** The scenarios that are compared for constants. */
export const COMPARED: readonly string[] = [
  ...CONSTANTS.map(({ name }) => name),
  ...["tools", "denied", "conversation", "refusal", "structured", "near-limit", "too-long"],
];

/** All scenarios, the longest first. */
export const SCENARIOS: readonly Scenario[] = [...TOOLS, ...CALLERS, ...CONSTANTS, ...ENDS];
