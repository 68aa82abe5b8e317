import { OWN_FIELDS } from "../../../src/claude/wire/result_frame.ts";
import { resolve } from "node:path";
import { pythonSdk, typescriptSdk } from "../../../fixtures/programs/agent_sdk.ts";
import type { UsablePython } from "../../../fixtures/programs/python_packages.ts";

const HERE = import.meta.dirname ?? ".";

/** The Agent SDKs. */
export type Sdk = "python" | "typescript";

/** The scenarios that a user of each SDK plays. */
export const SCENARIOS: Readonly<Record<Sdk, readonly string[]>> = {
  python: [
    "permissions and tools of its own",
    "hooks",
    "control",
    "options",
    "structured output",
    "partial messages",
    "sessions",
    "errors",
    "an abort",
    "two queries at once",
  ],
  typescript: [
    "permissions",
    "every hook, and some that decide",
    "control, and tools of its own",
    "prompts as they are",
    "options",
    "structured output",
    "partial messages",
    "sessions",
    "an abort",
    "errors",
    "two plain queries at once",
  ],
};

/** The folder in `fixtures/recordings/sdk` with the tapes of a scenario, one for each run. */
export function tapeFolder(sdk: Sdk, scenario: string): string {
  return `${sdk}/${scenario.replaceAll(/[ ,]+/gu, "-")}`;
}

/** A program that uses an Agent SDK. */
export interface SdkUser {
  /** The command that starts it, without its argument. */
  readonly command: readonly string[];
  /** Further fields of its argument. */
  readonly argument?: Readonly<Record<string, unknown>>;
}

/** The user of the Agent SDK for TypeScript, which is downloaded on first use. */
export async function typescriptUser(): Promise<SdkUser> {
  return {
    command: [
      ...[Deno.execPath(), "run", "-A", "--quiet", "--frozen", "--no-check"],
      ...["--config", resolve(HERE, "../../../deno.json"), resolve(HERE, "typescript.ts")],
    ],
    argument: { sdk: await typescriptSdk() },
  };
}

/** The user of the Agent SDK for Python, which is downloaded on first use. */
export async function pythonUser(python: UsablePython): Promise<SdkUser> {
  return { command: [await pythonSdk(python), "-B", resolve(HERE, "python.py")] };
}

/** Differs from run to run, or counts tokens of what Claude Code says of itself. */
const OF_ONE_RUN: readonly string[] = [
  ...["timestamp", "duration_ms", "duration_api_ms", "usage", "total_cost_usd", "signature"],
  ...["thinking_duration_ms", "end_time", "totalDurationMs", "output_file"],
  ...["modelUsage", "model_usage", "model_usage_since_last_result"],
  ...["first_request_input_tokens", "first_request_cache_read_input_tokens"],
];

/** Only the request loop of `claude -p` knows these: times of requests and tokens, and ids of tasks' runs. */
const OF_PRINT_MODE: readonly string[] = [
  ...["ttft_ms", "ttft_stream_ms", "time_to_request_ms", "first_content_frame_ms"],
  ...["request_sent_wall_ms", "run_id", "runId", "tool_use_meta"],
];

/** `mask.ts` of the rows says why these fields of `system/init` differ. */
const OF_PROGRAM: readonly string[] = [
  ...["plugins", "messaging_socket_path", "per_turn_effort_active"],
];

const LEFT_OUT: ReadonlySet<string> = new Set([
  ...OF_ONE_RUN,
  ...OF_PRINT_MODE,
  ...OWN_FIELDS,
  ...OF_PROGRAM,
]);

/** Lists of `system/init` that differ in the interactive Claude Code; the entries of tests are compared. */
const LISTS: readonly string[] = ["agents", "skills", "slash_commands"];

/** Lists of tools and servers of MCP: on a slow machine not all servers are connected in time. */
const OF_SERVERS: readonly string[] = ["tools", "mcp_servers"];

/** Messages that only the request loop of `claude -p` prints: limits, and estimates of thinking. */
const MESSAGES: ReadonlySet<unknown> = new Set([
  ...["rate_limit_event", "thinking_tokens", "RateLimitEvent"],
]);

/** Only `claude -p` adds this to the result of a call that was stopped. */
const CORRECTION = / Correction to the text above: .*? still stands\./gu;

/** Where Claude Code puts the output of tasks, and how long they took. */
const OF_TASKS = /~[\w/.-]*?\/claude-0\/[\w/.~-]*|duration_ms: \d+/gu;

const IDS =
  /\b[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}\b|\b(?:toolu|msg|req)_\w+|\ba[\da-f]{16}\b/gu;

/** Returns what the user of an SDK sees alike in every run, with `claude -p` and with `claude-print`. */
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
