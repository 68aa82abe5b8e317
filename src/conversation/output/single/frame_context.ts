import type { CallDecision } from "../../control/effect.ts";
import type { EntryFields } from "../../../claude/transcript/entry.ts";
import type { AskedMessages } from "../result/asked_by.ts";
import type { GivenIds } from "../../../claude/transcript/moved_lines.ts";
import type { ToolUse } from "../../../claude/transcript/turn.ts";

/** What a line alone does not say. */
export interface FrameContext {
  /** The version of Claude Code, which decides what is printed. */
  readonly version: string;
  readonly sessionId: string;
  /** Makes ids for frames that have no line of their own. */
  readonly newUuid: () => string;
  /** The calls so far by id, for `permission_denied` frames; without it there are none. */
  readonly toolUses?: ReadonlyMap<string, ToolUse>;
  /** Whether what rules deny is not told, as where a tool decides on permissions. */
  readonly denialsUntold?: true | undefined;
  /** What the caller has decided on calls, by their ids; calls of hooks and rules are not among them. */
  readonly decisions?: Pick<ReadonlyMap<string, CallDecision>, "get" | "has">;
  /** The command that was typed, if Claude Code carries it out: what it says is shown, a compaction's in another way. */
  readonly typed?: string | undefined;
  /** The ids that the caller gave prompts, by those that they have in the transcript. */
  readonly givenIds?: GivenIds;
  /** The messages that the turn answers, unless a frame has named them. */
  readonly asked?: AskedMessages | undefined;
  /** Whether what subagents say is shown in any case. */
  readonly subagentText?: boolean | undefined;
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

/** The session of a frame, and the call that it belongs to. */
export function addressOf(
  context: FrameContext,
): { readonly parent_tool_use_id: string | null; readonly session_id: string } {
  return {
    parent_tool_use_id: context.subagent?.toolUseId ?? null,
    session_id: context.sessionId,
  };
}

/** What frames of lines have in common. */
export function commonFields(
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

/** Fields without those that are undefined. */
export function defined(
  fields: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
