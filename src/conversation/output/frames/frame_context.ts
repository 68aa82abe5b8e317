import { definedFields } from "../../../defined_fields.ts";
import type { CallDecision } from "../../model/shared_facts.ts";
import type { EntryFields } from "../../../claude/transcript/entry.ts";
import type { GivenIds } from "../../../claude/transcript/moved_lines.ts";
import type { ToolUse } from "../../../claude/transcript/turn.ts";
import type { SystemFrame } from "../../../claude/wire/system_frames.ts";
import type { Message } from "../../control/message.ts";

/** The facts from which frames are made, in addition to a line of the transcript. */
export interface FrameContext {
  /** The version of Claude Code, which decides what is printed. */
  readonly version: string;
  readonly sessionId: string;
  /** Makes ids for frames that have no line of their own. */
  readonly newUuid: () => string;
  /** The calls so far, by id. `permission_denied` frames need them. */
  readonly toolUses?: ReadonlyMap<string, ToolUse>;
  /** Whether denials are not printed: `claude -p` prints none if a tool decides on permissions. */
  readonly hidesDenials?: true | undefined;
  /** The caller's decisions on calls, by the ids of the calls. Decisions of hooks and rules are not included. */
  readonly decisions?: Pick<ReadonlyMap<string, CallDecision>, "get" | "has">;
  /** The typed command that Claude Code itself carries out. Its output is printed. */
  readonly typed?: string | undefined;
  /** The ids that the caller gave prompts, by the ids of the prompts in the transcript. */
  readonly givenIds?: GivenIds;
  /** The messages that the turn answers; undefined once a frame has named them. */
  readonly unnamedMessages?: TurnMessages | undefined;
  /** Whether all text of subagents is printed. */
  readonly subagentText?: boolean | undefined;
  /** Set for lines of a subagent's transcript. Without it, such lines have no frames. */
  readonly subagent?: SubagentContext;
}

/** A subagent and the call that started it, as `agent-<id>.meta.json` next to its transcript says. */
export interface SubagentContext {
  readonly toolUseId: string;
  readonly agentId?: string;
  readonly type?: string;
  readonly description?: string;
  /**
   * Whether the turn continues without waiting for the subagent. Then the subagent's text is printed, and its prompt is
   * not.
   */
  readonly background?: boolean;
}

/** The fields of a frame that name its session and the call of its subagent. */
export function addressOf(
  context: FrameContext,
): { readonly parent_tool_use_id: string | null; readonly session_id: string } {
  return {
    parent_tool_use_id: context.subagent?.toolUseId ?? null,
    session_id: context.sessionId,
  };
}

/** The fields that all frames of lines have. */
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

/** Builds a `system` frame. Its id is new unless `fields` has one; fields that are undefined are left out. */
export function systemFrame(
  subtype: SystemFrame["subtype"],
  fields: Readonly<Record<string, unknown>>,
  context: { readonly sessionId: string; readonly newUuid: () => string },
): SystemFrame {
  const { uuid, ...more } = fields;
  return {
    type: "system",
    subtype,
    ...definedFields(more),
    uuid: uuid ?? context.newUuid(),
    session_id: context.sessionId,
    // The fields of Claude Code's lines are passed on unchecked.
  } as SystemFrame;
}

type NamedMessage = Pick<Message, "uuid" | "synthetic">;

interface TurnMessages {
  /** All messages that the turn answers. */
  readonly taken: readonly NamedMessage[];
  /** The messages among them that joined the turn after it had begun. */
  readonly joined?: readonly NamedMessage[];
}

/**
 * The fields of a frame that name the messages which an answer is for, if the caller gave them ids. `user_message_uuid`
 * is the last message with which the turn began. It is a message that joined the turn if the others have no id, or if
 * the user did not send the last of them.
 */
export function messageIds(
  messages: TurnMessages,
): { readonly user_message_uuid?: string; readonly user_message_uuids?: readonly string[] } {
  const uuids = messages.taken.flatMap(({ uuid }) => uuid ?? []);
  const first = firstMessage(messages);
  const joined = messages.joined?.findLast(({ uuid }) => uuid !== undefined)?.uuid;
  const uuid = first?.synthetic === true ? joined ?? first.uuid : first?.uuid ?? joined;
  return uuid === undefined ? {} : { user_message_uuid: uuid, user_message_uuids: uuids };
}

/** Whether an answer names a message with which its turn began. */
export function namesFirstMessage(messages: TurnMessages): boolean {
  const first = firstMessage(messages);
  return first !== undefined && messageIds(messages).user_message_uuid === first.uuid;
}

/** The last message with an id among those with which a turn began. */
function firstMessage({ taken, joined = [] }: TurnMessages): NamedMessage | undefined {
  return taken.findLast((message) => message.uuid !== undefined && !joined.includes(message));
}
