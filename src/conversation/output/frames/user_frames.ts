import { definedFields } from "../../../defined_fields.ts";
import { addressOf, commonFields, type FrameContext, systemFrame } from "./frame_context.ts";
import { confirmationAsked } from "../../control/hook_answers.ts";
import type { ContentBlock, UserEntry } from "../../../claude/transcript/entry.ts";
import {
  isCommandDenial,
  isDenialText,
  isUnattendedDenial,
  readRefusal,
} from "../../../claude/transcript/permission_denials.ts";
import { isJsonObject } from "../../../json_object.ts";
import type { Frame } from "../../../claude/wire/frame.ts";
import type { SystemFrame } from "../../../claude/wire/system_frames.ts";
import type { UserFrame } from "../../../claude/wire/message_frames.ts";
import { pickWireKeys } from "../../../claude/wire/json_text.ts";

/** The frames of a line of type `user`: results of tools, messages of Claude Code, typed commands, interrupts. */
export function userFrames(entry: UserEntry, context: FrameContext): readonly Frame[] {
  const { subagent, typed } = context;
  const { content } = entry.message;
  switch (entry.meaning) {
    case "prompt":
      return subagent !== undefined && subagent.background !== true
        ? [userFrame(entry, context)]
        : [];
    case "local-command": {
      if (typed === undefined || typeof content !== "string") return [];
      const text = typed === "compact" ? compactionOutput(content) : content;
      return [{ ...userFrame(entry, context, { isReplay: true }), message: ofUser(text) }];
    }
    case "interrupt":
      return [userFrame(entry, context)];
    case "remark":
      return remarkFrames(entry, context);
    case "tool-result": {
      const result = userFrame(entry, context, {
        tool_use_result: isStructured(entry, context)
          ? withoutTags(entry.toolUseResult)
          : undefined,
        tool_result_meta: resultMeta(entry, context),
      });
      return [...deniedFrames(entry, context), result];
    }
  }
}

function userFrame(
  entry: UserEntry,
  context: FrameContext,
  more: Readonly<Record<string, unknown>> = {},
): UserFrame {
  const { content } = entry.message;
  return {
    type: "user",
    message: ofUser(typeof content === "string" ? [{ type: "text", text: content }] : content),
    ...addressOf(context),
    ...pickWireKeys("user", {
      ...commonFields(entry, context),
      refused_message_id: entry.refusedMessageId,
      refusal_retry: entry.refusalRetry,
      ...more,
    }, context),
  };
}

function ofUser(content: string | readonly ContentBlock[]): UserFrame["message"] {
  return { role: "user", content };
}

function remarkFrames(entry: UserEntry, context: FrameContext): readonly UserFrame[] {
  const { content } = entry.message;
  if (context.typed === "compact" && entry["isCompactSummary"] === true) {
    if (typeof content !== "string") return [];
    const summary = userFrame(entry, context, { isReplay: false, isSynthetic: true });
    return [{ ...summary, message: ofUser(content) }];
  }
  if (typeof content === "string" && NOT_PRINTED.test(content)) return [];
  // The message belongs to the notification of a background task, or it is for a subagent.
  if (entry.queueSkipAttachments === true || isOfAgent(entry.origin)) return [];
  const isPrivate = context.subagent !== undefined &&
    (isOfTask(entry.origin) || isLoadedSkill(entry) || isFeedback(entry, context));
  return isPrivate ? [] : [userFrame(entry, context, { isSynthetic: true })];
}

/**
 * Messages without a frame: the explanation of a command, that a command's output was not for the model, that a hook
 * has stopped the prompt, and the list of agents to which a subagent may send messages.
 */
const NOT_PRINTED =
  /^(?:<local-command-caveat>|<system-reminder>\n(?:The output of \/\S+ was shown to the user|Other agents active in this session)|Operation stopped by hook\b)/u;

/**
 * Whether a line is the feedback of a Stop hook to a subagent for which the turn waits. It is printed together with the
 * text of subagents.
 */
function isFeedback(
  { message: { content } }: UserEntry,
  { subagent, subagentText }: FrameContext,
): boolean {
  return subagent?.background !== true && subagentText !== true &&
    typeof content === "string" && content.startsWith("Stop hook feedback:\n");
}

/** Whether a line is the text of a skill that an agent's definition names. No call has loaded this skill. */
function isLoadedSkill({ message: { content } }: UserEntry): boolean {
  const text = typeof content === "string" ? undefined : content[0]?.text;
  return typeof text === "string" && text.startsWith("<command-message>") &&
    text.endsWith("<skill-format>true</skill-format>");
}

/** Whether a line comes from another agent: the agent that started the subagent, or an agent that sent it a message. */
export function isOfAgent(origin: unknown): boolean {
  return isJsonObject(origin) &&
    (origin.kind === "coordinator" || typeof origin.senderTaskId === "string");
}

/** Whether a line is the notification that a background task has ended. */
export function isOfTask(origin: unknown): boolean {
  return isJsonObject(origin) && origin.kind === "task-notification";
}

/** Whether a result is printed in its structured form. Of subagents' results, only those of skills are. */
function isStructured({ toolUseResult }: UserEntry, { subagent }: FrameContext): boolean {
  return subagent === undefined ||
    (isJsonObject(toolUseResult) && toolUseResult.status === "forked");
}

/** The structured result without the tags of an error, which only the model sees. */
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
  // A version that writes no decision to the transcript prints none.
  const withDecision = (meta: Readonly<Record<string, unknown>>) =>
    definedFields({
      ...meta,
      ...(decision === undefined ? { permission_decision: undefined } : {}),
    });
  if (decided !== undefined && decided in DECISIONS) {
    return [withDecision({ id, ...DECISIONS[decided as keyof typeof DECISIONS] })];
  }
  if (isOwnDenial(entry, context)) {
    const unattended = isUnattendedDenial(resultText(entry));
    return [withDecision({
      id,
      non_execution_kind: unattended ? "permission-rule" : "user-rejected",
      permission_decision: definedFields({
        decision: "reject",
        source: "config",
        reason_type: unattended ? UNATTENDED.decision_reason_type : undefined,
      }),
    })];
  }
  return [definedFields({
    id,
    non_execution_kind: entry.toolDenialKind,
    permission_decision: decision === undefined ? undefined : definedFields({
      decision: decision.decision,
      source: decision.source,
      reason_type: decision.reasonType,
    }),
  })];
}

/** The `tool_result_meta` of the caller's decisions. In the transcript, our hook has made these decisions. */
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
  gone: { non_execution_kind: "cancelled" },
} as const;

/** Whether this program has refused a call. `claude -p` also refuses it, because it can ask nobody. */
function isOwnDenial(entry: UserEntry, context: FrameContext): boolean {
  return isUnasked(resultBlocks(entry)[0]?.tool_use_id, context) ||
    isDenialText(resultText(entry));
}

/** The text of the first result in a line. */
function resultText(entry: UserEntry): string {
  const content = resultBlocks(entry)[0]?.content;
  return typeof content === "string" ? content : "";
}

/** Whether a hook of the caller requested that a person be asked about a call. */
function isUnasked(id: unknown, { decisions }: FrameContext): boolean {
  return typeof id === "string" && decisions?.get(id) === "unasked";
}

/** The reason that `claude -p` gives for refusing a call if the run can ask nobody. */
const UNATTENDED = {
  decision_reason_type: "asyncAgent",
  decision_reason: "no approval surface in this session; permission request denied automatically",
};

/** The reason that `claude -p` gives for a call that this program has refused. */
function ownReason(words: string): Readonly<Record<string, unknown>> {
  if (isUnattendedDenial(words)) return UNATTENDED;
  return isCommandDenial(words) ? { decision_reason_type: "other", decision_reason: words } : {};
}

/** Why auto mode denies a call that it cannot check. The transcript holds the reason only in the text of the result. */
function uncheckedReason(entry: UserEntry): Readonly<Record<string, unknown>> {
  const text = resultText(entry);
  const [, reason] = UNEVALUATED.exec(text) ?? [];
  if (reason !== undefined) return { decision_reason: reason };
  return UNCHECKED.test(text)
    ? {
      decision_reason_code: "auto_mode_no_check_in_session",
      decision_reason: "Classifier unavailable",
    }
    : {};
}

const UNEVALUATED =
  /^(Auto mode could not evaluate this action and is blocking it .*? details)\. /u;

const UNCHECKED =
  /^Auto mode is unavailable: its safety check does not run for this session, so \S+ was not run\. /u;

function deniedFrames(entry: UserEntry, context: FrameContext): readonly SystemFrame[] {
  const refusal = readRefusal(entry, resultText(entry));
  if (refusal === undefined || context.hidesDenials) return [];
  const { reasonType } = refusal;
  // Denials of hooks are not printed, unless the hook is this program's own.
  if (reasonType === "hook" && !isOwnDenial(entry, context)) return [];
  return resultBlocks(entry).flatMap((block) => {
    const id = block.tool_use_id;
    const ofHook = isUnasked(id, context);
    if (typeof id === "string" && context.decisions?.has(id) && !ofHook) return [];
    const tool = typeof id === "string" ? context.toolUses?.get(id)?.name : undefined;
    if (tool === undefined) return [];
    const words = block.content === confirmationAsked(tool) ? "" : block.content;
    const reason = ofHook
      ? { decision_reason_type: "hook", decision_reason: words }
      : isOwnDenial(entry, context)
      ? ownReason(resultText(entry))
      : { decision_reason_type: reasonType, ...uncheckedReason(entry) };
    return [
      systemFrame("permission_denied", {
        tool_name: tool,
        tool_use_id: id,
        ...(context.subagent === undefined ? {} : { agent_id: context.subagent.agentId }),
        ...reason,
        message: block.content,
      }, context),
    ];
  });
}

function resultBlocks(entry: UserEntry): readonly ContentBlock[] {
  const { content } = entry.message;
  return typeof content === "string" ? [] : content.filter((block) => block.type === "tool_result");
}

/** Escape sequences for colours, and the advice on a key that `claude -p` does not have. */
// deno-lint-ignore no-control-regex
const COLOURS = /\x1b\[[\d;]*m/gu;
const ADVICE = /\(ctrl\+o to see full summary\)\n?/u;

/** The output of a typed /compact as `claude -p` prints it, from the output of the interactive Claude Code. */
function compactionOutput(output: string): string {
  return output.replace(COLOURS, "").replace(ADVICE, "");
}
