import type { Message } from "../../control/message.ts";
import type { Cost } from "../../../claude/transcript/cost.ts";
import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import type { PermissionDenial } from "../../../claude/transcript/permission_denials.ts";
import { OUTPUT_TOOL } from "../../../claude/transcript/structured_output_tool.ts";
import { isJoinedEnd, type Turn } from "../../../claude/transcript/turn.ts";
import type { ClaudeLimits } from "../../../claude/wire/claude_limits.ts";
import { exitCodeOf, type Outcome } from "../../../claude/wire/outcome.ts";
import type { FailureSubtype, ResultFrame } from "../../../claude/wire/result_frame.ts";
import { askedBy, isToFirst } from "../frames/frame_context.ts";
import { type FastMode, fastModeOf } from "../frames/init_frame.ts";
import { modelUsageOf, usageSince } from "./model_usage.ts";
import { printSentence } from "./api_failure.ts";
import { NO_SUBAGENTS, type SubagentStats, subagentStats } from "./turn_totals.ts";
import { onlyWireKeys } from "../../../claude/wire/json_text.ts";

/** Everything a result is made of. */
export interface ResultFacts {
  readonly version: string;
  readonly sessionId: string;
  readonly uuid: string;
  readonly outcome: Outcome;
  /** The turn whose result it is; absent where there is none, or its transcript is not readable. */
  readonly turn?: Turn | undefined;
  /** How many results came before it; absent for none. */
  readonly index?: number;
  /** The messages that it answers. */
  readonly messages?: readonly Pick<Message, "uuid" | "human" | "synthetic">[];
  /** Those of them that have become a part of its turn when that had begun. */
  readonly joined?: readonly Pick<Message, "uuid" | "human" | "synthetic">[];
  /** Undefined if the child could not account for itself, as after SIGKILL. */
  readonly cost?: Cost | undefined;
  readonly permissionDenials?: readonly PermissionDenial[];
  /** The answer as the Stop hook gave it, trimmed: the last resort if the transcript has none. */
  readonly lastAssistantMessage?: string | undefined;
  /** Set when the turn's text is an answer to another prompt than was sent: then there is no `result`. */
  readonly isForeign?: true;
  /** Milliseconds from the prompt to the end; preferred to what the transcript says. */
  readonly durationMs?: number;
  /** `max_tokens` of the requests by model, where the transcript tells. */
  readonly maxOutputTokens?: ReadonlyMap<string, number> | undefined;
  /** Who serves the models: `firstParty`, `bedrock`, `vertex`, … */
  readonly provider?: string;
  /**
   * What earlier results have told of what models used, or that there is nothing they have not told: stream-json prints
   * the rest. Absent where it is not known or not printed.
   */
  readonly sinceLast?: Cost["modelUsage"] | "nothing" | undefined;
  /** Counts of all subagents of the run; absent for none. */
  readonly subagents?: SubagentStats;
  /** How often safeguards have stopped an answer. */
  readonly safetyStops?: number;
  /** The ids of the answers that were told as they were written; absent where none are. */
  readonly streamed?: readonly string[] | undefined;
  /** When the first of the answer came, where the stream of the API was heard. */
  readonly timesToFirst?: TimesToFirst;
  /** When the request for it went out, where that stream was heard, in milliseconds since the epoch. */
  readonly sentAt?: number | undefined;
  /** How `system/init` has told of fast mode. */
  readonly fastMode?: FastMode | undefined;
  /** What is left of limits. */
  readonly limits?: ClaudeLimits | undefined;
}

/**
 * Builds the last frame of a turn as `claude -p` of the version prints it, plus `claude_version` and `claude_limits`.
 *
 * When the first of an answer came (`ttft_ms` and its relatives) is printed where the stream of the
 * API was heard. `duration_ms` runs from the prompt's line to the last message's. Without a cost,
 * `total_cost_usd` is missing, `modelUsage` is empty and `duration_api_ms` is 0, because readers
 * insist on the key.
 */
export function resultFrame(facts: ResultFacts): ResultFrame {
  const { outcome, version, cost, turn } = facts;
  const failure = failureOf(outcome);
  const isError = exitCodeOf(outcome, turn?.error !== undefined) !== 0;
  const apiError = failure === undefined && isError;
  const text = apiError ? printSentence(textOf(facts, turn)) : textOf(facts, turn);
  const modelUsage = modelUsageOf({ ...facts, answering: turn?.model });
  const output = outcome.kind === "answered" && !apiError ? structuredOutput(turn) : undefined;
  // The model is told of it, but not asked yet.
  const isUnasked = outcome.kind === "answered" && turn !== undefined &&
    facts.lastAssistantMessage === undefined && isJoinedEnd(turn);
  const deferred = outcome.kind === "answered" ? deferredCall(turn) : undefined;
  const hasStatus = failure === undefined && deferred === undefined && outcome.kind !== "local" &&
    !isUnasked;
  const isTimed = failure === undefined && !isError && outcome.kind !== "local";
  const asked = { taken: facts.messages ?? [], joined: facts.joined ?? [] };

  const fields = {
    is_error: isError,
    api_error_status: hasStatus ? turn?.error?.status ?? null : undefined,
    api_error_type: apiError ? turn?.error?.type : undefined,
    api_error: apiError ? turn?.error?.apiError : undefined,
    duration_ms: facts.durationMs ?? turn?.durationMs ?? 0,
    // The request of a command counts for nothing, though it is paid for.
    duration_api_ms: isUnasked || outcome.kind === "local" ? 0 : cost?.apiDurationMs ?? 0,
    // At the limit the requests are counted, one more than there were; otherwise what came back.
    num_turns: isUnasked
      ? 0
      : outcome.kind === "error_max_turns"
      ? outcome.turns + 1
      : numTurnsOf(facts),
    result: facts.isForeign ||
        failure !== undefined && (text === "" || UNANSWERED.includes(outcome.kind))
      ? undefined
      : output === undefined
      ? text
      : JSON.stringify(output.value),
    errors: failure === undefined ? undefined : [failure.message],
    ...(isTimed ? facts.timesToFirst : {}),
    stop_reason: deferred !== undefined
      ? "tool_deferred"
      : turn?.stopReason ?? (outcome.kind === "answered" && !isUnasked ? "end_turn" : null),
    session_id: turn?.sessionId ?? facts.sessionId,
    total_cost_usd: cost?.totalUsd,
    usage: usageOf(facts, turn),
    modelUsage,
    permission_denials: facts.permissionDenials ?? [],
    structured_output: output?.value,
    deferred_tool_use: deferred,
    terminal_reason: isUnasked ? undefined : terminalReason({ outcome, apiError, turn }),
    ...(facts.fastMode ?? fastModeOf(undefined, false)),
    origin: originOf(turn, facts),
    ...askedBy(asked),
    ...(isTimed && isToFirst(asked) ? firstRequest(facts) : {}),
    uuid: facts.uuid,
    subagent_stats: facts.subagents ?? subagentStats(NO_SUBAGENTS),
    safety_stops: facts.safetyStops ?? 0,
    queued_turn_count: 0,
    begun_message_ids: facts.streamed,
    local_command: outcome.kind === "local" ? outcome.command : undefined,
    result_index: facts.index ?? 0,
    model_usage_since_last_result: isUnasked || facts.sinceLast === "nothing"
      ? {}
      : facts.sinceLast && usageSince(facts.sinceLast, modelUsage),
  };
  return {
    type: "result",
    subtype: failure?.subtype ?? "success",
    is_error: isError,
    ...onlyWireKeys("result", fields, { version }),
    num_turns: fields.num_turns,
    session_id: fields.session_id,
    claude_version: version,
    ...(facts.limits === undefined ? {} : { claude_limits: facts.limits }),
  };
}

/** How a turn ends in `claude -p` itself without a result, whatever was said before. */
const UNANSWERED: readonly Outcome["kind"][] = [
  "error_max_turns",
  "error_max_budget_usd",
  "error_max_structured_output_retries",
  "error_during_execution",
];

/** The structured answer of a turn, which is what its tool was given last and has taken. */
function structuredOutput(turn: Turn | undefined): { readonly value: unknown } | undefined {
  const isTaken = (id: string) =>
    turn?.toolResults.some(({ toolUseId, isError }) => toolUseId === id && !isError);
  const call = turn?.toolUses.findLast(({ id, name }) => name === OUTPUT_TOOL && isTaken(id));
  return call === undefined ? undefined : { value: call.input };
}

/** The call that was put off, as `claude -p` tells whoever is to decide on it. */
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

function textOf(facts: ResultFacts, turn: Turn | undefined): string {
  const { outcome, lastAssistantMessage } = facts;
  if (outcome.kind === "local") return outcome.text;
  if (failureOf(outcome) !== undefined) return turn?.textSoFar || (lastAssistantMessage ?? "");
  // An answer in the transcript counts even if its text is empty: it ended on another block.
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

function numTurnsOf({ outcome, turn }: ResultFacts): number {
  return turn?.numTurns ?? (outcome.kind === "error_max_budget_usd" ? 1 : 0);
}

function usageOf(facts: ResultFacts, turn: Turn | undefined): Readonly<Record<string, unknown>> {
  // What has used up the budget, or the last try, does not count any more.
  const usage = facts.outcome.kind === "error_max_budget_usd" ||
      facts.outcome.kind === "error_max_structured_output_retries"
    ? turn?.usageBefore
    : turn === undefined || (turn.answers > 0 && turn.unseen !== true)
    ? turn?.usage
    : { ...turn.usage, ...unwrittenUsage(turn, facts.cost) };
  return onlyWireKeys("usage", { ...NO_USAGE, ...usage }, { version: facts.version, extra: true });
}

/** Tools in whose place other requests of the same model may be made. */
const OF_SUBAGENTS = ["Agent", "Skill", "Task"];

/** An answer without any block leaves no line, but was paid for. */
function unwrittenUsage(turn: Turn, cost: Cost | undefined): JsonObject {
  const models = Object.values(cost?.modelUsage ?? {});
  // The cost of a resumed session is not only this turn's.
  if (models.length === 0 || turn.prompt === undefined || turn.prompt.parentUuid) return {};
  const isShared = models.length > 1 ||
    turn.toolUses.some(({ name }) => OF_SUBAGENTS.includes(name));
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
      ? keptAlike(turn.usage["cache_creation"], sum("cacheCreationInputTokens"))
      : written,
    // Where its requests are answered, only an answer says.
    ...(turn.answers > 0 ? {} : { inference_geo: undefined }),
  };
}

/** So many tokens as the answers that have a line keep theirs in the cache, where all do so alike. */
function keptAlike(known: unknown, count: number | undefined): JsonObject | undefined {
  if (!isJsonObject(known)) return undefined;
  const kinds = Object.keys(known).filter((kind) => known[kind] !== 0);
  return kinds.length === 1 && kinds[0] !== undefined ? { ...known, [kinds[0]]: count } : undefined;
}

function terminalReason(
  facts: {
    readonly outcome: Outcome;
    readonly apiError: boolean;
    readonly turn: Turn | undefined;
  },
): string | undefined {
  const { outcome, apiError, turn } = facts;
  switch (outcome.kind) {
    case "answered":
      if (turn?.deferred !== undefined) return "tool_deferred";
      if (!apiError && turn?.halted !== undefined) {
        return turn.halted === "stop" ? "stop_hook_prevented" : "hook_stopped";
      }
      return apiError ? errorReason(turn) : "completed";
    case "failed":
      return apiError ? errorReason(turn) : "completed";
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
    // Claude Code itself refuses what is far too long, without a request.
    return turn.error?.status === null ? "blocking_limit" : "prompt_too_long";
  }
  return "api_error";
}

/** What Claude Code notes as the result of a Bash tool that the end of the run killed: SIGKILL or SIGTERM. */
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

/** When the first request of a turn went out, where that was heard, and how much the model was given to read with it. */
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

/** A turn that a background task started says so, and one whose sender says that a person did, or none. */
function originOf(
  turn: Turn | undefined,
  { messages = [] }: Pick<ResultFacts, "messages">,
): unknown {
  const origin = turn?.prompt?.origin;
  if (isJsonObject(origin) && origin["kind"] === "task-notification") return origin;
  const [first] = messages;
  if (first === undefined) return undefined;
  if (first.synthetic) return { kind: "unclassified" };
  return first.human ? { kind: "human" } : undefined;
}

/** When a turn's first answer was asked for and came, in milliseconds from the start of the child. */
export interface StreamTimes {
  readonly askedAt: number;
  readonly begunAt: number;
  /** When its first block began. */
  readonly contentAt?: number;
  /** When its first block was whole. */
  readonly wholeAt?: number;
}

/** Fields of a result, in milliseconds from the prompt. */
interface TimesToFirst {
  readonly ttft_ms?: number;
  readonly ttft_stream_ms?: number;
  readonly time_to_request_ms?: number;
  readonly first_content_frame_ms?: number;
}

/** What is known of the turn besides. */
interface OfTurn {
  /** When the child was started, in milliseconds since the epoch. */
  readonly startedAt: number;
  /** When the prompt was written down; what came before is of another turn, and so not told. */
  readonly promptAt: number;
}

/** When the request for it went out, in milliseconds since the epoch. */
export function sentAt(times: StreamTimes | undefined, of: OfTurn): number | undefined {
  return isOfTurn(times, of) ? Math.round(of.startedAt + times.askedAt) : undefined;
}

/** How long a turn's prompt waited for the first of its answer. */
export function timesToFirst(times: StreamTimes | undefined, of: OfTurn): TimesToFirst {
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
  { startedAt, promptAt }: OfTurn,
): times is StreamTimes {
  return times !== undefined && startedAt + times.askedAt >= promptAt;
}
