import { digestsOfRequests } from "./bodies.ts";
import { hash } from "./hash.ts";
import type { RowRun } from "./run_row.ts";

/** A frame, or any other JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** What of a run is compared. */
export interface Masked {
  readonly failed: boolean;
  /** Whether it says something on stderr though it does not fail. */
  readonly warns: boolean;
  /** How many requests of the conversation it made. */
  readonly requests: number;
  /** What it left in the project. */
  readonly files: readonly string[];
  /** What it printed: text, or frames. */
  readonly stdout: string | readonly JsonObject[];
  /** What frames stand in, where they are no lines. */
  readonly within?: "array" | "object";
  /** What it asked the API, request by request, in parts of which many rows have the same. */
  readonly asked?: readonly (readonly JsonObject[])[];
}

/** Frames that are left out, by type, subtype and status, and why. */
const FRAMES: Readonly<Record<string, string>> = {
  "system/thinking_tokens": "estimates of the stream of thinking, which takes --exact-stream",
  "system/api_retry 401": "a login that is refreshed is tried again, which no log tells",
  "rate_limit_event": "headers of answers, which only the request loop sees",
};

/** Fields that are left out, by frame and path, where `*` is any of them, and why. */
const FIELDS: Readonly<Record<string, string>> = {
  "result.ttft_ms": "when the first token came, which takes --exact-stream",
  "result.ttft_stream_ms": "the same",
  "result.time_to_request_ms": "when the request went out, which takes it too",
  "result.first_content_frame_ms": "the same",
  "result.request_sent_wall_ms": "the same",
  "result.claude_version": "claude-print's own: which Claude Code it was",
  "result.claude_limits": "claude-print's own: what is left of limits",
  "system/init.messaging_socket_path": "the child's own is gone with the run's folder",
  "system/init.agents":
    "the child tells none where the model has no tool for them, and on a busy machine not all in time",
  "system/init.tools":
    "no line has those of a request to which something is added, and none before 2.1.330",
  "system/init.plugins": "those that come along, which the child does not tell",
  "system/init.skills": "the child tells those that the model may start",
  "system/init.slash_commands": "the same",
  "system/init.per_turn_effort_active":
    "hangs on the model and on what the API has refused; before 2.1.293 it is unknown",
  "assistant.message.usage.output_tokens":
    "a frame of claude -p has the count at the answer's start, a transcript the one at its end",
  "system/task_notification.output_file": "a file that is gone after the run",
  "*.run_id": "an id that claude -p gives to a task, and nothing else uses",
  "system/background_tasks_changed.tasks.*.run_id": "the same",
  "result.origin.runId": "the same",
  "*.message.content.*.signature": "made by the scripted API for each answer",
};

/** The same in single rows. */
const FIELDS_OF_ROWS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "betas": {
    "system/init.capabilities": "without slash commands there is one fewer",
    "system/init.terminal_slash_commands": "without slash commands there are none",
    "result.modelUsage.*.contextWindow":
      "the child is given the header, and does not know what it is good for",
    "result.model_usage_since_last_result.*.contextWindow": "the same",
  },
  "subagent-woken": {
    "result.modelUsage.*": "the child tells its models' use at its end",
    "result.model_usage_since_last_result": "the same",
  },
  "goal": {
    "result.modelUsage.*.cacheCreationInputTokens":
      "who says whether a goal is reached is told the path of the run's transcript",
    "result.modelUsage.*.cacheCreationEphemeral5mInputTokens": "the same",
    "result.modelUsage.*.costUSD": "the same",
    "result.model_usage_since_last_result.*.cacheCreationInputTokens": "the same",
    "result.model_usage_since_last_result.*.cacheCreationEphemeral5mInputTokens": "the same",
    "result.model_usage_since_last_result.*.costUSD": "the same",
    "result.total_cost_usd": "the same",
  },
  "input-priorities": {
    "result.model_usage_since_last_result.*.costUSD":
      "a difference of costs, which claude -p writes with the noise of the subtraction",
  },
  "shell-background": {
    "result.model_usage_since_last_result": "the child tells its models' use at its end",
  },
};

/** Fields of one run: times, and ids that nothing else has. Only their kind is compared. */
const OF_ONE_RUN: readonly string[] = [
  ...["uuid", "timestamp", "duration_ms", "duration_api_ms", "totalDurationMs", "durationMs"],
  ...["durationSeconds", "end_time", "thinking_duration_ms", "retry_delay_ms", "resetsAt"],
];

/** Ids that tell what belongs together: the first of its kind becomes 1, and so on. */
const IDS: Readonly<Record<string, RegExp>> = {
  request: /req_01[\da-f]{22}/gu,
  tool: /toolu_01[\da-f]{22}/gu,
  answer: /msg_(?:01)?[\da-f]{22,32}/gu,
  task: /(?<="(?:task_id|agent_id|agentId|backgroundTaskId)":")[^"]+/gu,
  session: /(?<="session_id":")[^"]+/gu,
};

/** Words that are others in each run, wherever they are. */
const WORDS: readonly (readonly [RegExp, string])[] = [
  [/HOME\/t(?:mp\/claude-print-\d+\/[^/]+\/tmp)?\/claude-\d+/gu, "TEMP"],
  [/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/gu, "UUID"],
  [/127\.0\.0\.1:\d+/gu, "HOST"],
  [/\d{4}-\d\d-\d\dT[\d:.]+Z/gu, "TIME"],
  [/resets \d[^"\\]*?(?=["\\])/gu, "resets THEN"],
  // How much of a request is no prompt and no answer, of which the interactive Claude Code has more.
  [/only ~\d+ tokens/gu, "only ~N tokens"],
  [/duration_ms: \d+/gu, "duration_ms: N"],
];

/** Results that `claude-print` alone has, where it or its caller failed: `claude -p` prints nothing then. */
const OWN_FAILURES: readonly unknown[] = ["internal_error", "bad_input"];

/** Files of the run's own, and how long a subagent took: what the model is told of them has another length. */
const REWORDING = /TEMP\/|subagent_tokens:/u;

/** Where the model is told of such things. */
const REWORDED = /tool_use_result$|\.content\.\d+\.content$/u;

/** What these cost, and words with the path of the home, which is not always as long. */
const RESIZED = /tokens$|cost_?usd$/iu;

/** Strings that are longer are compared by length and hash, so that the recording stays small. */
const LONG = 400;

/** Makes of a run what it shares with all others of its command line. */
export function masked(run: RowRun, { row }: { readonly row: string }): Masked {
  return { ...maskedOutput(run, { row }), asked: digestsOfRequests(run, { row }) };
}

function maskedOutput(
  { code, stdout, stderr, requests, files, home }: RowRun,
  { row }: { readonly row: string },
): Omit<Masked, "asked"> {
  const told = {
    failed: code !== 0,
    warns: code === 0 && ofUser(stderr),
    requests: requests.length,
    files,
  };
  const text = withoutIds(
    stdout.replaceAll(home, "HOME").replaceAll(home.replaceAll(/[^a-z\d]/giu, "-"), "SLUG"),
  );
  const printed = parsed(text);
  if (printed === undefined) return { ...told, stdout: text };
  const { frames, ...where } = printed;
  if (frames.some(({ subtype }) => OWN_FAILURES.includes(subtype))) return { ...told, stdout: "" };
  const isReworded = REWORDING.test(text.replaceAll(/"output_file":"[^"]*"/gu, ""));
  const options = {
    fields: Object.keys({
      ...FIELDS,
      ...FIELDS_OF_ROWS[row],
    }).map((field) => field.split(".")),
    isReworded,
    isResized: isReworded ||
      frames.some((frame) =>
        frame["subtype"] !== "init" && JSON.stringify(frame).includes("HOME/")
      ),
  };
  return {
    ...told,
    ...where,
    stdout: ordered(frames.flatMap((frame) => maskedFrame(frame, options))),
  };
}

/** Whether somebody reads it: 2.1.330 tells programs around it of models that it does not know. */
function ofUser(stderr: string): boolean {
  return stderr.replaceAll(/^\[claude-code:unrecognized_model\].*\n/gmu, "") !== "";
}

function withoutIds(text: string): string {
  let result = text;
  for (const [kind, pattern] of Object.entries(IDS)) {
    const ids = [...new Set(text.match(pattern))];
    for (const [index, id] of ids.entries()) {
      result = result.replaceAll(id, `${kind.toUpperCase()}-${index + 1}`);
    }
  }
  return WORDS.reduce((text, [pattern, word]) => text.replaceAll(pattern, word), result);
}

function parsed(
  text: string,
): { readonly frames: readonly JsonObject[]; readonly within?: "array" | "object" } | undefined {
  if (!/^[[{]/u.test(text)) return undefined;
  const values = text.trimEnd().split("\n").map((line): unknown => JSON.parse(line));
  const [first] = values;
  if (Array.isArray(first)) return { frames: first, within: "array" };
  const frames = values as readonly JsonObject[];
  return frames.length === 1 && frames[0]?.["type"] === "result"
    ? { frames, within: "object" }
    : { frames };
}

function maskedFrame(
  frame: JsonObject,
  { fields, isReworded, isResized }: {
    readonly fields: readonly (readonly string[])[];
    readonly isReworded: boolean;
    readonly isResized: boolean;
  },
): readonly JsonObject[] {
  const { type, subtype } = frame;
  const kind = type === "system" ? `${type}/${subtype}` : `${type}`;
  if (kind in FRAMES || `${kind} ${frame["error_status"]}` in FRAMES) return [];
  const isLeft = (path: readonly string[]): boolean =>
    fields.some((wanted) =>
      wanted.length === path.length &&
      wanted.every((part, index) => part === "*" || part === path[index])
    );
  const maskedValue = (value: unknown, path: readonly string[]): unknown => {
    if (OF_ONE_RUN.includes(path.at(-1) ?? "")) return typeof value;
    if (isReworded && REWORDED.test(path.join("."))) return typeof value;
    if (isResized && RESIZED.test(path.at(-1) ?? "")) return typeof value;
    if (typeof value === "string" && value.length > LONG) return `${value.length} ${hash(value)}`;
    if (Array.isArray(value)) {
      const values = value.map((each, index) => maskedValue(each, [...path, `${index}`]));
      return path.at(-1) === "tools" ? values.toSorted() : values;
    }
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).filter(([key]) => !isLeft([...path, key]))
        .sort(([one], [other]) => one < other ? -1 : 1)
        .map(([key, each]) => [key, maskedValue(each, [...path, key])]),
    );
  };
  return [maskedValue(frame, [kind]) as JsonObject];
}

/** Joins what is streamed of a block, which may come in other pieces, and puts results of calls into their order. */
function ordered(frames: readonly JsonObject[]): readonly JsonObject[] {
  const result: JsonObject[] = [];
  for (const frame of frames) {
    const before = result.at(-1);
    const joined = before === undefined ? undefined : joinedDelta(before, frame);
    if (joined !== undefined) result.splice(-1, 1, joined);
    // Calls at the same time return in any order.
    else if (before !== undefined && isCalledBefore(frame, before)) result.splice(-1, 0, frame);
    else result.push(frame);
  }
  return result;
}

function joinedDelta(before: JsonObject, frame: JsonObject): JsonObject | undefined {
  const [one, other] = [deltaOf(before), deltaOf(frame)];
  if (one === undefined || other === undefined) return undefined;
  const event = before["event"] as JsonObject;
  const delta = Object.fromEntries(
    Object.entries(one).map(([key, text]) => [key, key === "type" ? text : `${text}${other[key]}`]),
  );
  return { ...before, event: { ...event, delta } };
}

function deltaOf({ event }: JsonObject): JsonObject | undefined {
  const { type, delta } = (event ?? {}) as JsonObject;
  return type === "content_block_delta" ? delta as JsonObject : undefined;
}

function isCalledBefore(frame: JsonObject, before: JsonObject): boolean {
  const [one, other] = [calledIn(frame), calledIn(before)];
  return one !== undefined && other !== undefined && one < other;
}

/** The call whose result a frame holds. */
function calledIn({ type, message }: JsonObject): string | undefined {
  const { content } = (message ?? {}) as JsonObject;
  const [block] = Array.isArray(content) ? content : [];
  return type === "user" && typeof block?.tool_use_id === "string" ? block.tool_use_id : undefined;
}
