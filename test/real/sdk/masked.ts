/** What no two runs share, or no count of tokens that hangs on the length of what Claude Code says of itself. */
const OF_ONE_RUN: readonly string[] = [
  ...["timestamp", "duration_ms", "duration_api_ms", "usage", "total_cost_usd", "signature"],
  ...["thinking_duration_ms", "end_time", "totalDurationMs", "output_file"],
  ...["modelUsage", "model_usage", "model_usage_since_last_result"],
  ...["first_request_input_tokens", "first_request_cache_read_input_tokens"],
];

/** What only the request loop of `claude -p` knows: when a request went out and its first token came, and of runs of tasks. */
const OF_PRINT_MODE: readonly string[] = [
  ...["ttft_ms", "ttft_stream_ms", "time_to_request_ms", "first_content_frame_ms"],
  ...["request_sent_wall_ms", "run_id", "runId", "tool_use_meta"],
];

/** What `claude-print` adds to a result. */
const OF_CLAUDE_PRINT: readonly string[] = ["claude_limits", "claude_version"];

/** What `system/init` says of `claude -p` itself. */
const OF_PROGRAM: readonly string[] = [
  ...["capabilities", "plugins", "messaging_socket_path", "terminal_slash_commands"],
  ...["per_turn_effort_active", "ultrathink_available", "ultrathink_typed_raises"],
];

const LEFT_OUT: ReadonlySet<string> = new Set([
  ...OF_ONE_RUN,
  ...OF_PRINT_MODE,
  ...OF_CLAUDE_PRINT,
  ...OF_PROGRAM,
]);

/** Lists of `system/init` in which the interactive Claude Code has some more and some fewer: those of tests are compared. */
const LISTS: readonly string[] = ["agents", "skills", "slash_commands"];

/** Where tools and servers of MCP are listed: which of them are there in time, the machine decides. */
const OF_SERVERS: readonly string[] = ["tools", "mcp_servers"];

/** Messages that only the request loop of `claude -p` makes: limits, and estimates of thinking. */
const MESSAGES: ReadonlySet<unknown> = new Set([
  ...["rate_limit_event", "thinking_tokens", "RateLimitEvent"],
]);

/** What only `claude -p` tells the model of a call that was stopped. */
const CORRECTION = / Correction to the text above: .*? still stands\./gu;

/** Where Claude Code puts what tasks print, and how long they took. */
const OF_TASKS = /~[\w/.-]*?\/claude-0\/[\w/.~-]*|duration_ms: \d+/gu;

const IDS =
  /\b[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}\b|\b(?:toolu|msg|req)_\w+|\ba[\da-f]{16}\b/gu;

/** What the user of an SDK has seen, without what no two runs share and what `claude-print` cannot know. */
export function masked(seen: readonly unknown[], home: string): readonly unknown[] {
  const text = JSON.stringify(seen, (name, value) => {
    if (LEFT_OUT.has(name)) return undefined;
    if (!Array.isArray(value)) return value;
    if (LISTS.includes(name)) return value.filter(isOfTest);
    return value.filter((each) =>
      OF_SERVERS.includes(name) ? !isOfServer(each) : !isOfPrintMode(each)
    );
  });
  return JSON.parse(
    text.replaceAll(CORRECTION, "").replaceAll(home, "~").replaceAll(slugOf(home), "~")
      .replace(IDS, "id").replace(OF_TASKS, ""),
  );
}

function isOfPrintMode(message: unknown): boolean {
  if (typeof message !== "object" || message === null) return false;
  const { type, subtype, class: name } = message as Readonly<Record<string, unknown>>;
  return [type, subtype, name].some((each) => MESSAGES.has(each));
}

function isOfServer(listed: unknown): boolean {
  return typeof listed !== "string" || listed.startsWith("mcp__");
}

function isOfTest(name: unknown): boolean {
  return typeof name === "string" && name.startsWith("my-");
}

/** A folder's name in Claude Code's folder of projects. */
function slugOf(path: string): string {
  return path.replaceAll(/[^a-zA-Z\d]/gu, "-");
}
