import { compactMetadata } from "./compact_metadata.ts";
import { systemFrame } from "./system_frame.ts";
import { printSentence } from "../result/print_sentence.ts";
import { askedBy } from "../result/result_frame.ts";
import type { CallDecision } from "../../session/effect.ts";
import {
  type AssistantEntry,
  blockedPrompt,
  type ContentBlock,
  type Entry,
  type EntryFields,
  type SystemEntry,
  type UserEntry,
} from "../../transcript/entry.ts";
import { isJsonObject, type JsonObject } from "../../transcript/json_object.ts";
import { isDeferral, type ToolUse } from "../../transcript/turn.ts";
import type {
  AssistantFrame,
  AssistantMessage,
  Frame,
  RateLimitFrame,
  SystemFrame,
  UserFrame,
} from "../../wire/frame.ts";
import { isVersionAtLeast, onlyWireKeys } from "../../wire/wire_keys.ts";

/** What a line alone does not say. */
export interface FrameContext {
  /** The version of Claude Code, which decides what is printed. */
  readonly version: string;
  readonly sessionId: string;
  /** Makes ids for frames that have no line of their own. */
  readonly newUuid: () => string;
  /** The calls so far by id, for `permission_denied` frames; without it there are none. */
  readonly toolUses?: ReadonlyMap<string, ToolUse>;
  /** The texts with which the run itself refuses what somebody should be asked. */
  readonly denialMessages?: readonly string[];
  /** What the caller has decided on calls, by their ids; calls of hooks and rules are not among them. */
  readonly decisions?: ReadonlyMap<string, CallDecision>;
  /** The command that was typed, if Claude Code carries it out: what it says is shown, a compaction's in another way. */
  readonly typed?: "compact" | "custom" | undefined;
  /** The messages that the turn answers. */
  readonly messages?: readonly { readonly uuid?: string }[];
  /** Whether what subagents say is shown in any case. */
  readonly subagentText?: boolean;
  /** Set for the lines of a subagent's own transcript, which give no frames without it. */
  readonly subagent?: SubagentContext;
}

/** The call that started a subagent: `agent-<id>.meta.json` beside its transcript says it. */
export interface SubagentContext {
  readonly toolUseId: string;
  readonly agentId?: string;
  readonly type?: string;
  readonly description?: string;
  /** Whether the turn goes on without waiting for it: then its words are shown, and its prompt is not. */
  readonly background?: boolean;
}

const SYNTHETIC_MODEL = "<synthetic>";

/** What the API reports; the rest of a transcript's usage is Claude Code's own addition. */
const API_USAGE = [
  "input_tokens",
  "cache_creation_input_tokens",
  "cache_read_input_tokens",
  "cache_creation",
  "output_tokens",
  "service_tier",
  "inference_geo",
];

/**
 * Turns a line of the transcript into the frames `claude -p` prints for it.
 *
 * Prompts, attachments and bookkeeping lines give none. Known differences: `usage` holds the final
 * output tokens, not the first count; a call of an MCP tool has no `tool_use_meta`, because the
 * transcript does not know the tool's title; a `rate_limit_event` only tells of a limit that was hit;
 * there are no `system/thinking_tokens` and `system/notification` frames. What a line says about
 * tasks is told by `taskFramesOfEntry`.
 */
export function framesOfEntry(entry: Entry, context: FrameContext): readonly Frame[] {
  if (entry.type === "other" || entry.type === "attachment") return [];
  if (entry.isSidechain === true && context.subagent === undefined) return [];
  switch (entry.type) {
    case "assistant":
      return isShownOfSubagent(entry.message.content, context)
        ? [...rateLimitFrames(entry, context), assistantFrame(entry, context)]
        : [];
    case "user":
      return isDeferral(entry) ? [] : userFrames(entry, context);
    case "system":
      return systemFrames(entry, context);
  }
}

function assistantFrame(entry: AssistantEntry, context: FrameContext): AssistantFrame {
  const fields = {
    ...commonFields(entry, context),
    error: entry.error,
    request_id: entry.requestId,
    is_api_error_message: entry.isApiErrorMessage === true ? true : undefined,
    api_error_status: entry.apiErrorStatus ?? undefined,
    api_error_type: entry.apiErrorType ?? undefined,
    api_error: entry.apiError,
    api_error_params: entry.apiErrorParams,
    refused_message_id: entry.refusedMessageId,
    // How long it has thought is not told of a subagent.
    ...(context.subagent === undefined
      ? {
        thinking_duration_ms: entry.thinkingDurationMs,
        thinking_display: entry.thinkingDisplay,
        ...askedBy(context.messages ?? []),
      }
      : {}),
  };
  return {
    type: "assistant",
    message: messageOf(entry),
    ...addressOf(context),
    ...onlyWireKeys("assistant", fields, context),
  };
}

/** The usage of an answer as the API's stream tells it; an empty text stands for what that did not say. */
export function apiUsage(usage: JsonObject | null | undefined): JsonObject {
  return Object.fromEntries(
    API_USAGE.flatMap((key) => {
      const value = usage?.[key];
      return value === undefined || value === "" ? [] : [[key, value]];
    }),
  );
}

/** A usage limit that was hit, with the time of its reset: all that a transcript knows of limits, since 2.1.330. */
function rateLimitFrames(entry: AssistantEntry, context: FrameContext): readonly RateLimitFrame[] {
  const params = entry.apiErrorParams;
  const info = isJsonObject(params) ? params.rate_limit_info : undefined;
  return isJsonObject(info)
    ? [{
      type: "rate_limit_event",
      rate_limit_info: info,
      uuid: context.newUuid(),
      session_id: context.sessionId,
    }]
    : [];
}

function messageOf(entry: AssistantEntry): AssistantMessage {
  const { message } = entry;
  if (entry.isApiErrorMessage === true) {
    const content = message.content.map((block) =>
      typeof block.text === "string" ? { ...block, text: printSentence(block.text) } : block
    );
    return { ...message, content };
  }
  if (message.model === SYNTHETIC_MODEL) return message;
  const { id, type, role, model, content, usage, stop_reason: _, stop_details: __, ...more } =
    message;
  return {
    id,
    type: type ?? "message",
    role: role ?? "assistant",
    model,
    content,
    ...more,
    // A frame is printed before the API has said why it stops.
    stop_reason: null,
    stop_sequence: null,
    usage: apiUsage(usage),
    context_management: message.context_management ?? null,
  };
}

function userFrames(entry: UserEntry, context: FrameContext): readonly Frame[] {
  const { content } = entry.message;
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
  const frame = (more: Readonly<Record<string, unknown>> = {}): UserFrame => ({
    type: "user",
    message: { role: "user", content: blocks },
    ...addressOf(context),
    ...onlyWireKeys("user", {
      ...commonFields(entry, context),
      refused_message_id: entry.refusedMessageId,
      ...more,
    }, context),
  });

  const typedFrame = (
    text: string,
    more: Readonly<Record<string, unknown>>,
  ): UserFrame => ({ ...frame(more), message: { role: "user", content: text } });

  switch (entry.meaning) {
    case "prompt":
      return context.subagent !== undefined && context.subagent.background !== true
        ? [frame()]
        : [];
    case "local-command":
      if (context.typed === undefined || typeof content !== "string") return [];
      return [
        typedFrame(context.typed === "compact" ? compactionOutput(content) : content, {
          isReplay: true,
        }),
      ];
    case "interrupt":
      return [frame()];
    case "remark":
      if (context.typed === "compact" && entry["isCompactSummary"] === true) {
        return typeof content === "string"
          ? [typedFrame(content, { isReplay: false, isSynthetic: true })]
          : [];
      }
      if (typeof content === "string" && content.startsWith("<local-command-caveat>")) return [];
      // Such a remark belongs to the notification of a background task, which is no frame either; nor is what a subagent
      // is sent, or told of the tasks that it has in the background.
      return entry.queueSkipAttachments === true || isCoordinator(entry.origin) ||
          (context.subagent !== undefined && isOfTask(entry.origin))
        ? []
        : [frame({ isSynthetic: true })];
    case "tool-result": {
      const result = frame({
        tool_use_result: isStructured(entry, context)
          ? withoutTags(entry.toolUseResult)
          : undefined,
        tool_result_meta: resultMeta(entry, context),
      });
      return [...deniedFrames(entry, context), result];
    }
  }
}

/** Whether what a subagent is told comes from the one that has started it. */
export function isCoordinator(origin: unknown): boolean {
  return isJsonObject(origin) && origin.kind === "coordinator";
}

/** Whether what somebody is told is the end of a task in the background. */
export function isOfTask(origin: unknown): boolean {
  return isJsonObject(origin) && origin.kind === "task-notification";
}

/** Whether a result is told in its structured form: those of subagents are not, but for skills since 2.1.330. */
function isStructured({ toolUseResult }: UserEntry, { subagent, version }: FrameContext): boolean {
  return subagent === undefined ||
    (isVersionAtLeast(version, "2.1.330") && isJsonObject(toolUseResult) &&
      toolUseResult.status === "forked");
}

/** What a hook has refused in the words of an error of Claude Code's own, without the tags that only the model sees. */
function withoutTags(result: unknown): unknown {
  if (typeof result !== "string") return result;
  const [, error] = /^Error: <tool_use_error>(.*)<\/tool_use_error>$/su.exec(result) ?? [];
  return error ?? result;
}

function resultMeta(entry: UserEntry, context: FrameContext): readonly unknown[] | undefined {
  const decision = entry.permissionDecision;
  const id = resultBlocks(entry)[0]?.tool_use_id;
  if (id === undefined || (decision === undefined && entry.toolDenialKind === undefined)) {
    return undefined;
  }
  const decided = typeof id === "string" ? context.decisions?.get(id) : undefined;
  if (decided === "late") return undefined;
  if (decided === "accepted" || decided === "rejected" || decided === "failed") {
    return [{ id, ...DECISIONS[decided] }];
  }
  if (isOwnDenial(entry, context)) {
    return [{
      id,
      non_execution_kind: "user-rejected",
      permission_decision: { decision: "reject", source: "config" },
    }];
  }
  return [defined({
    id,
    non_execution_kind: entry.toolDenialKind,
    permission_decision: decision === undefined ? undefined : defined({
      decision: decision.decision,
      source: decision.source,
      reason_type: decision.reasonType,
    }),
  })];
}

/** How `claude -p` shows what its caller has decided: here a hook has carried it out. */
const DECISIONS = {
  accepted: { permission_decision: { decision: "accept", source: "user_temporary" } },
  rejected: {
    non_execution_kind: "permission-rule",
    permission_decision: { decision: "reject", source: "user_reject" },
  },
  failed: {
    non_execution_kind: "permission-rule",
    permission_decision: { decision: "reject", source: "config", reason_type: "other" },
  },
} as const;

/** The run's own refusal stands for `claude -p` having nobody to ask, and is shown like that. */
function isOwnDenial(entry: UserEntry, context: FrameContext): boolean {
  const content = resultBlocks(entry)[0]?.content;
  return typeof content === "string" && context.denialMessages?.includes(content) === true;
}

function deniedFrames(entry: UserEntry, context: FrameContext): readonly SystemFrame[] {
  const { decision, reasonType } = entry.permissionDecision ?? {};
  if (decision !== "reject") return [];
  // What a hook has forbidden is not told, unless it is the one by which the run itself refuses.
  if (reasonType === "hook" && !isOwnDenial(entry, context)) return [];
  return resultBlocks(entry).flatMap((block) => {
    const id = block.tool_use_id;
    if (typeof id === "string" && context.decisions?.has(id)) return [];
    const tool = typeof id === "string" ? context.toolUses?.get(id)?.name : undefined;
    if (tool === undefined) return [];
    const reason = isOwnDenial(entry, context) ? undefined : reasonType;
    return [
      systemFrame("permission_denied", {
        tool_name: tool,
        tool_use_id: id,
        decision_reason_type: reason,
        message: block.content,
      }, context),
    ];
  });
}

function systemFrames(entry: SystemEntry, context: FrameContext): readonly Frame[] {
  const uuid = entry.uuid ?? context.newUuid();
  switch (entry.subtype) {
    case "informational":
      return (isVersionAtLeast(context.version, "2.1.330") && !isOfScreen(entry)) ||
          blockedPrompt(entry) !== undefined
        ? [
          systemFrame("informational", {
            content: entry.content,
            level: entry.level,
            prevent_continuation: entry.preventContinuation === true ? true : undefined,
            prompt_submit_outcome: submitOutcome(entry),
            uuid,
          }, context),
        ]
        : [];
    case "compact_boundary":
      return [
        systemFrame("compact_boundary", {
          compact_metadata: compactMetadata(entry),
          logical_parent_uuid: isVersionAtLeast(context.version, "2.1.330")
            ? entry.logicalParentUuid ?? undefined
            : undefined,
          uuid,
        }, context),
      ];
    case "model_fallback":
      return [
        systemFrame("model_fallback", {
          trigger: entry.trigger,
          original_model: entry.originalModel,
          fallback_model: entry.fallbackModel,
          content: entry.content,
          uuid,
        }, context),
      ];
    case "model_refusal_no_fallback":
      return [
        systemFrame("model_refusal_no_fallback", {
          original_model: entry.originalModel,
          request_id: entry.requestId,
          api_refusal_category: entry.apiRefusalCategory,
          api_refusal_explanation: entry.apiRefusalExplanation,
          refused_user_message_uuid: entry.refusedUserMessageUuid,
          content: entry.content,
          uuid,
        }, context),
      ];
    default:
      return [];
  }
}

/** How a prompt ended that a hook has blocked; since 2.1.330. */
function submitOutcome({ promptSubmitEnding }: SystemEntry): unknown {
  if (!isJsonObject(promptSubmitEnding)) return undefined;
  const { ending, promptKept } = promptSubmitEnding;
  return isJsonObject(ending)
    ? defined({ kind: ending["kind"], prompt_kept: promptKept, reason: ending["reason"] })
    : undefined;
}

/** After a usage limit 2.1.330 waits with its input box, and says so: `claude -p` has none. */
function isOfScreen({ content }: SystemEntry): boolean {
  return typeof content === "string" && content.includes("set to continue automatically");
}

function addressOf(
  context: FrameContext,
): { readonly parent_tool_use_id: string | null; readonly session_id: string } {
  return {
    parent_tool_use_id: context.subagent?.toolUseId ?? null,
    session_id: context.sessionId,
  };
}

function commonFields(
  entry: EntryFields,
  context: FrameContext,
): Readonly<Record<string, unknown>> {
  return {
    uuid: entry.uuid ?? context.newUuid(),
    timestamp: entry.timestamp,
    agent_id: context.subagent?.agentId,
    subagent_type: context.subagent?.type,
    task_description: context.subagent?.description,
  };
}

/** The words of a subagent that the turn waits for are only in its result. */
function isShownOfSubagent(content: readonly ContentBlock[], context: FrameContext): boolean {
  return context.subagent === undefined || context.subagent.background === true ||
    context.subagentText === true ||
    content.some((block) => block.type === "tool_use");
}

function resultBlocks(entry: UserEntry): readonly ContentBlock[] {
  const { content } = entry.message;
  return typeof content === "string" ? [] : content.filter((block) => block.type === "tool_result");
}

function defined(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Escape sequences of a terminal's colours, and the advice on a key that `claude -p` does not have. */
// deno-lint-ignore no-control-regex
const COLOURS = /\x1b\[[\d;]*m/gu;
const ADVICE = /\(ctrl\+o to see full summary\)\n?/u;

/** The output of a typed /compact as `claude -p` prints it, from that of the interactive Claude Code. */
function compactionOutput(output: string): string {
  return output.replace(COLOURS, "").replace(ADVICE, "");
}
