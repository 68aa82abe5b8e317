import { OWN_FIELDS } from "../../src/claude/wire/result_frame.ts";
import { createHash } from "node:crypto";

/** A frame, or any other JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** What a program printed. */
export interface Printed {
  readonly stdout: string;
  /** The home in which it ran. */
  readonly home: string;
}

/** What is compared of that. */
export interface MaskedOutput {
  /** Text, or frames. */
  readonly stdout: string | readonly JsonObject[];
  /** What the frames stand in, where they are no lines. */
  readonly within?: "array" | "object";
}

/** Frames that are left out, by type, subtype and status, with the reason. */
const FRAMES: Readonly<Record<string, string>> = {
  "system/thinking_tokens": "estimates made while thinking streams, which take --exact-stream",
  "system/api_retry 401": "a retry after a refreshed login is in no log",
  "rate_limit_event": "made of response headers, which only the request loop sees",
};

/** Fields that are left out, by frame and path, where `*` is any name, with the reason. */
const FIELDS: Readonly<Record<string, string>> = {
  "result.ttft_ms": "the time of the first token takes --exact-stream",
  "result.ttft_stream_ms": "the same",
  "result.time_to_request_ms": "the time of the request takes --exact-stream",
  "result.first_content_frame_ms": "the same",
  "result.request_sent_wall_ms": "the same",
  "stream_event.ttft_ms": "the same",
  "stream_event.event.message.usage":
    "the child reports no tokens at the start of an answer without --exact-stream",
  ...Object.fromEntries(OWN_FIELDS.map((name) => [`result.${name}`, "only claude-print has it"])),
  "system/init.messaging_socket_path": "the child's socket is in the run's folder",
  "system/init.agents":
    "the child lists none if the model has no tool for them, and not all in time on a busy machine",
  "system/init.tools":
    "no transcript line lists tools that are added later, and none does before 2.1.330",
  "system/init.plugins": "the child does not list bundled plugins",
  "system/init.skills": "the child lists those that the model may start",
  "system/init.slash_commands": "the same",
  "system/init.per_turn_effort_active":
    "depends on the model and on what the API has refused; before 2.1.293 it is unknown",
  "assistant.message.usage.output_tokens":
    "a frame of claude -p has the count at the answer's start, a transcript that at its end",
  "system/task_notification.output_file": "a file in a folder that is removed",
  "*.run_id": "an id of a task that nothing else uses",
  "system/background_tasks_changed.tasks.*.run_id": "the same",
  "result.origin.runId": "the same",
  "*.message.content.*.signature": "made by the scripted API for each answer",
};

/** Fields that are left out in single rows. */
const FIELDS_OF_ROWS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "betas": {
    "system/init.capabilities": "without slash commands there is one fewer",
    "system/init.terminal_slash_commands": "the same",
    "result.modelUsage.*.contextWindow":
      "the child sends the header, and does not know that it widens the window",
    "result.model_usage_since_last_result.*.contextWindow": "the same",
  },
  "compact-before": {
    "system/compact_boundary.compact_metadata.preserved_messages.all_uuids":
      "the child's transcript has one line more between the messages",
  },
  "slash-review": {
    "user.task_description":
      "the child's description of a skill also says when the model may use it",
  },
  "subagent-woken": {
    "result.modelUsage.*": "the child reports the use of its models at its end",
    "result.model_usage_since_last_result": "the same",
  },
  "goal": {
    "result.modelUsage.*.cacheCreationInputTokens":
      "the request that judges the goal contains the path of the run's transcript",
    "result.modelUsage.*.cacheCreationEphemeral5mInputTokens": "the same",
    "result.modelUsage.*.costUSD": "the same",
    "result.model_usage_since_last_result.*.cacheCreationInputTokens": "the same",
    "result.model_usage_since_last_result.*.cacheCreationEphemeral5mInputTokens": "the same",
    "result.model_usage_since_last_result.*.costUSD": "the same",
    "result.total_cost_usd": "the same",
  },
  "input-priorities": {
    "result.model_usage_since_last_result.*.costUSD":
      "claude -p prints the rounding error of a subtraction",
  },
  "shell-background": {
    "result.model_usage_since_last_result": "the child reports the use of its models at its end",
  },
};

/** Times, and ids that nothing else uses. Only their types are compared. */
const OF_ONE_RUN: readonly string[] = [
  ...["uuid", "timestamp", "duration_ms", "duration_api_ms", "totalDurationMs", "durationMs"],
  ...["durationSeconds", "end_time", "thinking_duration_ms", "retry_delay_ms", "resetsAt"],
];

/** Ids that connect frames: the first of a kind becomes 1, and so on. */
const IDS: Readonly<Record<string, RegExp>> = {
  request: /req_01[\da-f]{22}/gu,
  tool: /toolu_01[\da-f]{22}/gu,
  answer: /msg_(?:01)?[\da-f]{22,32}/gu,
  task: /(?<="(?:task_id|agent_id|agentId|backgroundTaskId)":")[^"]+/gu,
  session: /(?<="session_id":")[^"]+/gu,
};

/** Words that differ from run to run. */
const WORDS: readonly (readonly [RegExp, string])[] = [
  [/HOME\/t(?:mp\/claude-print-\d+\/[^/]+\/tmp)?\/claude-\d+/gu, "TEMP"],
  [/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/gu, "UUID"],
  [/127\.0\.0\.1:\d+/gu, "HOST"],
  [/\d{4}-\d\d-\d\dT[\d:.]+Z/gu, "TIME"],
  [/resets \d[^"\\]*?(?=["\\])/gu, "resets THEN"],
  // The interactive Claude Code has a longer system prompt.
  [/only ~\d+ tokens/gu, "only ~N tokens"],
  [/duration_ms: \d+/gu, "duration_ms: N"],
];

/** Results that only `claude-print` has, if it or its caller failed: `claude -p` prints nothing then. */
const OWN_FAILURES: readonly unknown[] = ["internal_error", "bad_input"];

/** Temporary files, transcripts and the tokens of a subagent: a text that contains them differs in length. */
const REWORDING = /TEMP\/|subagent_tokens:|read the full transcript at:/u;

/** Fields whose text may contain them. */
const REWORDED = /tool_use_result$|\.content\.\d+\.content$/u;

/** Token counts and costs of rows with such a text. */
const RESIZED = /tokens$|cost_?usd$/iu;

/** Longer strings are compared by length and hash, so that the recording stays small. */
const LONG = 400;

/** Returns what two runs of the same command line print alike. */
export function maskedOutput(
  { stdout, home }: Printed,
  { row }: { readonly row: string },
): MaskedOutput {
  const text = withoutIds(
    stdout.replaceAll(home, "HOME").replaceAll(home.replaceAll(/[^a-z\d]/giu, "-"), "SLUG"),
  );
  const printed = parsed(text);
  if (printed === undefined) return { stdout: text };
  const { frames, ...where } = printed;
  if (frames.some(({ subtype }) => OWN_FAILURES.includes(subtype))) return { stdout: "" };
  const options = {
    fields: Object.keys({ ...FIELDS, ...FIELDS_OF_ROWS[row] }).map((field) => field.split(".")),
    isReworded: REWORDING.test(text.replaceAll(/"output_file":"[^"]*"/gu, "")),
  };
  return { ...where, stdout: ordered(frames.flatMap((frame) => maskedFrame(frame, options))) };
}

/** A text in short, for recordings: two that differ have other hashes. */
export function hash(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, 16);
}

/** Replaces ids and times in a text of frames. */
export function withoutIds(text: string): string {
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
  { fields, isReworded }: {
    readonly fields: readonly (readonly string[])[];
    readonly isReworded: boolean;
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
    if (isReworded && RESIZED.test(path.at(-1) ?? "")) return typeof value;
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

/** Joins the streamed pieces of a block, which may be cut elsewhere, and sorts results of parallel calls. */
function ordered(frames: readonly JsonObject[]): readonly JsonObject[] {
  const result: JsonObject[] = [];
  for (const frame of frames) {
    const before = result.at(-1);
    const joined = before === undefined ? undefined : joinedDelta(before, frame);
    if (joined !== undefined) result.splice(-1, 1, joined);
    // Parallel calls return in any order.
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

/** The call whose result a frame contains. */
function calledIn({ type, message }: JsonObject): string | undefined {
  const { content } = (message ?? {}) as JsonObject;
  const [block] = Array.isArray(content) ? content : [];
  return type === "user" && typeof block?.tool_use_id === "string" ? block.tool_use_id : undefined;
}
