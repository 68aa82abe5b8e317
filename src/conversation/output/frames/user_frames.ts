import {
  addressOf,
  commonFields,
  defined,
  type FrameContext,
  systemFrame,
} from "./frame_context.ts";
import { confirmationAsked } from "../../control/hook_answers.ts";
import type { ContentBlock, UserEntry } from "../../../claude/transcript/entry.ts";
import {
  isCommandDenial,
  isDenialWords,
  isUnattendedDenial,
  refusalIn,
} from "../../../claude/transcript/permission_denials.ts";
import { isJsonObject } from "../../../json_object.ts";
import type { Frame } from "../../../claude/wire/frame.ts";
import type { SystemFrame } from "../../../claude/wire/system_frames.ts";
import type { UserFrame } from "../../../claude/wire/message_frames.ts";
import { onlyWireKeys } from "../../../claude/wire/json_text.ts";

/** The frames of a line that the model is told. */
export function userFrames(entry: UserEntry, context: FrameContext): readonly Frame[] {
  const { content } = entry.message;
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
  const frame = (more: Readonly<Record<string, unknown>> = {}): UserFrame => ({
    type: "user",
    message: { role: "user", content: blocks },
    ...addressOf(context),
    ...onlyWireKeys("user", {
      ...commonFields(entry, context),
      refused_message_id: entry.refusedMessageId,
      refusal_retry: entry.refusalRetry,
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
      if (typeof content === "string" && UNTOLD.test(content)) return [];
      // Such a remark belongs to the notification of a background task, which is no frame either; nor is what a subagent
      // is sent, is told of the tasks that it has in the background, or has of skills from its beginning.
      return entry.queueSkipAttachments === true || isOfAgent(entry.origin) ||
          (context.subagent !== undefined &&
            (isOfTask(entry.origin) || isLoadedSkill(entry) || isFeedback(entry, context)))
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

/**
 * Remarks that are told otherwise: what a command is, that its output was not for the model, and that a hook has stopped
 * the prompt; and which other agents a subagent may send messages to, which is told to nobody else.
 */
const UNTOLD =
  /^(?:<local-command-caveat>|<system-reminder>\n(?:The output of \/\S+ was shown to the user|Other agents active in this session)|Operation stopped by hook\b)/u;

/** Whether it is why a subagent goes on for which the turn waits: that is told with what subagents say. */
function isFeedback(
  { message: { content } }: UserEntry,
  { subagent, subagentText }: FrameContext,
): boolean {
  return subagent?.background !== true && subagentText !== true &&
    typeof content === "string" && content.startsWith("Stop hook feedback:\n");
}

/** Whether it is the text of a skill that an agent's definition names, which no call has loaded. */
function isLoadedSkill({ message: { content } }: UserEntry): boolean {
  const text = typeof content === "string" ? undefined : content[0]?.text;
  return typeof text === "string" && text.startsWith("<command-message>") &&
    text.endsWith("<skill-format>true</skill-format>");
}

/** Whether what a subagent is told comes from the one that has started it, or from another one. */
export function isOfAgent(origin: unknown): boolean {
  return isJsonObject(origin) &&
    (origin.kind === "coordinator" || typeof origin.senderTaskId === "string");
}

/** Whether what somebody is told is the end of a task in the background. */
export function isOfTask(origin: unknown): boolean {
  return isJsonObject(origin) && origin.kind === "task-notification";
}

/** Whether a result is printed in its structured form: of those of subagents, only results of skills are. */
function isStructured({ toolUseResult }: UserEntry, { subagent }: FrameContext): boolean {
  return subagent === undefined ||
    (isJsonObject(toolUseResult) && toolUseResult.status === "forked");
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
  // A version whose transcript has no decision prints none.
  const withDecision = (meta: Readonly<Record<string, unknown>>) =>
    defined({ ...meta, ...(decision === undefined ? { permission_decision: undefined } : {}) });
  if (decided !== undefined && decided in DECISIONS) {
    return [withDecision({ id, ...DECISIONS[decided as keyof typeof DECISIONS] })];
  }
  if (isOwnDenial(entry, context)) {
    const unattended = isUnattendedDenial(resultText(entry));
    return [withDecision({
      id,
      non_execution_kind: unattended ? "permission-rule" : "user-rejected",
      permission_decision: defined({
        decision: "reject",
        source: "config",
        reason_type: unattended ? UNATTENDED.decision_reason_type : undefined,
      }),
    })];
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
  gone: { non_execution_kind: "cancelled" },
} as const;

/** The run's own refusal stands for `claude -p` having nobody to ask, and is shown like that. */
function isOwnDenial(entry: UserEntry, context: FrameContext): boolean {
  return isUnasked(resultBlocks(entry)[0]?.tool_use_id, context) ||
    isDenialWords(resultText(entry));
}

/** The text of the first result in a line. */
function resultText(entry: UserEntry): string {
  const content = resultBlocks(entry)[0]?.content;
  return typeof content === "string" ? content : "";
}

/** Whether a hook of the caller's wanted somebody to be asked about a call. */
function isUnasked(id: unknown, { decisions }: FrameContext): boolean {
  return typeof id === "string" && decisions?.get(id) === "unasked";
}

/** Why a call is refused in a run in which nobody is ever asked, as `claude -p` tells it. */
const UNATTENDED = {
  decision_reason_type: "asyncAgent",
  decision_reason: "no approval surface in this session; permission request denied automatically",
};

/** Why the run itself has refused a call, as `claude -p` tells it. */
function ownReason(words: string): Readonly<Record<string, unknown>> {
  if (isUnattendedDenial(words)) return UNATTENDED;
  return isCommandDenial(words) ? { decision_reason_type: "other", decision_reason: words } : {};
}

/** Why auto mode denies a call that it cannot check: a transcript has it in the words of the result alone. */
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
  const refusal = refusalIn(entry, resultText(entry));
  if (refusal === undefined || context.denialsUntold) return [];
  const { reasonType } = refusal;
  // What a hook has forbidden is not told, unless it is the one by which the run itself refuses.
  if (reasonType === "hook" && !isOwnDenial(entry, context)) return [];
  return resultBlocks(entry).flatMap((block) => {
    const id = block.tool_use_id;
    const ofHook = isUnasked(id, context);
    if (typeof id === "string" && context.decisions?.has(id) && !ofHook) return [];
    const tool = typeof id === "string" ? context.toolUses?.get(id)?.name : undefined;
    if (tool === undefined) return [];
    const said = block.content === confirmationAsked(tool) ? "" : block.content;
    const reason = ofHook
      ? { decision_reason_type: "hook", decision_reason: said }
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

/** Escape sequences of a terminal's colours, and the advice on a key that `claude -p` does not have. */
// deno-lint-ignore no-control-regex
const COLOURS = /\x1b\[[\d;]*m/gu;
const ADVICE = /\(ctrl\+o to see full summary\)\n?/u;

/** The output of a typed /compact as `claude -p` prints it, from that of the interactive Claude Code. */
function compactionOutput(output: string): string {
  return output.replace(COLOURS, "").replace(ADVICE, "");
}
