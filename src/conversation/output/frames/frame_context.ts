import type { CallDecision } from "../../control/effect.ts";
import type { EntryFields } from "../../../claude/transcript/entry.ts";
import type { GivenIds } from "../../../claude/transcript/moved_lines.ts";
import type { ToolUse } from "../../../claude/transcript/turn.ts";
import type { SystemFrame } from "../../../claude/wire/system_frames.ts";
import type { Message } from "../../control/message.ts";

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

/** A `system` frame of a session, with an id of its own unless `fields` name one; what is undefined is left out. */
export function systemFrame(
  subtype: SystemFrame["subtype"],
  fields: Readonly<Record<string, unknown>>,
  context: { readonly sessionId: string; readonly newUuid: () => string },
): SystemFrame {
  const { uuid, ...more } = fields;
  return {
    type: "system",
    subtype,
    ...Object.fromEntries(Object.entries(more).filter(([, value]) => value !== undefined)),
    uuid: uuid ?? context.newUuid(),
    session_id: context.sessionId,
    // Their fields are Claude Code's own, which are passed on as they come.
  } as SystemFrame;
}

/** A message, as far as frames name it. */
type Named = Pick<Message, "uuid" | "synthetic">;

/** The messages of a turn. */
interface AskedMessages {
  /** All that it answers. */
  readonly taken: readonly Named[];
  /** Those of them that have become a part of the turn when it had begun. */
  readonly joined?: readonly Named[];
}

/**
 * Whose messages an answer is to, as far as the caller gave them ids. It names the last of those with which the turn
 * began, and one that has joined it where those have no id, or the last of them was not the user's.
 */
export function askedBy(
  asked: AskedMessages,
): { readonly user_message_uuid?: string; readonly user_message_uuids?: readonly string[] } {
  const uuids = asked.taken.flatMap(({ uuid }) => uuid ?? []);
  const first = begunBy(asked);
  const joined = asked.joined?.findLast(({ uuid }) => uuid !== undefined)?.uuid;
  const uuid = first?.synthetic === true ? joined ?? first.uuid : first?.uuid ?? joined;
  return uuid === undefined ? {} : { user_message_uuid: uuid, user_message_uuids: uuids };
}

/** Whether an answer names a message with which its turn began. */
export function isToFirst(asked: AskedMessages): boolean {
  const first = begunBy(asked);
  return first !== undefined && askedBy(asked).user_message_uuid === first.uuid;
}

/** The last message with an id of those with which a turn began. */
function begunBy({ taken, joined = [] }: AskedMessages): Named | undefined {
  return taken.findLast((message) => message.uuid !== undefined && !joined.includes(message));
}
