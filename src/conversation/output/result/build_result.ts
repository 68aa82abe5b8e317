import type { Message } from "../../control/message.ts";
import type { Cost } from "../../../claude/transcript/cost.ts";
import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import type { PermissionDenial } from "../../../claude/transcript/permission_denials.ts";
import { OUTPUT_TOOL } from "../../../claude/transcript/structured_output_tool.ts";
import { isJoinedEnd, type Turn } from "../../../claude/transcript/turn.ts";
import type { ClaudeLimits } from "../../../claude/wire/claude_limits.ts";
import { exitCodeOf, type Outcome } from "../../../claude/wire/outcome.ts";
import type { FailureSubtype, ResultFrame } from "../../../claude/wire/result_frame.ts";
import { messageIds, namesFirstMessage } from "../frames/frame_context.ts";
import { type FastMode, fastModeOf } from "../frames/init_frame.ts";
import { modelUsageOf, usageSince } from "./model_usage.ts";
import { printSentence } from "./api_failure.ts";
import { NO_SUBAGENTS, type SubagentStats, subagentStats } from "./turn_totals.ts";
import { pickWireKeys } from "../../../claude/wire/json_text.ts";

/** The facts from which a result is made. */
export interface ResultFacts {
  readonly version: string;
  readonly sessionId: string;
  readonly uuid: string;
  readonly outcome: Outcome;
  /** The turn of the result; absent if there is none, or if its transcript cannot be read. */
  readonly turn?: Turn | undefined;
  /** The number of earlier results; absent for none. */
  readonly index?: number;
  /** The messages that the turn answers. */
  readonly messages?: readonly Pick<Message, "uuid" | "human" | "synthetic">[];
  /** The messages among them that joined the turn after it had begun. */
  readonly joined?: readonly Pick<Message, "uuid" | "human" | "synthetic">[];
  /** The cost; undefined if the child did not report it, as after SIGKILL. */
  readonly cost?: Cost | undefined;
  readonly permissionDenials?: readonly PermissionDenial[];
  /** The answer from the Stop hook, trimmed. It is used if the transcript has no answer. */
  readonly lastAssistantMessage?: string | undefined;
  /** Set if the turn's text may answer another prompt than the one sent. Then there is no `result`. */
  readonly isForeign?: true;
  /** Milliseconds from the prompt to the end; preferred to the times of lines. */
  readonly durationMs?: number;
  /** `max_tokens` of the requests by model, if the transcript holds requests. */
  readonly maxOutputTokens?: ReadonlyMap<string, number> | undefined;
  /** Who serves the models: `firstParty`, `bedrock`, `vertex`, … */
  readonly provider?: string;
  /**
   * The usage of models in earlier results: this result prints the difference. `"nothing"` if there is no difference;
   * absent if it is unknown or not printed.
   */
  readonly sinceLast?: Cost["modelUsage"] | "nothing" | undefined;
  /** Counts of all subagents of the run; absent for none. */
  readonly subagents?: SubagentStats;
  /** The number of answers that safeguards stopped. */
  readonly safetyStops?: number;
  /** The ids of the answers that were printed event by event; absent without partial messages. */
  readonly streamed?: readonly string[] | undefined;
  /** The times of the first answer, if the API's stream was observed. */
  readonly timesToFirst?: TimesToFirst;
  /** When the first request was sent, in milliseconds since the epoch, if the API's stream was observed. */
  readonly sentAt?: number | undefined;
  /** The fields about fast mode of the turn's `system/init`. */
  readonly fastMode?: FastMode | undefined;
  /** The rest of the account's limits. */
  readonly limits?: ClaudeLimits | undefined;
}

/**
 * Builds the last frame of a turn as `claude -p` of the version prints it, plus `claude_version` and `claude_limits`.
 *
 * `ttft_ms` and its relatives are printed if the API's stream was observed. `duration_ms` runs from the line of the
 * prompt to the line of the last message. Without a cost, `total_cost_usd` is missing, `modelUsage` is empty and
 * `duration_api_ms` is 0, because readers insist on that key.
 */
export function buildResult(facts: ResultFacts): ResultFrame {
  const { version, turn } = facts;
  const end = turnEnd(facts);
  const fields = {
    ...errorFields(facts, end),
    ...countFields(facts, end),
    ...textFields(facts, end),
    ...(end.isTimed ? facts.timesToFirst : {}),
    stop_reason: stopReason(facts, end),
    session_id: turn?.sessionId ?? facts.sessionId,
    ...costFields(facts, end),
    permission_denials: facts.permissionDenials ?? [],
    structured_output: end.output?.value,
    deferred_tool_use: end.deferred,
    terminal_reason: end.isUnasked ? undefined : terminalReason(facts, end),
    ...(facts.fastMode ?? fastModeOf(undefined, false)),
    ...messageFields(facts, end),
    uuid: facts.uuid,
    subagent_stats: facts.subagents ?? subagentStats(NO_SUBAGENTS),
    safety_stops: facts.safetyStops ?? 0,
    queued_turn_count: 0,
    begun_message_ids: facts.streamed,
    local_command: facts.outcome.kind === "local" ? facts.outcome.command : undefined,
    result_index: facts.index ?? 0,
  };
  return {
    type: "result",
    subtype: end.failure?.subtype ?? "success",
    is_error: end.isError,
    ...pickWireKeys("result", fields, { version }),
    num_turns: fields.num_turns,
    session_id: fields.session_id,
    claude_version: version,
    ...(facts.limits === undefined ? {} : { claude_limits: facts.limits }),
  };
}

/** How a turn ended, as its result shows it. */
interface ResultEnd {
  /** Set if the turn ended without an answer of the model or the API. */
  readonly failure: { readonly subtype: FailureSubtype; readonly message: string } | undefined;
  readonly isError: boolean;
  /** Whether the answer is an API error. */
  readonly isApiError: boolean;
  /** Whether the result of a tool ended the turn, without another request to the model. */
  readonly isUnasked: boolean;
  /** Whether the result holds the times of the first answer. */
  readonly isTimed: boolean;
  /** The call that a hook has deferred. */
  readonly deferred: JsonObject | undefined;
  /** The structured answer. */
  readonly output: { readonly value: unknown } | undefined;
}

function turnEnd({ outcome, turn, lastAssistantMessage }: ResultFacts): ResultEnd {
  const failure = failureOf(outcome);
  const isError = exitCodeOf(outcome, turn?.error !== undefined) !== 0;
  const isApiError = failure === undefined && isError;
  const isAnswered = outcome.kind === "answered";
  return {
    failure,
    isError,
    isApiError,
    isUnasked: isAnswered && turn !== undefined && lastAssistantMessage === undefined &&
      isJoinedEnd(turn),
    isTimed: failure === undefined && !isError && outcome.kind !== "local",
    deferred: isAnswered ? deferredCall(turn) : undefined,
    output: isAnswered && !isApiError ? structuredOutput(turn) : undefined,
  };
}

function errorFields({ outcome, turn }: ResultFacts, end: ResultEnd) {
  const { failure, deferred, isUnasked, isApiError } = end;
  const hasStatus = failure === undefined && deferred === undefined && outcome.kind !== "local" &&
    !isUnasked;
  return {
    is_error: end.isError,
    api_error_status: hasStatus ? turn?.error?.status ?? null : undefined,
    api_error_type: isApiError ? turn?.error?.type : undefined,
    api_error: isApiError ? turn?.error?.apiError : undefined,
  };
}

function countFields({ outcome, turn, cost, durationMs }: ResultFacts, { isUnasked }: ResultEnd) {
  // At the turn limit, `num_turns` is the number of requests plus one, as in `claude -p`; otherwise it is the number of
  // answers.
  const count = outcome.kind === "error_max_turns"
    ? outcome.turns + 1
    : turn?.numTurns ?? (outcome.kind === "error_max_budget_usd" ? 1 : 0);
  return {
    duration_ms: durationMs ?? turn?.durationMs ?? 0,
    // The request of a command is not counted, although it is paid for.
    duration_api_ms: isUnasked || outcome.kind === "local" ? 0 : cost?.apiDurationMs ?? 0,
    num_turns: isUnasked ? 0 : count,
  };
}

function textFields(facts: ResultFacts, { failure, isApiError, output }: ResultEnd) {
  const { outcome, isForeign } = facts;
  const words = textOf(facts);
  const text = isApiError ? printSentence(words) : words;
  const hasNone = isForeign ||
    failure !== undefined && (text === "" || UNANSWERED.includes(outcome.kind));
  const answer = output === undefined ? text : JSON.stringify(output.value);
  return {
    result: hasNone ? undefined : answer,
    errors: failure === undefined ? undefined : [failure.message],
  };
}

function stopReason({ outcome, turn }: ResultFacts, { deferred, isUnasked }: ResultEnd) {
  if (deferred !== undefined) return "tool_deferred";
  return turn?.stopReason ?? (outcome.kind === "answered" && !isUnasked ? "end_turn" : null);
}

function costFields(facts: ResultFacts, { isUnasked }: ResultEnd) {
  const { cost, turn, sinceLast } = facts;
  const modelUsage = modelUsageOf({ ...facts, answering: turn?.model });
  return {
    total_cost_usd: cost?.totalUsd,
    usage: usageOf(facts),
    modelUsage,
    model_usage_since_last_result: isUnasked || sinceLast === "nothing"
      ? {}
      : sinceLast && usageSince(sinceLast, modelUsage),
  };
}

function messageFields(facts: ResultFacts, { isTimed }: ResultEnd) {
  const asked = { taken: facts.messages ?? [], joined: facts.joined ?? [] };
  return {
    origin: originOf(facts),
    ...messageIds(asked),
    ...(isTimed && namesFirstMessage(asked) ? firstRequest(facts) : {}),
  };
}

/** Outcomes for which `claude -p` prints no `result` field, even if the model has written text. */
const UNANSWERED: readonly Outcome["kind"][] = [
  "error_max_turns",
  "error_max_budget_usd",
  "error_max_structured_output_retries",
  "error_during_execution",
];

/** The structured answer of a turn: the input of the last call of its tool that succeeded. */
function structuredOutput(turn: Turn | undefined): { readonly value: unknown } | undefined {
  const succeeded = (id: string) =>
    turn?.toolResults.some(({ toolUseId, isError }) => toolUseId === id && !isError);
  const call = turn?.toolUses.findLast(({ id, name }) => name === OUTPUT_TOOL && succeeded(id));
  return call === undefined ? undefined : { value: call.input };
}

/** The call that a hook has deferred, so that the caller can decide on it. */
function deferredCall(turn: Turn | undefined): JsonObject | undefined {
  const call = turn?.toolUses.find(({ id }) => id === turn.deferred);
  return call === undefined ? undefined : { id: call.id, name: call.name, input: call.input };
}

function failureOf(
  outcome: Outcome,
): { readonly subtype: FailureSubtype; readonly message: string } | undefined {
  switch (outcome.kind) {
    case "answered":
    case "failed":
    case "local":
      return undefined;
    default:
      return { subtype: outcome.kind, message: outcome.message };
  }
}

function textOf({ outcome, turn, lastAssistantMessage }: ResultFacts): string {
  if (outcome.kind === "local") return outcome.text;
  if (failureOf(outcome) !== undefined) return turn?.textSoFar || (lastAssistantMessage ?? "");
  // An answer in the transcript counts even if its text is empty: its last block was no text.
  const isCut = turn?.unanswered === true && lastAssistantMessage !== undefined;
  if (turn !== undefined && !isCut && (turn.answers > 0 || turn.error !== undefined)) {
    return turn.error === undefined && outcome.kind === "failed" ? outcome.text : turn.text;
  }
  return outcome.kind === "failed" ? outcome.text : lastAssistantMessage ?? turn?.text ?? "";
}

const NO_USAGE: JsonObject = {
  input_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 0,
  output_tokens_details: { thinking_tokens: 0 },
  server_tool_use: { web_search_requests: 0, web_fetch_requests: 0 },
  service_tier: "standard",
  cache_creation: { ephemeral_1h_input_tokens: 0, ephemeral_5m_input_tokens: 0 },
  inference_geo: "",
  iterations: [],
  speed: "standard",
  fallback_credit: null,
};

function usageOf(facts: ResultFacts): Readonly<Record<string, unknown>> {
  const usage = { ...NO_USAGE, ...turnUsage(facts) };
  return pickWireKeys("usage", usage, { version: facts.version, extra: true });
}

function turnUsage({ outcome, turn, cost }: ResultFacts): JsonObject | undefined {
  switch (outcome.kind) {
    case "error_max_budget_usd":
    case "error_max_structured_output_retries":
      // `claude -p` does not count the request that used up the budget, or the last attempt at a structured answer.
      return turn?.usageBefore;
    default:
      return turn === undefined || (turn.answers > 0 && turn.unseen !== true)
        ? turn?.usage
        : { ...turn.usage, ...unwrittenUsage(turn, cost) };
  }
}

/** Tools whose subagents may make requests to the same model. */
const SUBAGENT_TOOLS = ["Agent", "Skill", "Task"];

/** The usage of an answer without any block. It has no line in the transcript, but was paid for. */
function unwrittenUsage(turn: Turn, cost: Cost | undefined): JsonObject {
  const models = Object.values(cost?.modelUsage ?? {});
  // The cost of a resumed session includes earlier turns.
  if (models.length === 0 || turn.prompt === undefined || turn.prompt.parentUuid) return {};
  const isShared = models.length > 1 ||
    turn.toolUses.some(({ name }) => SUBAGENT_TOOLS.includes(name));
  if (turn.answers > 0 && isShared) return {};
  const sum = (field: string) => {
    const counts = models.map((usage) => usage[field]).filter((count) => typeof count === "number");
    return counts.length === 0 ? undefined : counts.reduce((total, count) => total + count);
  };
  const written = {
    ephemeral_1h_input_tokens: sum("cacheCreationEphemeral1hInputTokens"),
    ephemeral_5m_input_tokens: sum("cacheCreationEphemeral5mInputTokens"),
  };
  return {
    input_tokens: sum("inputTokens"),
    cache_creation_input_tokens: sum("cacheCreationInputTokens"),
    cache_read_input_tokens: sum("cacheReadInputTokens"),
    output_tokens: sum("outputTokens"),
    cache_creation: written.ephemeral_5m_input_tokens === undefined
      ? cachedAlike(turn.usage["cache_creation"], sum("cacheCreationInputTokens"))
      : written,
    // Only an answer with a line shows where the API answers requests.
    ...(turn.answers > 0 ? {} : { inference_geo: undefined }),
  };
}

/** Counts cached tokens as the answers with a line do, if all of these are cached for the same time. */
function cachedAlike(known: unknown, count: number | undefined): JsonObject | undefined {
  if (!isJsonObject(known)) return undefined;
  const kinds = Object.keys(known).filter((kind) => known[kind] !== 0);
  return kinds.length === 1 && kinds[0] !== undefined ? { ...known, [kinds[0]]: count } : undefined;
}

function terminalReason(
  { outcome, turn }: ResultFacts,
  { isApiError }: ResultEnd,
): string | undefined {
  switch (outcome.kind) {
    case "answered":
      if (turn?.deferred !== undefined) return "tool_deferred";
      if (!isApiError && turn?.halted !== undefined) {
        return turn.halted === "stop" ? "stop_hook_prevented" : "hook_stopped";
      }
      return isApiError ? errorReason(turn) : "completed";
    case "failed":
      return isApiError ? errorReason(turn) : "completed";
    case "error_max_turns":
      return "max_turns";
    case "error_max_budget_usd":
      return "budget_exhausted";
    case "error_max_structured_output_retries":
      return "structured_output_retry_exhausted";
    case "error_during_execution":
    case "interrupted":
      return turn?.end === "interrupted-tool" || isToolRunning(turn)
        ? "aborted_tools"
        : "aborted_streaming";
    default:
      return undefined;
  }
}

function errorReason(turn: Turn | undefined): string {
  if (turn?.error?.status === 413) return "image_error";
  if (turn?.text.startsWith("Prompt is too long")) {
    // Claude Code itself refuses a prompt that is far too long, without a request.
    return turn.error?.status === null ? "blocking_limit" : "prompt_too_long";
  }
  return "api_error";
}

/** The result of a Bash call whose shell was killed at the end of the run, by SIGKILL or SIGTERM. */
const KILLED = /^Exit code 1(?:37|43)\b/;

function isToolRunning(turn: Turn | undefined): boolean {
  if (turn === undefined) return false;
  const done = new Set(
    turn.toolResults.filter((result) => !KILLED.test(result.text)).map(({ toolUseId }) =>
      toolUseId
    ),
  );
  return turn.toolUses.some((use) => !done.has(use.id));
}

/** When the first request of a turn was sent, if observed, and its input in tokens. */
function firstRequest({ turn, sentAt }: ResultFacts): JsonObject {
  const usage = turn?.firstUsage ?? {};
  const count = (field: string) => typeof usage[field] === "number" ? usage[field] : 0;
  const cached = count("cache_read_input_tokens");
  const all = count("input_tokens") + cached + count("cache_creation_input_tokens");
  return {
    request_sent_wall_ms: sentAt,
    ...(all > 0
      ? { first_request_input_tokens: all, first_request_cache_read_input_tokens: cached }
      : {}),
  };
}

/** The `origin` of a turn: a background task, a person, or a message that the caller made up. */
function originOf({ turn, messages = [] }: ResultFacts): unknown {
  const origin = turn?.prompt?.origin;
  if (isJsonObject(origin) && origin["kind"] === "task-notification") return origin;
  const [first] = messages;
  if (first === undefined) return undefined;
  if (first.synthetic) return { kind: "unclassified" };
  return first.human ? { kind: "human" } : undefined;
}

/** The times of a turn's first answer, in milliseconds from the start of the child. */
export interface StreamTimes {
  /** When the request was sent, in milliseconds from the start of the child. */
  readonly askedAt: number;
  readonly begunAt: number;
  /** When the first block of the answer began, in milliseconds from the start of the child. */
  readonly contentAt?: number;
  /** When the first block of the answer was complete, in milliseconds from the start of the child. */
  readonly wholeAt?: number;
}

/** Fields of a result, in milliseconds from the prompt. */
interface TimesToFirst {
  readonly ttft_ms?: number;
  readonly ttft_stream_ms?: number;
  readonly time_to_request_ms?: number;
  readonly first_content_frame_ms?: number;
}

interface TurnStart {
  /** When the child was started, in milliseconds since the epoch. */
  readonly startedAt: number;
  /** When the prompt was written, in milliseconds since the epoch. Earlier times belong to another turn. */
  readonly promptAt: number;
}

/** When the turn's first request was sent, in milliseconds since the epoch. */
export function sentAt(times: StreamTimes | undefined, of: TurnStart): number | undefined {
  return isOfTurn(times, of) ? Math.round(of.startedAt + times.askedAt) : undefined;
}

/** The time between a turn's prompt and its first answer. */
export function timesToFirst(times: StreamTimes | undefined, of: TurnStart): TimesToFirst {
  if (!isOfTurn(times, of)) return {};
  const { startedAt, promptAt } = of;
  const after = (at: number) => Math.max(0, Math.round(startedAt + at - promptAt));
  const { askedAt, begunAt, contentAt, wholeAt } = times;
  return {
    ...(wholeAt === undefined ? {} : { ttft_ms: after(wholeAt) }),
    ttft_stream_ms: after(begunAt),
    time_to_request_ms: after(askedAt),
    ...(contentAt === undefined ? {} : { first_content_frame_ms: after(contentAt) }),
  };
}

function isOfTurn(
  times: StreamTimes | undefined,
  { startedAt, promptAt }: TurnStart,
): times is StreamTimes {
  return times !== undefined && startedAt + times.askedAt >= promptAt;
}
